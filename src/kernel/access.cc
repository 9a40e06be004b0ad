#include "kernel/access.h"

#include <algorithm>

namespace tabgrad {
namespace {

// Smallest and largest value over the space.
std::pair<std::int64_t, std::int64_t> range(const Affine& a, const Dims& space) {
  std::int64_t low = a.offset, high = a.offset;
  for (std::size_t i = 0; i < space.size(); ++i) (a.coef[i] < 0 ? low : high) += a.coef[i] * (space[i] - 1);
  return {low, high};
}

Affine scaled(const Affine& a, std::int64_t factor) {
  Affine r = a;
  for (std::int64_t& c : r.coef) c *= factor;
  r.offset *= factor;
  return r;
}

void add(Affine& a, const Affine& b) {
  for (std::size_t i = 0; i < a.coef.size(); ++i) a.coef[i] += b.coef[i];
  a.offset += b.offset;
}

// a = quotient·size + remainder with 0 ≤ remainder < size everywhere, or false.
bool split(const Affine& a, std::int64_t size, const Dims& space, Affine& quotient, Affine& remainder) {
  quotient = remainder = {Dims(space.size(), 0), 0};
  for (std::size_t i = 0; i < space.size(); ++i) {
    if (space[i] == 1) continue;
    if (a.coef[i] % size == 0) {
      quotient.coef[i] = a.coef[i] / size;
    } else {
      remainder.coef[i] = a.coef[i];
    }
  }
  remainder.offset = ((a.offset % size) + size) % size;
  quotient.offset = (a.offset - remainder.offset) / size;
  const auto [low, high] = range(remainder, space);
  return low >= 0 && high < size;
}

}  // namespace

Access Access::identity(const Dims& dims) {
  Access access;
  access.space = dims;
  for (std::size_t i = 0; i < dims.size(); ++i) {
    Affine a{Dims(dims.size(), 0), 0};
    a.coef[i] = 1;
    access.index.push_back(a);
  }
  return access;
}

Access Access::permute(const Dims& axes) const {
  Access in{space, std::vector<Affine>(index.size()), masks};
  for (std::size_t i = 0; i < axes.size(); ++i) in.index[static_cast<std::size_t>(axes[i])] = index[i];
  return in;
}

Access Access::expand(const Dims& input_dims) const {
  Access in = *this;
  for (std::size_t i = 0; i < input_dims.size(); ++i)
    if (input_dims[i] == 1) in.index[i] = {Dims(space.size(), 0), 0};
  return in;
}

Access Access::slice(const Dims& starts, const Dims& steps) const {
  Access in = *this;
  for (std::size_t i = 0; i < starts.size(); ++i) {
    in.index[i] = scaled(index[i], steps[i]);
    in.index[i].offset += starts[i];
  }
  return in;
}

Access Access::pad(const Dims& starts, const Dims& input_dims) const {
  Access in = *this;
  for (std::size_t i = 0; i < starts.size(); ++i) {
    in.index[i].offset -= starts[i];
    const auto [low, high] = range(in.index[i], space);
    if (low < 0 || high >= input_dims[i]) in.masks.push_back({in.index[i], 0, input_dims[i]});
  }
  return in;
}

std::optional<Access> Access::reshape(const Dims& output_dims, const Dims& input_dims) const {
  Access in{space, {}, masks};
  const Affine zero{Dims(space.size(), 0), 0};
  std::size_t o = 0, i = 0;
  while (o < output_dims.size() || i < input_dims.size()) {
    // The smallest run of output and input dimensions of equal product.
    std::size_t o_end = o, i_end = i;
    std::int64_t o_size = 1, i_size = 1;
    if (o_end < output_dims.size()) o_size = output_dims[o_end++];
    if (i_end < input_dims.size()) i_size = input_dims[i_end++];
    while (o_size != i_size) {
      if (o_size < i_size) {
        TG_CHECK(o_end < output_dims.size());
        o_size *= output_dims[o_end++];
      } else {
        TG_CHECK(i_end < input_dims.size());
        i_size *= input_dims[i_end++];
      }
    }
    Affine linear = zero;
    std::int64_t stride = o_size;
    for (; o < o_end; ++o) {
      stride /= output_dims[o];
      add(linear, scaled(index[o], stride));
    }
    std::vector<Affine> parts(i_end - i);
    for (std::size_t k = i_end; k-- > i;) {
      if (k == i) {
        parts[0] = linear;
        break;
      }
      Affine quotient, remainder;
      if (!split(linear, input_dims[k], space, quotient, remainder)) return std::nullopt;
      parts[k - i] = remainder;
      linear = quotient;
    }
    in.index.insert(in.index.end(), parts.begin(), parts.end());
    i = i_end;
  }
  return in;
}

Affine linear_index(const Access& access, const Dims& tensor_dims) {
  TG_CHECK(access.index.size() == tensor_dims.size());
  const Dims strides = contiguous_strides(tensor_dims);
  Affine linear{Dims(access.space.size(), 0), 0};
  for (std::size_t i = 0; i < strides.size(); ++i) add(linear, scaled(access.index[i], strides[i]));
  for (std::size_t i = 0; i < access.space.size(); ++i)
    if (access.space[i] == 1) linear.coef[i] = 0;
  return linear;
}

std::optional<FlatAccess> flatten(const Access& access, const Dims& tensor_dims) {
  const Affine linear = linear_index(access, tensor_dims);
  FlatAccess flat{linear.coef, linear.offset, {}};
  for (const Mask& mask : access.masks) {
    int dim = -1;
    for (std::size_t i = 0; i < access.space.size(); ++i) {
      if (mask.affine.coef[i] == 0 || access.space[i] == 1) continue;
      if (dim >= 0 || mask.affine.coef[i] < 0) return std::nullopt;
      dim = static_cast<int>(i);
    }
    if (dim < 0) {  // constant: inside everywhere, or nowhere
      if (mask.affine.offset >= mask.low && mask.affine.offset < mask.high) continue;
      if (access.space.empty()) return std::nullopt;
      flat.ranges.push_back({0, 0, 0});
      continue;
    }
    const std::int64_t coef = mask.affine.coef[static_cast<std::size_t>(dim)];
    auto ceil_div = [coef](std::int64_t a) { return a <= 0 ? -(-a / coef) : (a + coef - 1) / coef; };
    const std::int64_t extent = access.space[static_cast<std::size_t>(dim)];
    const std::int64_t low = std::clamp<std::int64_t>(ceil_div(mask.low - mask.affine.offset), 0, extent);
    const std::int64_t high = std::clamp<std::int64_t>(ceil_div(mask.high - mask.affine.offset), low, extent);
    flat.ranges.push_back({dim, low, high});
  }
  return flat;
}

bool is_dense(const FlatAccess& access, const Dims& space) {
  if (!access.ranges.empty()) return false;
  std::int64_t stride = 1;
  for (std::size_t i = space.size(); i-- > 0;) {
    if (space[i] != 1 && access.strides[i] != stride) return false;
    stride *= space[i];
  }
  return true;
}

}  // namespace tabgrad
