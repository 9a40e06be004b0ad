// gemm: C[b] = A[b]·B[b] (+ C[b]) from packed panels, over the thread pool.
//
// Two phases: pack B (and A where reading it in place would be slow) once, shared by all threads; then tasks, each a
// rectangle of tiles of C over all of K. Small products of a batch are one task each, packed in the worker's own scratch.
// How C is cut and how K is blocked follows from the shape alone, so bits do not depend on the threads.
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

// K is taken in blocks of at most this many, so that a panel of B (2 vectors × 4 bytes × 512 = 64 KB on AVX-512) and the
// tiles of A that pass over it stay in the second-level cache, and C is read and written once per 512·14·2 multiply-adds.
constexpr int64_t kMaxBlockK = 512;
constexpr int64_t kMaxTasks = 64;        // four for each of 16 threads
constexpr double kTaskFlops = 4e5;       // 3 µs of one core: a few times what handing out a task costs
constexpr double kBatchTaskFlops = 2e7;  // below it, one element of a batch is one task

int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }

struct Plan {
  int64_t tiles = 0, panels = 0;  // of C
  int64_t row_tasks = 1, column_tasks = 1;
  int64_t k_blocks = 1;
  bool pack_a = false, pack_b = true;
  int64_t a_floats = 0, b_floats = 0;
};

double flops(const Gemm& g) { return 2.0 * static_cast<double>(g.m) * static_cast<double>(g.n) * static_cast<double>(g.k); }

bool a_by_row(const Gemm& g) { return g.a_k == 1 && g.a_m != 1; }

Plan make_plan(const Gemm& g) {
  Plan p;
  p.tiles = ceil_div(g.m, kRows);
  p.panels = panel_count(g.n);
  p.k_blocks = std::max<int64_t>(1, ceil_div(g.k, kMaxBlockK));

  // B is read in place where packing (read and write all of it) would cost as much as the product: one tile of rows.
  p.pack_b = g.b_n != 1 || g.n % kTileLanes != 0 || p.tiles > 1;
  // A's rows that lie a multiple of 2 KB apart share cache sets; rows over 4 KB apart take a page of the TLB each.
  const bool many_panels = p.panels >= 4;
  if (a_by_row(g)) {
    p.pack_a = many_panels && (g.a_m % 512 == 0 || g.a_m > 1024);
  } else {
    p.pack_a = many_panels && g.k > 32;
  }
  p.a_floats = p.pack_a ? p.tiles * kPackRows * g.k : 0;
  p.b_floats = p.pack_b ? packed_floats(g.k, g.n) : 0;

  // As square as can be: a task reads rows·K of A and K·columns of B.
  const int64_t tasks = std::clamp<int64_t>(static_cast<int64_t>(flops(g) / kTaskFlops), 1, kMaxTasks);
  const double side = std::sqrt(static_cast<double>(g.m) * static_cast<double>(g.n) / static_cast<double>(tasks));
  p.column_tasks = std::clamp<int64_t>(std::llround(static_cast<double>(g.n) / side), 1, std::min(p.panels, tasks));
  p.row_tasks = std::clamp<int64_t>(tasks / p.column_tasks, 1, p.tiles);
  return p;
}

int64_t row_of_tile(const Gemm& g, const Plan& p, int64_t tile) { return tile * g.m / p.tiles; }

void pack_a_tile(const Gemm& g, const Plan& p, const float* a, int64_t tile, float* out) {
  const int64_t begin = row_of_tile(g, p, tile), rows = row_of_tile(g, p, tile + 1) - begin;
  out += tile * kPackRows * g.k;
  if (a_by_row(g)) {
    pack_transposed(g.k, rows, kPackRows, a + begin * g.a_m, g.a_m, out);
  } else {
    pack_lines(g.k, rows, kPackRows, a + begin, g.a_k, out);
  }
}

void pack_b_panel(const Gemm& g, const float* b, int64_t panel, float* out) {
  const int64_t j = panel * kPanel;
  pack_b(g.k, std::min<int64_t>(kPanel, g.n - j), b + j * g.b_n, g.b_k, g.b_n, out + j * g.k);
}

// One task: the tiles [tile_begin, tile_end) × panels [panel_begin, panel_end) of one batch element.
void compute(const Gemm& g, const Plan& p, int64_t batch, int64_t task, const float* packed_a, const float* packed_b,
             int worker) {
  const int64_t row_task = task / p.column_tasks, column_task = task % p.column_tasks;
  const int64_t tile_begin = row_task * p.tiles / p.row_tasks, tile_end = (row_task + 1) * p.tiles / p.row_tasks;
  const int64_t panel_begin = column_task * p.panels / p.column_tasks;
  const int64_t panel_end = (column_task + 1) * p.panels / p.column_tasks;
  const float* a = g.a + batch * g.a_batch;
  const float* b = g.b + batch * g.b_batch;
  float* c = g.c + batch * g.c_batch;
  const bool by_row = !p.pack_a && a_by_row(g);
  Tile t;
  t.a_stride = p.pack_a ? kPackRows : (by_row ? g.a_m : g.a_k);
  t.b_stride = p.pack_b ? kPanel : g.b_k;
  t.c_stride = g.c_m;
  t.init_stride = g.c_m;
  for (int64_t block = 0; block < p.k_blocks; ++block) {
    const int64_t k = block * g.k / p.k_blocks;
    t.k = (block + 1) * g.k / p.k_blocks - k;
    const bool add = g.accumulate || block > 0;
    for (int64_t panel = panel_begin; panel < panel_end; ++panel) {
      const int64_t column = panel * kPanel;
      const int columns = static_cast<int>(std::min<int64_t>(kPanel, g.n - column));
      t.b = p.pack_b ? packed_b + column * g.k + k * kPanel : b + column + k * g.b_k;
      for (int64_t tile = tile_begin; tile < tile_end; ++tile) {
        const int64_t row = row_of_tile(g, p, tile);
        t.a = p.pack_a ? packed_a + (tile * g.k + k) * kPackRows : a + row * g.a_m + k * g.a_k;
        t.c = c + row * g.c_m + column;
        t.init = add ? t.c : nullptr;
        run_tile(t, by_row, static_cast<int>(row_of_tile(g, p, tile + 1) - row), columns);
      }
    }
  }
  if (g.epilogue != nullptr) {
    g.epilogue(g.context, batch, row_of_tile(g, p, tile_begin), row_of_tile(g, p, tile_end), panel_begin * kPanel,
               std::min(g.n, panel_end * kPanel), worker);
  }
}

bool one_task_each(const Gemm& g) { return g.batch > 1 && flops(g) < kBatchTaskFlops; }

int64_t align(int64_t floats) { return ceil_div(floats, 16) * 16; }

int64_t scratch_floats(const Gemm& g, int threads) {
  const Plan p = make_plan(g);
  const int64_t each = align(p.a_floats) + align(p.b_floats);
  return one_task_each(g) ? each * threads : each;
}

void run(const Gemm& g, ThreadPool& pool, float* scratch) {
  if (g.m == 0 || g.n == 0) return;
  const Plan p = make_plan(g);
  if (one_task_each(g)) {
    const int64_t each = align(p.a_floats) + align(p.b_floats);
    pool.run(g.batch, [&](int64_t batch, int worker) {
      float* packed_b = scratch + worker * each;
      float* packed_a = packed_b + align(p.b_floats);
      if (p.pack_b) pack_b(g.k, g.n, g.b + batch * g.b_batch, g.b_k, g.b_n, packed_b);
      for (int64_t tile = 0; p.pack_a && tile < p.tiles; ++tile) pack_a_tile(g, p, g.a + batch * g.a_batch, tile, packed_a);
      for (int64_t task = 0; task < p.row_tasks * p.column_tasks; ++task) {
        compute(g, p, batch, task, packed_a, packed_b, worker);
      }
    });
    return;
  }
  float* packed_b = scratch;
  float* packed_a = scratch + align(p.b_floats);
  for (int64_t batch = 0; batch < g.batch; ++batch) {
    const int64_t b_panels = p.pack_b && (batch == 0 || g.b_batch != 0) ? p.panels : 0;
    const int64_t a_tiles = p.pack_a && (batch == 0 || g.a_batch != 0) ? p.tiles : 0;
    const auto pack = [&](int64_t task, int) {
      if (task < b_panels) {
        pack_b_panel(g, g.b + batch * g.b_batch, task, packed_b);
      } else {
        pack_a_tile(g, p, g.a + batch * g.a_batch, task - b_panels, packed_a);
      }
    };
    const int64_t tasks = p.row_tasks * p.column_tasks;
    if (tasks == 1) {
      for (int64_t task = 0; task < a_tiles + b_panels; ++task) pack(task, 0);
    } else {
      pool.run(a_tiles + b_panels, pack);
    }
    pool.run(tasks, [&](int64_t task, int worker) { compute(g, p, batch, task, packed_a, packed_b, worker); });
  }
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
