// The register tile that every matrix product of the CPU target is made of, and the packed layouts that it reads.
// Declarations, compiled once per instruction set; tile.cc has the code.
//
// A tile is kRows × kPanel of C, kept in registers over all of K. Two vectors of columns, as many rows as registers allow:
//   AVX-512: 32 registers: 14·2 sums + 2 of B + 1 of A. 28 multiply-adds a k = 14 cycles on two ports, against 16 loads = 8.
//   AVX2:    16 registers:  6·2 sums + 2 of B + 1 of A. Latency 4 × 2 ports asks for 8 sums at least.
//   WASM, SSE2: 16 registers of 4 lanes and no memory broadcast: 6·2 there too. NEON has 32: 12·2.
// Each element of C is one sum over k in ascending order, whatever the tile or task it falls into: bits depend on shape only.
#if defined(TABGRAD_BACKEND_CPU_SIMD_TILE_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef TABGRAD_BACKEND_CPU_SIMD_TILE_INL_H_
#undef TABGRAD_BACKEND_CPU_SIMD_TILE_INL_H_
#else
#define TABGRAD_BACKEND_CPU_SIMD_TILE_INL_H_
#endif

#include <cstdint>

#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace tabgrad::cpu::HWY_NAMESPACE {

inline constexpr int kTileLanes = static_cast<int>(hwy::HWY_NAMESPACE::MaxLanes(hwy::HWY_NAMESPACE::ScalableTag<float>()));
inline constexpr int kPanel = 2 * kTileLanes;  // columns of a packed panel of B
#if HWY_ARCH_ARM_A64
inline constexpr int kRows = 12;
#else
inline constexpr int kRows = kTileLanes == 16 ? 14 : 6;
#endif
inline constexpr int kPackRows = kRows > 8 ? 16 : 8;  // rows of a packed panel of A, padded to whole vectors

// A panel holds `width` ≤ `panel` lines side by side: out[k·panel + j], zeros for j ≥ width.
// pack_lines: line j's element k at src[k·stride + j]. pack_transposed: at src[j·stride + k].
void pack_lines(std::int64_t k, std::int64_t width, std::int64_t panel, const float* src, std::int64_t stride, float* out);
void pack_transposed(std::int64_t k, std::int64_t width, std::int64_t panel, const float* src, std::int64_t stride, float* out);

// B (k,n) as panels of kPanel columns: packed, or in place where whole vectors can be read (n a multiple of kTileLanes).
struct PanelsOfB {
  const float* data = nullptr;
  std::int64_t panel_stride = 0;  // packed: K·kPanel; in place: kPanel
  std::int64_t k_stride = kPanel;
};
inline PanelsOfB packed_panels(const float* data, std::int64_t k) { return {data, k * kPanel, kPanel}; }
inline PanelsOfB panels_in_place(const float* data, std::int64_t k_stride) { return {data, kPanel, k_stride}; }
inline std::int64_t panel_count(std::int64_t n) { return (n + kPanel - 1) / kPanel; }
inline std::int64_t packed_floats(std::int64_t k, std::int64_t n) { return panel_count(n) * kPanel * k; }
// Packs all of B: element (k,n) at src[k·k_stride + n·n_stride], one of the strides being 1.
void pack_b(std::int64_t k, std::int64_t n, const float* src, std::int64_t k_stride, std::int64_t n_stride, float* out);

// One tile: C (rows, columns) = A·B + (init, if any; may be c itself). rows ≤ kRows, columns ≤ kPanel.
// by_row: A's element (m,k) at a[m·a_stride + k]; else at a[m + k·a_stride].
struct Tile {
  std::int64_t k = 0;
  const float* a = nullptr;
  std::int64_t a_stride = 0;
  const float* b = nullptr;
  std::int64_t b_stride = kPanel;
  float* c = nullptr;
  std::int64_t c_stride = 0;
  const float* init = nullptr;
  std::int64_t init_stride = 0;
};
void run_tile(const Tile& t, bool by_row, int rows, int columns);

// C (m,n) = A·B + init for any m and n on the calling thread: panels outside, tiles of about equal height inside.
struct Product {
  std::int64_t m = 0, n = 0, k = 0;
  const float* a = nullptr;
  std::int64_t a_m = 0, a_k = 0;  // one of them 1
  PanelsOfB b;
  float* c = nullptr;
  std::int64_t c_m = 0;
  const float* init = nullptr;
  std::int64_t init_m = 0;
};
void multiply(const Product& p);

}  // namespace tabgrad::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
