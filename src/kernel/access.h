// Access: how the index space of a kernel reaches the elements of a tensor through any chain of views.
//
// Each index of the tensor is an affine function of the kernel's own indices; padding adds conditions (`masks`) outside of
// which the value is 0. View operations compose by substitution. The one that can fail is a reshape that would need a
// division; the planner then stores the tensor between.
#pragma once

#include <optional>
#include <vector>

#include "tensor/shape.h"

namespace tabgrad {

// offset + Σ coef[i]·index[i]
struct Affine {
  Dims coef;
  std::int64_t offset = 0;
  bool operator==(const Affine&) const = default;
};

struct Mask {  // low ≤ affine < high
  Affine affine;
  std::int64_t low = 0, high = 0;
  bool operator==(const Mask&) const = default;
};

struct Access {
  Dims space;                 // extents of the kernel's indices
  std::vector<Affine> index;  // one for each dimension of the tensor
  std::vector<Mask> masks;

  static Access identity(const Dims& dims);

  // The access to the input of a view operation, given the access to its output.
  Access permute(const Dims& axes) const;
  Access expand(const Dims& input_dims) const;
  Access slice(const Dims& starts, const Dims& steps) const;
  Access pad(const Dims& starts, const Dims& input_dims) const;
  std::optional<Access> reshape(const Dims& output_dims, const Dims& input_dims) const;
};

// low ≤ index[dim] < high
struct DimRange {
  int dim = 0;
  std::int64_t low = 0, high = 0;
  bool operator==(const DimRange&) const = default;
};

// An access to a dense row-major buffer: element offset = offset + Σ strides[i]·index[i], and 0 outside of the ranges.
struct FlatAccess {
  Dims strides;
  std::int64_t offset = 0;
  std::vector<DimRange> ranges;
  bool operator==(const FlatAccess&) const = default;
};
// Nothing when a mask depends on more than one index: the planner then stores the tensor between.
std::optional<FlatAccess> flatten(const Access& access, const Dims& tensor_dims);
// The element's number in row-major order of the tensor, as an affine function of the kernel's indices.
Affine linear_index(const Access& access, const Dims& tensor_dims);

// True when element i of the space, counted row-major, is element offset + i of the buffer.
bool is_dense(const FlatAccess& access, const Dims& space);

}  // namespace tabgrad
