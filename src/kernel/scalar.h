// ScalarOp: the operations on single numbers from which every elementwise kernel is made.
#pragma once

#include "base/error.h"

namespace tabgrad {

enum class ScalarOp : unsigned char {
#define TG_SCALAR(Name, arity, low, high) k##Name,
#include "kernel/scalar.def"
#undef TG_SCALAR
};

struct ScalarInfo {
  const char* name;
  int arity;
  double low, high;
};

inline constexpr ScalarInfo kScalarInfos[] = {
#define TG_SCALAR(Name, arity, low, high) {#Name, arity, low, high},
#include "kernel/scalar.def"
#undef TG_SCALAR
};

inline constexpr int kScalarOpCount = static_cast<int>(sizeof(kScalarInfos) / sizeof(kScalarInfos[0]));

inline const ScalarInfo& scalar_info(ScalarOp op) { return kScalarInfos[static_cast<int>(op)]; }

}  // namespace tabgrad
