// LayerNorm and RmsNorm over the last dimension, forward and backward.
//
// dgamma and dbeta are sums over all rows: rows are cut into a number of chunks that depends on the shape alone, each chunk
// sums its rows in order into its part of the scratch, and the parts are then added in order.
#include "backend/cpu/kernels.h"
#include "backend/cpu/simd/simd_targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backend/cpu/kernels/norm.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "backend/cpu/simd/rows_inl.h"

#include <cmath>

HWY_BEFORE_NAMESPACE();
namespace tabgrad::cpu::HWY_NAMESPACE {
namespace {

using std::int64_t;

// At least this many rows each, so that adding up the parts costs little beside making them; at most 64 parts.
constexpr int64_t kRowsPerPart = 16, kMaxParts = 64;

// The variance is taken about the mean in a second pass: no cancellation for rows far from zero.
void forward_row(const Norm& s, int64_t r, float* y, float* mean, float* rstd) {
  const int64_t n = s.cols;
  const float* x = s.x + r * n;
  const float inverse_n = 1.0f / static_cast<float>(n);
  V sum = hn::Zero(F());
  float average = 0.0f;
  if (!s.rms) {
    for_each(n, [&](int64_t i, auto part) HWY_ATTR { sum = hn::Add(sum, part.load(x + i)); });
    average = hn::ReduceSum(F(), sum) * inverse_n;
    mean[r] = average;
    sum = hn::Zero(F());
  }
  const V shift = set(average);
  for_each(n, [&](int64_t i, auto part) HWY_ATTR {
    const V centred = part.keep(hn::Sub(part.load(x + i), shift));
    sum = mul_add(centred, centred, sum);
  });
  const float inverse = 1.0f / std::sqrt(hn::ReduceSum(F(), sum) * inverse_n + s.eps);
  rstd[r] = inverse;
  const V scale = set(inverse);
  if (s.beta != nullptr) {
    for_each(n, [&](int64_t i, auto part) HWY_ATTR {
      const V normal = hn::Mul(hn::Sub(part.load(x + i), shift), scale);
      part.store(mul_add(normal, part.load(s.gamma + i), part.load(s.beta + i)), y + r * n + i);
    });
  } else {
    for_each(n, [&](int64_t i, auto part) HWY_ATTR {
      const V normal = hn::Mul(hn::Sub(part.load(x + i), shift), scale);
      part.store(hn::Mul(normal, part.load(s.gamma + i)), y + r * n + i);
    });
  }
}

// With x̂ = (x − mean)·rstd and w = dy ⊙ gamma: dx = rstd·(w − mean(w) − x̂·mean(w·x̂)); RmsNorm has no mean(w).
// Adds this row to the parts of dgamma and dbeta.
void backward_row(const Norm& s, int64_t r, const float* mean, const float* rstd, const float* dy, float* dx, float* dgamma,
                  float* dbeta) {
  const int64_t n = s.cols;
  const float* x = s.x + r * n;
  dy += r * n;
  dx += r * n;
  const V shift = set(s.rms ? 0.0f : mean[r]), scale = set(rstd[r]);
  V sum_w = hn::Zero(F()), sum_wx = hn::Zero(F());
  for_each(n, [&](int64_t i, auto part) HWY_ATTR {
    const V d = part.load(dy + i);
    const V normal = hn::Mul(hn::Sub(part.load(x + i), shift), scale);
    const V w = hn::Mul(d, part.load(s.gamma + i));
    sum_w = hn::Add(sum_w, w);
    sum_wx = mul_add(w, normal, sum_wx);
    part.store(mul_add(d, normal, part.load(dgamma + i)), dgamma + i);
    if (!s.rms) part.store(hn::Add(d, part.load(dbeta + i)), dbeta + i);
  });
  const float inverse_n = 1.0f / static_cast<float>(n);
  const V mean_w = set(s.rms ? 0.0f : hn::ReduceSum(F(), sum_w) * inverse_n);
  const V mean_wx = set(hn::ReduceSum(F(), sum_wx) * inverse_n);
  for_each(n, [&](int64_t i, auto part) HWY_ATTR {
    const V normal = hn::Mul(hn::Sub(part.load(x + i), shift), scale);
    const V w = hn::Mul(part.load(dy + i), part.load(s.gamma + i));
    part.store(hn::Mul(scale, hn::Sub(hn::Sub(w, mean_w), hn::Mul(normal, mean_wx))), dx + i);
  });
}

// out = Σ over parts, each `stride` floats after the one before.
void add_parts(const float* parts, int64_t count, int64_t stride, int64_t n, float* out) {
  for_each(n, [&](int64_t i, auto part) HWY_ATTR {
    V sum = part.load(parts + i);
    for (int64_t p = 1; p < count; ++p) sum = hn::Add(sum, part.load(parts + p * stride + i));
    part.store(sum, out + i);
  });
}

}  // namespace

int64_t norm_parts(int64_t rows) { return std::clamp<int64_t>(rows / kRowsPerPart, 1, kMaxParts); }

void norm_forward(const Norm& s, float* y, float* mean, float* rstd, ThreadPool& pool) {
  for_rows(s.rows, s.cols, pool, [&](int64_t r, int) { forward_row(s, r, y, mean, rstd); });
}

void norm_backward(const Norm& s, const float* mean, const float* rstd, const float* dy, float* dx, float* dgamma, float* dbeta,
                   ThreadPool& pool, float* scratch) {
  const int64_t parts = norm_parts(s.rows), stride = 2 * s.cols;  // a part: dgamma, then dbeta
  pool.run(parts, [&](int64_t task, int) {
    float* part = scratch + task * stride;
    std::fill(part, part + stride, 0.0f);
    for (int64_t r = task * s.rows / parts; r < (task + 1) * s.rows / parts; ++r) {
      backward_row(s, r, mean, rstd, dy, dx, part, part + s.cols);
    }
  });
  add_parts(scratch, parts, stride, s.cols, dgamma);
  if (!s.rms) add_parts(scratch + s.cols, parts, stride, s.cols, dbeta);
}

}  // namespace tabgrad::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tabgrad::cpu {

HWY_EXPORT(norm_parts);
HWY_EXPORT(norm_forward);
HWY_EXPORT(norm_backward);

std::int64_t norm_scratch_floats(const Norm& s, int) { return HWY_DYNAMIC_DISPATCH(norm_parts)(s.rows) * 2 * s.cols; }

void norm_forward(const Norm& s, float* y, float* mean, float* rstd, ThreadPool& pool) {
  HWY_DYNAMIC_DISPATCH(norm_forward)(s, y, mean, rstd, pool);
}

void norm_backward(const Norm& s, const float* mean, const float* rstd, const float* dy, float* dx, float* dgamma, float* dbeta,
                   ThreadPool& pool, Scratch scratch) {
  TG_CHECK(scratch.floats >= norm_scratch_floats(s, pool.threads()));
  HWY_DYNAMIC_DISPATCH(norm_backward)(s, mean, rstd, dy, dx, dgamma, dbeta, pool, scratch.data);
}

}  // namespace tabgrad::cpu
#endif
