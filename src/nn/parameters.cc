#include "nn/parameters.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "base/fnv.h"
#include "tensor/philox.h"

namespace tabgrad {
namespace {

constexpr std::size_t kLanes = 4;  // partial sums of a dot product: fixed, so that the bits do not depend on the SIMD width
constexpr std::size_t kRows = 4;   // rows that are projected out together: each value loaded serves all of them

// out[r] = x · rows[r], r < count ≤ kRows.
void dots(const float* x, const float* const* rows, std::size_t count, std::size_t n, float* out) {
  float lanes[kRows][kLanes] = {};
  std::size_t i = 0;
  for (; i + kLanes <= n; i += kLanes)
    for (std::size_t r = 0; r < kRows; ++r)
      for (std::size_t l = 0; l < kLanes; ++l) lanes[r][l] += x[i + l] * rows[r][i + l];
  for (std::size_t l = 0; i < n; ++i, ++l)
    for (std::size_t r = 0; r < kRows; ++r) lanes[r][l] += x[i] * rows[r][i];
  for (std::size_t r = 0; r < count; ++r) {
    const float* a = lanes[r];
    out[r] = (a[0] + a[2]) + (a[1] + a[3]);
  }
}

float norm_of(const float* x, std::size_t n) {
  const float* rows[kRows] = {x, x, x, x};
  float square = 0;
  dots(x, rows, 1, n, &square);
  return std::sqrt(square);
}

// Gram-Schmidt on rows of normals, rows ≤ columns. Its R has a positive diagonal, so the result is uniform over the orthonormal
// frames (Mezzadri, "How to generate random matrices from the classical compact groups", 2007). A row that lost more than half
// of its length is projected again, which removes what rounding left of the other rows ("twice is enough", Kahan & Parlett).
// 256 units of an LSTM are four blocks of 256²: about 1.5·4·256³ multiply-adds, 12 ms on one core with SSE2.
void orthonormalise_rows(std::vector<float>& x, std::size_t rows, std::size_t columns) {
  for (std::size_t i = 0; i < rows; ++i) {
    float* row = x.data() + i * columns;
    float before = norm_of(row, columns), after = before;
    for (int pass = 0; pass < 2; ++pass) {
      for (std::size_t j = 0; j < i; j += kRows) {
        const std::size_t count = std::min(kRows, i - j);
        const float* others[kRows];
        for (std::size_t r = 0; r < kRows; ++r) others[r] = x.data() + (j + std::min(r, count - 1)) * columns;
        float c[kRows] = {};
        dots(row, others, count, columns, c);
        for (std::size_t k = 0; k < columns; ++k)
          row[k] -= (c[0] * others[0][k] + c[1] * others[1][k]) + (c[2] * others[2][k] + c[3] * others[3][k]);
      }
      after = norm_of(row, columns);
      if (after >= 0.5f * before) break;
      before = after;
    }
    for (std::size_t k = 0; k < columns; ++k) row[k] /= after;
  }
}

void fill_normal(std::vector<float>& out, std::uint64_t seed, std::uint32_t stream) {
  for (std::size_t i = 0; i < out.size(); i += 4) {
    const PhiloxWords words = philox_block(seed, stream, i / 4);
    for (std::size_t l = 0; l < 4 && i + l < out.size(); ++l) out[i + l] = normal_from_u32(words[l]);
  }
}

void fill_uniform(std::vector<float>& out, float bound, std::uint64_t seed, std::uint32_t stream) {
  for (std::size_t i = 0; i < out.size(); i += 4) {
    const PhiloxWords words = philox_block(seed, stream, i / 4);
    // 2u − 1 is exact: u is a multiple of 2^-24.
    for (std::size_t l = 0; l < 4 && i + l < out.size(); ++l) out[i + l] = (2.0f * uniform01_from_u32(words[l]) - 1.0f) * bound;
  }
}

void fill_orthogonal(std::vector<float>& out, const ParameterSpec& spec, std::uint64_t seed, std::uint32_t stream) {
  const auto blocks = static_cast<std::size_t>(spec.init.blocks);
  TG_CHECK(spec.dims.size() == 2 && blocks >= 1 && spec.dims[1] % spec.init.blocks == 0);
  const auto rows = static_cast<std::size_t>(spec.dims[0]), stride = static_cast<std::size_t>(spec.dims[1]);
  const std::size_t columns = stride / blocks;
  const bool wide = rows <= columns;  // otherwise the block's transpose is made
  fill_normal(out, seed, stream);
  std::vector<float> frame(rows * columns);
  for (std::size_t block = 0; block < blocks; ++block) {
    float* first = out.data() + block * columns;
    for (std::size_t i = 0; i < rows; ++i)
      for (std::size_t j = 0; j < columns; ++j) frame[wide ? i * columns + j : j * rows + i] = first[i * stride + j];
    orthonormalise_rows(frame, wide ? rows : columns, wide ? columns : rows);
    for (std::size_t i = 0; i < rows; ++i)
      for (std::size_t j = 0; j < columns; ++j) first[i * stride + j] = frame[wide ? i * columns + j : j * rows + i];
  }
}

double glorot_bound(const Dims& dims) {
  TG_CHECK(dims.size() >= 2);
  const std::int64_t in = dims[dims.size() - 2], out = dims[dims.size() - 1];
  const std::int64_t taps = num_elements(dims) / (in * out);
  return std::sqrt(6.0 / static_cast<double>(taps * (in + out)));
}

}  // namespace

std::int64_t parameter_count(const std::vector<ParameterSpec>& parameters) {
  std::int64_t total = 0;
  for (const ParameterSpec& p : parameters) total += num_elements(p.dims);
  return total;
}

HostTensor initial_value(const ParameterSpec& spec, std::size_t index, std::uint64_t seed) {
  HostTensor t = HostTensor::zeros(spec.dims);
  const auto stream = static_cast<std::uint32_t>(index);
  const auto scale = static_cast<float>(spec.init.scale);
  switch (spec.init.kind) {
    case Init::Kind::kConstant:
      for (float& v : t.f32) v = scale;
      break;
    case Init::Kind::kSegment:
      TG_CHECK(0 <= spec.init.begin && spec.init.begin <= spec.init.end && spec.init.end <= t.size());
      for (std::int64_t i = spec.init.begin; i < spec.init.end; ++i) t.f32[static_cast<std::size_t>(i)] = scale;
      break;
    case Init::Kind::kNormal:
      fill_normal(t.f32, seed, stream);
      for (float& v : t.f32) v *= scale;
      break;
    case Init::Kind::kUniform: fill_uniform(t.f32, scale, seed, stream); break;
    case Init::Kind::kGlorotUniform:
      fill_uniform(t.f32, static_cast<float>(spec.init.scale * glorot_bound(spec.dims)), seed, stream);
      break;
    case Init::Kind::kOrthogonal:
      fill_orthogonal(t.f32, spec, seed, stream);
      for (float& v : t.f32) v *= scale;
      break;
  }
  return t;
}

NamedTensors initial_values(const std::vector<ParameterSpec>& parameters, std::uint64_t seed) {
  NamedTensors values;
  for (std::size_t i = 0; i < parameters.size(); ++i)
    values.emplace_back(parameters[i].name, initial_value(parameters[i], i, seed));
  return values;
}

std::uint64_t hash_values(const NamedTensors& values) {
  Fnv1a hash;
  for (const auto& [name, tensor] : values) {
    TG_CHECK(tensor.dtype == DType::kF32);
    for (const float value : tensor.f32) hash.number(std::bit_cast<std::uint32_t>(value), 32);
  }
  return hash.value();
}

std::string hash_text(std::uint64_t hash) {
  std::string text = "0x";
  for (int shift = 60; shift >= 0; shift -= 4) text += "0123456789abcdef"[(hash >> shift) & 0xFu];
  return text;
}

}  // namespace tabgrad
