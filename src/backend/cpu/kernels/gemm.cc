// gemm: C[b] = A[b]·B[b] (+ C[b]) from packed panels, over the thread pool.
//
// C is cut into parts, a pool task each. A task walks blocks of columns and of K, packs B's block and A's blocks into its
// worker's scratch, where they stay in the second-level cache, and runs register tiles over them: nothing packed goes through
// memory. Cuts of C may follow the number of threads, since they change no bits; K is cut by shape alone.
#include "backend/cpu/kernels.h"
#include "backend/cpu/simd/simd_targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backend/cpu/kernels/gemm.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "backend/cpu/simd/tile_inl.h"

#include <algorithm>
#include <cmath>

HWY_BEFORE_NAMESPACE();
namespace tabgrad::cpu::HWY_NAMESPACE {
namespace {

using std::int64_t;

// Sizes of what a thread works on, for a second-level cache of 2 MB on AVX-512, half of it elsewhere: a block of B
// (K, columns) 512·512 floats = 1 MB, a block of A (rows, K) 8·16·512 floats = 256 KB, both packed into the worker's own
// scratch, which therefore stays in its cache. C is read and written once per 512 multiply-adds of each element.
constexpr int64_t kBlockK = 512;
constexpr int64_t kBlockColumns = 16 * kPanel;
constexpr int64_t kBlockTiles = 8;
// Packing goes through this many k at a time across a whole block: lines of a strided matrix lie in pages of their own, and
// the first-level TLB (64–96 entries) must hold those in use.
constexpr int64_t kPackStrip = 32;

// Costs in multiply-adds (75 of them a nanosecond on AVX-512): a task handed out, 1 µs; an element of an operand read; and how
// much more an element costs that is packed (read across lines and pages, written, read again).
constexpr double kTaskCost = 75e3, kReadCost = 4.0, kPackCost = 6.0;
constexpr int64_t kTasksPerThread = 4;      // at most

int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }

struct Plan {
  int64_t tiles = 0, panels = 0;               // of C
  int64_t row_parts = 1, column_parts = 1;     // pool tasks of one batch element
  int64_t k_blocks = 1, block_k = 0;
  bool by_row = true, pack_a = false, pack_b = true;
  int64_t a_floats = 0, b_floats = 0;          // scratch of a worker
};

// Which threads share C how changes no bits: an element's sum over K is cut by kBlockK only.
//
// Each task packs the rows of A and the columns of B that it uses, so many tasks pack the same again; few leave a thread waiting.
// The cut with the least time of the busiest thread wins, in multiply-adds for each step of K.
void choose_parts(const Gemm& g, int threads, Plan& p) {
  const double k = static_cast<double>(std::max<int64_t>(g.k, 1));
  const int64_t most = std::max<int64_t>(1, threads == 1 ? 1 : threads * kTasksPerThread / std::min<int64_t>(g.batch, threads));
  const double tile_rows = static_cast<double>(g.m) / static_cast<double>(p.tiles);
  double best = 0.0;
  for (int64_t rows = 1; rows <= std::min(most, p.tiles); ++rows) {
    for (int64_t columns = 1; columns <= std::min(most / rows, p.panels); ++columns) {
      const double a_rows = tile_rows * static_cast<double>(ceil_div(p.tiles, rows));
      const double b_columns = static_cast<double>(kPanel * ceil_div(p.panels, columns));
      const double task = a_rows * b_columns + kReadCost * (p.pack_a ? kPackCost : 1.0) * a_rows +
                          kReadCost * (p.pack_b ? kPackCost : 1.0) * b_columns + kTaskCost / k;
      const double time = task * static_cast<double>(ceil_div(g.batch * rows * columns, threads));
      if (rows * columns == 1 || time < best) {
        best = time;
        p.row_parts = rows;
        p.column_parts = columns;
      }
    }
  }
}

Plan make_plan(const Gemm& g, int threads) {
  Plan p;
  p.tiles = ceil_div(g.m, kRows);
  p.panels = panel_count(g.n);
  p.k_blocks = std::max<int64_t>(1, ceil_div(g.k, kBlockK));
  p.block_k = ceil_div(g.k, p.k_blocks);
  p.by_row = g.a_k == 1 && g.a_m != 1;
  // B is read in place where packing (read and write all of it) would cost as much as the product: one tile of rows.
  p.pack_b = g.b_n != 1 || g.n % kTileLanes != 0 || p.tiles > 1;
  // A by rows is read in place where few panels use it, unless its rows share cache sets (a multiple of 2 KB apart); by
  // columns it is packed, unless hardly any panels use it.
  p.pack_a = p.by_row ? p.panels >= 8 || (p.panels >= 3 && g.a_m % 512 == 0) : p.panels >= 3 && p.block_k > 32;
  choose_parts(g, threads, p);
  const int64_t block_tiles = std::min(kBlockTiles, ceil_div(p.tiles, p.row_parts));
  const int64_t block_panels = std::min(kBlockColumns / kPanel, ceil_div(p.panels, p.column_parts));
  p.a_floats = p.pack_a ? block_tiles * kPackRows * p.block_k : 0;
  p.b_floats = p.pack_b ? block_panels * kPanel * p.block_k : 0;
  return p;
}

int64_t row_of_tile(const Gemm& g, const Plan& p, int64_t tile) { return tile * g.m / p.tiles; }

struct Range {
  int64_t begin = 0, end = 0;
};
Range part_of(int64_t count, int64_t parts, int64_t index) { return {index * count / parts, (index + 1) * count / parts}; }

// Tiles of A, K from k.begin to k.end, tile after tile of (k, kPackRows).
void pack_a_block(const Gemm& g, const Plan& p, const float* a, Range tiles, Range k, float* out) {
  const int64_t length = k.end - k.begin;
  const int64_t strip = p.by_row ? length : kPackStrip;
  for (int64_t first = 0; first < length; first += strip) {
    const int64_t here = std::min(strip, length - first);
    for (int64_t tile = tiles.begin; tile < tiles.end; ++tile) {
      const int64_t row = row_of_tile(g, p, tile), rows = row_of_tile(g, p, tile + 1) - row;
      float* to = out + ((tile - tiles.begin) * length + first) * kPackRows;
      const float* from = a + row * g.a_m + (k.begin + first) * g.a_k;
      if (p.by_row) {
        pack_transposed(here, rows, kPackRows, from, g.a_m, to);
      } else {
        pack_lines(here, rows, kPackRows, from, g.a_k, to);
      }
    }
  }
}

// Panels of B, K from k.begin to k.end, panel after panel of (k, kPanel).
void pack_b_block(const Gemm& g, const float* b, Range panels, Range k, float* out) {
  const int64_t length = k.end - k.begin;
  const int64_t strip = g.b_n == 1 ? kPackStrip : length;
  for (int64_t first = 0; first < length; first += strip) {
    const int64_t here = std::min(strip, length - first);
    for (int64_t panel = panels.begin; panel < panels.end; ++panel) {
      const int64_t column = panel * kPanel, width = std::min<int64_t>(kPanel, g.n - column);
      float* to = out + ((panel - panels.begin) * length + first) * kPanel;
      const float* from = b + column * g.b_n + (k.begin + first) * g.b_k;
      if (g.b_n == 1) {
        pack_lines(here, width, kPanel, from, g.b_k, to);
      } else {
        pack_transposed(here, width, kPanel, from, g.b_n, to);
      }
    }
  }
}

struct Operands {
  const float *a, *b;
  float* c;
};

// All tiles × panels of one block over one block of K. A tile of A stays in the first level while B's panels stream from the
// second, and the pages of C's rows stay in the TLB: panels outside was 6 % slower where C is large.
void multiply_block(const Gemm& g, const Plan& p, const Operands& o, Range tiles, Range panels, Range k, const float* packed_a,
                    const float* packed_b) {
  const int64_t length = k.end - k.begin;
  const bool by_row = p.by_row && !p.pack_a, add = g.accumulate || k.begin > 0;
  Tile t;
  t.k = length;
  t.a_stride = p.pack_a ? kPackRows : (by_row ? g.a_m : g.a_k);
  t.b_stride = p.pack_b ? kPanel : g.b_k;
  t.c_stride = t.init_stride = g.c_m;
  for (int64_t tile = tiles.begin; tile < tiles.end; ++tile) {
    const int64_t row = row_of_tile(g, p, tile);
    const int rows = static_cast<int>(row_of_tile(g, p, tile + 1) - row);
    t.a = p.pack_a ? packed_a + (tile - tiles.begin) * length * kPackRows : o.a + row * g.a_m + k.begin * g.a_k;
    for (int64_t panel = panels.begin; panel < panels.end; ++panel) {
      const int64_t column = panel * kPanel;
      const int columns = static_cast<int>(std::min<int64_t>(kPanel, g.n - column));
      t.b = p.pack_b ? packed_b + (panel - panels.begin) * length * kPanel : o.b + column + k.begin * g.b_k;
      t.c = o.c + row * g.c_m + column;
      t.init = add ? t.c : nullptr;
      run_tile(t, by_row, rows, columns);
    }
  }
}

// One pool task: a part of C's rows × a part of its columns of one batch element, over all of K.
void compute(const Gemm& g, const Plan& p, int64_t task, float* scratch, int worker) {
  const int64_t parts = p.row_parts * p.column_parts, batch = task / parts, part = task % parts;
  const Operands o{g.a + batch * g.a_batch, g.b + batch * g.b_batch, g.c + batch * g.c_batch};
  const Range all_tiles = part_of(p.tiles, p.row_parts, part % p.row_parts);
  const Range all_panels = part_of(p.panels, p.column_parts, part / p.row_parts);
  float* packed_a = scratch;
  float* packed_b = scratch + p.a_floats;
  const int64_t panel_step = kBlockColumns / kPanel;
  for (int64_t panel = all_panels.begin; panel < all_panels.end; panel += panel_step) {
    const Range panels{panel, std::min(all_panels.end, panel + panel_step)};
    for (int64_t block = 0; block < p.k_blocks; ++block) {
      const Range k{std::min(g.k, block * p.block_k), std::min(g.k, (block + 1) * p.block_k)};
      if (p.pack_b) pack_b_block(g, o.b, panels, k, packed_b);
      for (int64_t tile = all_tiles.begin; tile < all_tiles.end; tile += kBlockTiles) {
        const Range tiles{tile, std::min(all_tiles.end, tile + kBlockTiles)};
        if (p.pack_a) pack_a_block(g, p, o.a, tiles, k, packed_a);
        multiply_block(g, p, o, tiles, panels, k, packed_a, packed_b);
        if (g.epilogue != nullptr && block + 1 == p.k_blocks) {
          g.epilogue(g.context, batch, row_of_tile(g, p, tiles.begin), row_of_tile(g, p, tiles.end), panels.begin * kPanel,
                     std::min(g.n, panels.end * kPanel), worker);
        }
      }
    }
  }
}

int64_t worker_floats(const Plan& p) { return ceil_div(p.a_floats + p.b_floats, 16) * 16; }

int64_t scratch_floats(const Gemm& g, int threads) { return threads * worker_floats(make_plan(g, threads)); }

void run(const Gemm& g, ThreadPool& pool, float* scratch) {
  if (g.m == 0 || g.n == 0) return;
  const Plan p = make_plan(g, pool.threads());
  pool.run(g.batch * p.row_parts * p.column_parts,
           [&](int64_t task, int worker) { compute(g, p, task, scratch + worker * worker_floats(p), worker); });
}

}  // namespace

int64_t gemm_scratch_floats(const Gemm& g, int threads) { return scratch_floats(g, threads); }
void gemm(const Gemm& g, ThreadPool& pool, float* scratch) { run(g, pool, scratch); }

}  // namespace tabgrad::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tabgrad::cpu {

HWY_EXPORT(gemm_scratch_floats);
HWY_EXPORT(gemm);

std::int64_t gemm_scratch_floats(const Gemm& g, int threads) { return HWY_DYNAMIC_DISPATCH(gemm_scratch_floats)(g, threads); }

void gemm(const Gemm& g, ThreadPool& pool, Scratch scratch) {
  TG_CHECK(scratch.floats >= gemm_scratch_floats(g, pool.threads()));
  HWY_DYNAMIC_DISPATCH(gemm)(g, pool, scratch.data);
}

}  // namespace tabgrad::cpu
#endif
