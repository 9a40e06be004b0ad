// Loops over a row and over rows, shared by the row-wise kernels. Compiled once per instruction set.
#if defined(TABGRAD_BACKEND_CPU_SIMD_ROWS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef TABGRAD_BACKEND_CPU_SIMD_ROWS_INL_H_
#undef TABGRAD_BACKEND_CPU_SIMD_ROWS_INL_H_
#else
#define TABGRAD_BACKEND_CPU_SIMD_ROWS_INL_H_
#endif

#include <algorithm>
#include <cstdint>

#include "backend/cpu/simd/math_inl.h"
#include "base/threads.h"

HWY_BEFORE_NAMESPACE();
namespace tabgrad::cpu::HWY_NAMESPACE {

// A whole vector of a row, or the first `n` lanes of one at its end.
struct WholePart {
  HWY_INLINE V load(const float* p) const { return hn::LoadU(F(), p); }
  HWY_INLINE V load_or(const float* p, V) const { return hn::LoadU(F(), p); }
  HWY_INLINE void store(V v, float* p) const { hn::StoreU(v, F(), p); }
  HWY_INLINE V keep(V v) const { return v; }
};
struct LastPart {
  std::size_t n;
  HWY_INLINE V load(const float* p) const { return hn::LoadN(F(), p, n); }                     // zeros beyond n
  HWY_INLINE V load_or(const float* p, V rest) const { return hn::LoadNOr(rest, F(), p, n); }  // `rest` beyond n
  HWY_INLINE void store(V v, float* p) const { hn::StoreN(v, F(), p, n); }
  HWY_INLINE V keep(V v) const { return hn::IfThenElseZero(hn::FirstN(F(), n), v); }  // zeros beyond n
};

// body(i, part) for i = 0, kLanes, … below n.
template <typename Body>
HWY_INLINE void for_each(std::int64_t n, const Body& body) {
  std::int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) body(i, WholePart());
  if (i < n) body(i, LastPart{static_cast<std::size_t>(n - i)});
}

// Rows a task takes: about 16 K elements, a few microseconds of work at the speed of memory.
inline std::int64_t rows_per_task(std::int64_t cols) {
  return std::max<std::int64_t>(1, 16384 / std::max<std::int64_t>(1, cols));
}

// body(row, worker) for every row, in tasks.
template <typename Body>
inline void for_rows(std::int64_t rows, std::int64_t cols, ThreadPool& pool, const Body& body) {
  const std::int64_t step = rows_per_task(cols);
  pool.run((rows + step - 1) / step, [&](std::int64_t task, int worker) {
    const std::int64_t end = std::min(rows, (task + 1) * step);
    for (std::int64_t r = task * step; r < end; ++r) body(r, worker);
  });
}

}  // namespace tabgrad::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
