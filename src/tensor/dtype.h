// Element types. Training is f32; i32 holds token and class ids only.
#pragma once

#include <cstddef>

#include "base/error.h"

namespace tabgrad {

enum class DType : unsigned char { kF32, kI32 };

inline std::size_t dtype_size(DType) { return 4; }

inline const char* dtype_name(DType type) {
  switch (type) {
    case DType::kF32: return "f32";
    case DType::kI32: return "i32";
  }
  TG_CHECK(false);
}

}  // namespace tabgrad
