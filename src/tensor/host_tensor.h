// A dense row-major tensor in host memory, owned: how weights, batches and results cross every boundary.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "tensor/dtype.h"
#include "tensor/shape.h"

namespace tabgrad {

struct HostTensor {
  Dims dims;
  DType dtype = DType::kF32;
  std::vector<float> f32;         // used when dtype is kF32
  std::vector<std::int32_t> i32;  // used when dtype is kI32

  static HostTensor zeros(Dims dims) {
    HostTensor t;
    t.f32.assign(static_cast<std::size_t>(num_elements(dims)), 0.0f);
    t.dims = std::move(dims);
    return t;
  }
  static HostTensor of(Dims dims, std::vector<float> values) {
    TG_CHECK(num_elements(dims) == static_cast<std::int64_t>(values.size()));
    HostTensor t;
    t.dims = std::move(dims);
    t.f32 = std::move(values);
    return t;
  }
  static HostTensor of_ids(Dims dims, std::vector<std::int32_t> values) {
    TG_CHECK(num_elements(dims) == static_cast<std::int64_t>(values.size()));
    HostTensor t;
    t.dims = std::move(dims);
    t.dtype = DType::kI32;
    t.i32 = std::move(values);
    return t;
  }
  std::int64_t size() const { return num_elements(dims); }
};

using NamedTensors = std::vector<std::pair<std::string, HostTensor>>;

}  // namespace tabgrad
