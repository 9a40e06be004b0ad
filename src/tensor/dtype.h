// Element types. Training is f32; i32 holds token and class ids only; f16 is how a GPU may keep activations between kernels, which
// compute in f32.
#pragma once

#include <cstdint>

#include "base/error.h"

namespace tabgrad {

enum class DType : unsigned char { kF32, kI32, kF16 };

// Memory is counted in words of 4 bytes.
inline std::int64_t storage_words(DType type, std::int64_t elements) {
  return type == DType::kF16 ? (elements + 1) / 2 : elements;
}

inline const char* dtype_name(DType type) {
  switch (type) {
    case DType::kF32: return "f32";
    case DType::kI32: return "i32";
    case DType::kF16: return "f16";
  }
  TG_CHECK(false);
}

}  // namespace tabgrad
