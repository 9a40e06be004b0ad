// What the LSTM and GRU sequences share: how the batch is cut, and products with one chunk's rows.
//
// Rows of the batch are independent through the whole recurrence. So each task takes a chunk of rows and runs every time
// step of it with no barrier; the recurrent weight is packed once for all. Chunks depend on the batch size alone.
#if defined(TABGRAD_BACKEND_CPU_KERNELS_RECURRENT_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef TABGRAD_BACKEND_CPU_KERNELS_RECURRENT_INL_H_
#undef TABGRAD_BACKEND_CPU_KERNELS_RECURRENT_INL_H_
#else
#define TABGRAD_BACKEND_CPU_KERNELS_RECURRENT_INL_H_
#endif

#include "backend/cpu/kernels.h"
#include "backend/cpu/simd/rows_inl.h"
#include "backend/cpu/simd/tile_inl.h"

HWY_BEFORE_NAMESPACE();
namespace tabgrad::cpu::HWY_NAMESPACE {

// Rows of a chunk: enough that each vector of the weight, read from the second-level cache at every step, serves 8 rows; few
// enough that a batch of 32 still feeds 4 threads.
inline constexpr std::int64_t kChunkRows = 8;

inline std::int64_t chunk_count(std::int64_t batch) { return (batch + kChunkRows - 1) / kChunkRows; }
inline std::int64_t align16(std::int64_t floats) { return (floats + 15) / 16 * 16; }

struct Chunk {
  std::int64_t begin = 0, rows = 0;
};
inline Chunk chunk_at(std::int64_t batch, std::int64_t index) {
  const std::int64_t chunks = chunk_count(batch), begin = index * batch / chunks;
  return {begin, (index + 1) * batch / chunks - begin};
}

// Packs all of B (see pack_b), panels shared out over the pool.
inline void pack_b_parallel(std::int64_t k, std::int64_t n, const float* src, std::int64_t k_stride, std::int64_t n_stride,
                            float* out, ThreadPool& pool) {
  // A few thousand floats pack faster than another thread wakes.
  const std::int64_t per_task = std::max<std::int64_t>(1, 16384 / (kPanel * std::max<std::int64_t>(1, k)));
  const std::int64_t panels = panel_count(n);
  pool.run((panels + per_task - 1) / per_task, [=](std::int64_t task, int) {
    const std::int64_t begin = task * per_task * kPanel, end = std::min(n, begin + per_task * kPanel);
    pack_b(k, end - begin, src + begin * n_stride, k_stride, n_stride, out + begin * k);
  });
}

// C (rows,n) = A (rows,k)·B + init, all row-major.
inline void chunk_product(std::int64_t rows, std::int64_t n, std::int64_t k, const float* a, std::int64_t a_m,
                          const float* packed_b, float* c, std::int64_t c_m, const float* init, std::int64_t init_m) {
  Product p;
  p.m = rows;
  p.n = n;
  p.k = k;
  p.a = a;
  p.a_m = a_m;
  p.a_k = 1;
  p.b = packed_panels(packed_b, k);
  p.c = c;
  p.c_m = c_m;
  p.init = init;
  p.init_m = init_m;
  multiply(p);
}

}  // namespace tabgrad::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
