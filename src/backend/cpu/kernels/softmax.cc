// Softmax over rows and softmax cross-entropy, forward and backward. Rows are independent; a row is one thread's work.
//
// The row's maximum is taken off before exp, so logits of any size are safe. A row that contains NaN becomes NaN.
#include "backend/cpu/kernels.h"
#include "backend/cpu/simd/simd_targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backend/cpu/kernels/softmax.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "backend/cpu/simd/rows_inl.h"

#include <cmath>

HWY_BEFORE_NAMESPACE();
namespace tabgrad::cpu::HWY_NAMESPACE {
namespace {

using std::int64_t;

float row_max(const float* x, int64_t n) {
  V best[1] = {set(-std::numeric_limits<float>::infinity())};
  const V lowest = best[0];
  for_each(n, [&](int64_t i, auto part) HWY_ATTR { best[0] = hn::Max(best[0], part.load_or(x + i, lowest)); });
  return hn::ReduceMax(F(), best[0]);
}

// y = exp(x − max), returns its sum. y may be null.
template <bool kStore>
float row_exp(const float* x, int64_t n, float max, float* y) {
  const V shift = set(max);
  V sum = hn::Zero(F());
  for_each(n, [&](int64_t i, auto part) HWY_ATTR {
    const V e = part.keep(exp_nonpositive(hn::Sub(part.load(x + i), shift)));
    if constexpr (kStore) part.store(e, y + i);
    sum = hn::Add(sum, e);
  });
  return hn::ReduceSum(F(), sum);
}

void softmax_row(const float* x, float* y, int64_t n) {
  const V scale = set(1.0f / row_exp<true>(x, n, row_max(x, n), y));
  for_each(n, [&](int64_t i, auto part) HWY_ATTR { part.store(hn::Mul(part.load(y + i), scale), y + i); });
}

// dx = y ⊙ (dy − Σ y·dy)
void softmax_row_backward(const float* y, const float* dy, float* dx, int64_t n) {
  V sum = hn::Zero(F());
  for_each(n, [&](int64_t i, auto part) HWY_ATTR { sum = mul_add(part.load(y + i), part.load(dy + i), sum); });
  const V dot = set(hn::ReduceSum(F(), sum));
  for_each(n, [&](int64_t i, auto part)
                  HWY_ATTR { part.store(hn::Mul(part.load(y + i), hn::Sub(part.load(dy + i), dot)), dx + i); });
}

void cross_entropy_row(const float* x, int64_t n, std::int32_t target, float* nll, float* lse) {
  const float max = row_max(x, n);
  const float log_sum = std::log(row_exp<false>(x, n, max, nullptr));
  *lse = max + log_sum;
  // (max − x) + ln Σ rather than lse − x: exact where both are large.
  *nll = target >= 0 && target < n ? (max - x[target]) + log_sum : 0.0f;
}

void cross_entropy_row_backward(const float* x, int64_t n, std::int32_t target, float lse, float dnll, float* dx) {
  const bool valid = target >= 0 && target < n;
  const V shift = set(lse), scale = set(valid ? dnll : 0.0f);
  if (!valid) {
    for_each(n, [&](int64_t i, auto part) HWY_ATTR { part.store(hn::Zero(F()), dx + i); });
    return;
  }
  for_each(n, [&](int64_t i, auto part)
                  HWY_ATTR { part.store(hn::Mul(exp_nonpositive(hn::Sub(part.load(x + i), shift)), scale), dx + i); });
  dx[target] -= dnll;
}

}  // namespace

void softmax_forward(int64_t rows, int64_t cols, const float* x, float* y, ThreadPool& pool) {
  for_rows(rows, cols, pool, [=](int64_t r, int) { softmax_row(x + r * cols, y + r * cols, cols); });
}

void softmax_backward(int64_t rows, int64_t cols, const float* y, const float* dy, float* dx, ThreadPool& pool) {
  for_rows(rows, cols, pool, [=](int64_t r, int) { softmax_row_backward(y + r * cols, dy + r * cols, dx + r * cols, cols); });
}

void cross_entropy_forward(int64_t rows, int64_t cols, const float* logits, const std::int32_t* targets, float* nll, float* lse,
                           ThreadPool& pool) {
  for_rows(rows, cols, pool, [=](int64_t r, int) { cross_entropy_row(logits + r * cols, cols, targets[r], nll + r, lse + r); });
}

void cross_entropy_backward(int64_t rows, int64_t cols, const float* logits, const std::int32_t* targets, const float* lse,
                            const float* dnll, float* dlogits, ThreadPool& pool) {
  for_rows(rows, cols, pool, [=](int64_t r, int) {
    cross_entropy_row_backward(logits + r * cols, cols, targets[r], lse[r], dnll[r], dlogits + r * cols);
  });
}

}  // namespace tabgrad::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tabgrad::cpu {

HWY_EXPORT(softmax_forward);
HWY_EXPORT(softmax_backward);
HWY_EXPORT(cross_entropy_forward);
HWY_EXPORT(cross_entropy_backward);

void softmax_forward(std::int64_t rows, std::int64_t cols, const float* x, float* y, ThreadPool& pool) {
  HWY_DYNAMIC_DISPATCH(softmax_forward)(rows, cols, x, y, pool);
}
void softmax_backward(std::int64_t rows, std::int64_t cols, const float* y, const float* dy, float* dx, ThreadPool& pool) {
  HWY_DYNAMIC_DISPATCH(softmax_backward)(rows, cols, y, dy, dx, pool);
}
void cross_entropy_forward(std::int64_t rows, std::int64_t cols, const float* logits, const std::int32_t* targets, float* nll,
                           float* lse, ThreadPool& pool) {
  HWY_DYNAMIC_DISPATCH(cross_entropy_forward)(rows, cols, logits, targets, nll, lse, pool);
}
void cross_entropy_backward(std::int64_t rows, std::int64_t cols, const float* logits, const std::int32_t* targets,
                            const float* lse, const float* dnll, float* dlogits, ThreadPool& pool) {
  HWY_DYNAMIC_DISPATCH(cross_entropy_backward)(rows, cols, logits, targets, lse, dnll, dlogits, pool);
}

}  // namespace tabgrad::cpu
#endif
