// The register tile and the packing that feeds it. See tile_inl.h for the layouts and the choice of sizes.
#include "backend/cpu/simd/simd_targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backend/cpu/simd/tile.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "backend/cpu/simd/fused_inl.h"
#include "backend/cpu/simd/tile_inl.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

HWY_BEFORE_NAMESPACE();
namespace tabgrad::cpu::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;
namespace {

using F = hn::ScalableTag<float>;
using V = hn::Vec<F>;

// One k step. A by row is read through a base pointer for every three rows (base, base + stride, base + 2·stride are x86
// address forms), since a pointer for each of 14 rows would not fit in the 16 general registers.
template <int kMr, int kNv, bool kByRow>
HWY_INLINE void step(V (&acc)[kMr][kNv], const float* const* HWY_RESTRICT a, std::int64_t a_stride,
                     const float* HWY_RESTRICT b) {
  const F f;
  V bv[kNv];
  HWY_UNROLL(4)
  for (int j = 0; j < kNv; ++j) bv[j] = hn::LoadU(f, b + j * kTileLanes);
  HWY_UNROLL(16)
  for (int i = 0; i < kMr; ++i) {
    const float value = kByRow ? a[i / 3][(i % 3) * a_stride] : a[0][i];
    const V av = hn::Set(f, value);
    HWY_UNROLL(4)
    for (int j = 0; j < kNv; ++j) acc[i][j] = mul_add(av, bv[j], acc[i][j]);
  }
}

constexpr std::int64_t kAhead = 8;  // k steps of 14 cycles

template <int kMr, int kNv, bool kByRow>
void tile(const Tile& t, int last_lanes) {
  const F f;
  V acc[kMr][kNv];
  HWY_UNROLL(16)
  for (int i = 0; i < kMr; ++i) {
    HWY_UNROLL(4)
    for (int j = 0; j < kNv; ++j) acc[i][j] = hn::Zero(f);
  }
  // C is needed at the end: ask for it now, so that it travels while the sums are made.
  HWY_UNROLL(16)
  for (int i = 0; i < kMr; ++i) {
    HWY_UNROLL(4)
    for (int j = 0; j < kNv; ++j) __builtin_prefetch(t.c + i * t.c_stride + j * kTileLanes, 1);
  }
  constexpr int kBases = kByRow ? (kMr + 2) / 3 : 1;
  const float* a[kBases];
  const std::int64_t a_stride = t.a_stride, b_stride = t.b_stride;
  HWY_UNROLL(8)
  for (int i = 0; i < kBases; ++i) a[i] = t.a + 3 * i * a_stride;
  const float* b = t.b;
  std::int64_t k = t.k;
  if constexpr (kByRow) {
    HWY_UNROLL(1)
    for (; k > 0; --k) {
      HWY_UNROLL(4)
      for (int j = 0; j < kNv; ++j) __builtin_prefetch(b + kAhead * b_stride + j * kTileLanes);
      step<kMr, kNv, true>(acc, a, a_stride, b);
      b += b_stride;
      HWY_UNROLL(8)
      for (int i = 0; i < kBases; ++i) a[i] += 1;
    }
  } else {
    for (; k > 0; --k) {
      // Panels stream from the second-level cache: some 100 cycles ahead hides its latency.
      __builtin_prefetch(a[0] + kAhead * a_stride);
      HWY_UNROLL(4)
      for (int j = 0; j < kNv; ++j) __builtin_prefetch(b + kAhead * b_stride + j * kTileLanes);
      step<kMr, kNv, false>(acc, a, a_stride, b);
      b += b_stride;
      a[0] += a_stride;
    }
  }

  float* c = t.c;
  const float* init = t.init;
  const bool partial = last_lanes != kTileLanes;
  const auto last = static_cast<std::size_t>(last_lanes);
  HWY_UNROLL(16)
  for (int i = 0; i < kMr; ++i) {
    HWY_UNROLL(4)
    for (int j = 0; j < kNv; ++j) {
      const int at = j * kTileLanes;
      if (j == kNv - 1 && partial) {
        if (init != nullptr) acc[i][j] = hn::Add(acc[i][j], hn::LoadN(f, init + at, last));
        hn::StoreN(acc[i][j], f, c + at, last);
      } else {
        if (init != nullptr) acc[i][j] = hn::Add(acc[i][j], hn::LoadU(f, init + at));
        hn::StoreU(acc[i][j], f, c + at);
      }
    }
    c += t.c_stride;
    if (init != nullptr) init += t.init_stride;
  }
}

using TileFn = void (*)(const Tile&, int);

template <int kNv, bool kByRow, int... kRowIndex>
constexpr std::array<TileFn, sizeof...(kRowIndex)> tile_row(std::integer_sequence<int, kRowIndex...>) {
  return {{tile<kRowIndex + 1, kNv, kByRow>...}};
}
template <int kNv, bool kByRow>
inline constexpr std::array<TileFn, kRows> kTiles = tile_row<kNv, kByRow>(std::make_integer_sequence<int, kRows>());

// Transposes 4 lines × 4 k within each 128-bit block: kTileLanes lines at four k.
HWY_INLINE void transpose_blocks(V v0, V v1, V v2, V v3, V (&out)[4]) {
  const F f;
  const hn::Repartition<double, F> f64;
  const auto lo01 = hn::BitCast(f64, hn::InterleaveLower(f, v0, v1)), hi01 = hn::BitCast(f64, hn::InterleaveUpper(f, v0, v1));
  const auto lo23 = hn::BitCast(f64, hn::InterleaveLower(f, v2, v3)), hi23 = hn::BitCast(f64, hn::InterleaveUpper(f, v2, v3));
  out[0] = hn::BitCast(f, hn::InterleaveLower(f64, lo01, lo23));
  out[1] = hn::BitCast(f, hn::InterleaveUpper(f64, lo01, lo23));
  out[2] = hn::BitCast(f, hn::InterleaveLower(f64, hi01, hi23));
  out[3] = hn::BitCast(f, hn::InterleaveUpper(f64, hi01, hi23));
}

// Four k of the lines j, j+4, j+8, … as the 128-bit blocks of one vector.
template <class D>  // a template, so that only the branch for its width is compiled
HWY_INLINE hn::Vec<D> load_blocks(D f, const float* src, std::int64_t stride) {
  const hn::Full128<float> f4;
  if constexpr (kTileLanes == 4) {
    static_cast<void>(stride);
    return hn::LoadU(f, src);
  } else if constexpr (kTileLanes == 8) {
    return hn::Combine(f, hn::LoadU(f4, src + 4 * stride), hn::LoadU(f4, src));
  } else {
    const hn::Half<D> f8;
    return hn::Combine(f, hn::Combine(f8, hn::LoadU(f4, src + 12 * stride), hn::LoadU(f4, src + 8 * stride)),
                       hn::Combine(f8, hn::LoadU(f4, src + 4 * stride), hn::LoadU(f4, src)));
  }
}

}  // namespace

void pack_lines(std::int64_t k, std::int64_t width, std::int64_t panel, const float* src, std::int64_t stride, float* out) {
  const F f;
  if (width == panel) {
    for (; k > 0; --k, src += stride, out += panel) {
      for (std::int64_t j = 0; j < panel; j += kTileLanes) hn::StoreU(hn::LoadU(f, src + j), f, out + j);
    }
    return;
  }
  for (; k > 0; --k, src += stride, out += panel) {
    for (std::int64_t j = 0; j < panel; j += kTileLanes) {
      const std::int64_t left = std::clamp<std::int64_t>(width - j, 0, kTileLanes);
      hn::StoreU(hn::LoadN(f, src + j, static_cast<std::size_t>(left)), f, out + j);
    }
  }
}

void pack_transposed(std::int64_t k, std::int64_t width, std::int64_t panel, const float* src, std::int64_t stride,
                     float* out) {
  const F f;
  const std::int64_t k4 = k & ~std::int64_t{3};
  for (std::int64_t j = 0; j < panel; j += kTileLanes) {
    const std::int64_t left = std::clamp<std::int64_t>(width - j, 0, kTileLanes);
    std::int64_t done = 0;
    if (left == kTileLanes) {
      const float* line = src + j * stride;
      for (; done < k4; done += 4) {
        V v[4];
        transpose_blocks(load_blocks(f, line + done, stride), load_blocks(f, line + stride + done, stride),
                         load_blocks(f, line + 2 * stride + done, stride), load_blocks(f, line + 3 * stride + done, stride), v);
        for (int i = 0; i < 4; ++i) hn::StoreU(v[i], f, out + (done + i) * panel + j);
      }
    } else if (left > 0) {
      // Lines past the width are read from the first one instead, and their results dropped.
      const float* lines[kTileLanes];
      for (int i = 0; i < kTileLanes; ++i) lines[i] = src + (j + (i < left ? i : 0)) * stride;
      const auto keep = hn::FirstN(f, static_cast<std::size_t>(left));
      HWY_ALIGN float square[4 * kTileLanes];
      for (; done < k4; done += 4) {
        for (int i = 0; i < kTileLanes; ++i) {  // block i/4 of vector i%4
          std::memcpy(square + (i % 4) * kTileLanes + (i / 4) * 4, lines[i] + done, 4 * sizeof(float));
        }
        V v[4];
        transpose_blocks(hn::Load(f, square), hn::Load(f, square + kTileLanes), hn::Load(f, square + 2 * kTileLanes),
                         hn::Load(f, square + 3 * kTileLanes), v);
        for (int i = 0; i < 4; ++i) hn::StoreU(hn::IfThenElseZero(keep, v[i]), f, out + (done + i) * panel + j);
      }
    } else {
      for (; done < k; ++done) hn::StoreU(hn::Zero(f), f, out + done * panel + j);
    }
    for (; done < k; ++done) {
      for (std::int64_t i = 0; i < kTileLanes; ++i) out[done * panel + j + i] = i < left ? src[(j + i) * stride + done] : 0.0f;
    }
  }
}

void pack_b(std::int64_t k, std::int64_t n, const float* src, std::int64_t k_stride, std::int64_t n_stride, float* out) {
  for (std::int64_t j = 0; j < n; j += kPanel, out += k * kPanel) {
    const std::int64_t width = std::min<std::int64_t>(kPanel, n - j);
    if (n_stride == 1) {
      pack_lines(k, width, kPanel, src + j, k_stride, out);
    } else {
      pack_transposed(k, width, kPanel, src + j * n_stride, n_stride, out);
    }
  }
}

void run_tile(const Tile& t, bool by_row, int rows, int columns) {
  const auto row = static_cast<std::size_t>(rows - 1);
  if (columns > kTileLanes) {
    (by_row ? kTiles<2, true> : kTiles<2, false>)[row](t, columns - kTileLanes);
  } else {
    (by_row ? kTiles<1, true> : kTiles<1, false>)[row](t, columns);
  }
}

void multiply(const Product& p) {
  const std::int64_t tiles = (p.m + kRows - 1) / kRows;
  const bool by_row = p.a_m != 1;
  for (std::int64_t j = 0; j < p.n; j += kPanel) {
    Tile t;
    t.k = p.k;
    t.a_stride = by_row ? p.a_m : p.a_k;
    t.b = p.b.data + j / kPanel * p.b.panel_stride;
    t.b_stride = p.b.k_stride;
    t.c_stride = p.c_m;
    t.init_stride = p.init_m;
    const int columns = static_cast<int>(std::min<std::int64_t>(kPanel, p.n - j));
    for (std::int64_t i = 0; i < tiles; ++i) {
      const std::int64_t begin = i * p.m / tiles, end = (i + 1) * p.m / tiles;
      t.a = p.a + begin * p.a_m;
      t.c = p.c + begin * p.c_m + j;
      t.init = p.init == nullptr ? nullptr : p.init + begin * p.init_m + j;
      run_tile(t, by_row, static_cast<int>(end - begin), columns);
    }
  }
}

}  // namespace tabgrad::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
