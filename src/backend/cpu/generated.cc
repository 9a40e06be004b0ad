// Launches of generated kernels: Map, Reduce, and Contract with its epilogue.
//
// Work is cut into tasks by shape alone, so that the bits of a result do not depend on the number of threads.
#include <algorithm>
#include <memory>

#include "backend/cpu/launch.h"

namespace tabgrad::cpu {
namespace {

// Elements of a Map in one task: large enough to hide the cost of handing it out (about 1 µs), small enough to balance.
constexpr std::int64_t kTaskElements = 16384;
// A reduction with fewer independent results than this is also cut along what it reduces.
constexpr std::int64_t kFewTasks = 16;
constexpr std::int64_t kReduceChunk = 4096;  // elements reduced by one task then

std::int64_t ceil_div(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

struct Combine {
  ReduceOp op;
  float identity() const { return op == ReduceOp::kSum ? 0.0f : -__builtin_inff(); }
  float operator()(float a, float b) const { return op == ReduceOp::kSum ? a + b : (a < b ? b : a); }
  float block(const float* x, std::int64_t n) const { return op == ReduceOp::kSum ? block_sum(x, n) : block_max(x, n); }
  void accumulate(const float* x, float* acc, std::int64_t n) const {
    if (op == ReduceOp::kSum) {
      block_accumulate_sum(x, acc, n);
    } else {
      block_accumulate_max(x, acc, n);
    }
  }
};

// Space = kept rows × reduced rows × cols, where cols are reduced (row reduction) or kept (column reduction).
struct Reduction {
  BlockVm vm;
  Combine combine;
  bool column;  // the last dimension is kept
  std::int64_t kept_rows, reduced_rows, cols;
  FlatAccess out;
  Dims kept_dims;
  float* result;

  std::int64_t out_offset(std::int64_t kept_row) const {
    std::int64_t at = out.offset;
    const std::size_t outer = kept_dims.size() - (column ? 1 : 0);
    for (std::size_t d = outer; d-- > 0;) {
      at += out.strides[d] * (kept_row % kept_dims[d]);
      kept_row /= kept_dims[d];
    }
    return at;
  }

  // One number from reduced elements [begin, end) of a kept row.
  float row(std::int64_t kept_row, std::int64_t begin, std::int64_t end, float* registers) const {
    float acc = combine.identity();
    while (begin < end) {
      const std::int64_t r = begin / cols, c = begin % cols;
      const std::int64_t n = std::min({kBlock, cols - c, end - begin});
      acc = combine(acc, combine.block(vm.evaluate(kept_row * reduced_rows + r, c, n, registers), n));
      begin += n;
    }
    return acc;
  }

  // n ≤ kBlock columns from reduced rows [begin, end) of a kept row, into acc.
  void columns(std::int64_t kept_row, std::int64_t begin, std::int64_t end, std::int64_t col, std::int64_t n, float* acc,
               float* registers) const {
    std::fill(acc, acc + n, combine.identity());
    for (std::int64_t r = begin; r < end; ++r)
      combine.accumulate(vm.evaluate(kept_row * reduced_rows + r, col, n, registers), acc, n);
  }
};

}  // namespace

PreparedLaunch prepare_map(const Kernel& kernel, std::vector<float*> args, LaunchContext context) {
  auto vm = std::make_shared<BlockVm>(kernel.body, std::move(args), context.values);
  context.workspace.need_registers(vm->register_floats());
  const std::int64_t rows = vm->rows(), cols = vm->cols();
  const std::int64_t col_step = std::min(cols, kTaskElements);
  const std::int64_t row_step = std::max<std::int64_t>(1, kTaskElements / col_step);
  const std::int64_t col_tasks = ceil_div(cols, col_step), tasks = ceil_div(rows, row_step) * col_tasks;
  return [=, &pool = context.pool, &workspace = context.workspace] {
    pool.run(tasks, [&](std::int64_t task, int worker) {
      const std::int64_t row = task / col_tasks * row_step, col = task % col_tasks * col_step;
      vm->run(row, std::min(rows, row + row_step), col, std::min(cols, col + col_step),
              workspace.registers + worker * workspace.register_stride);
    });
  };
}

PreparedLaunch prepare_reduce(const Kernel& kernel, std::vector<float*> args, LaunchContext context) {
  const Body& body = kernel.body;
  const Store& store = body.stores[0];
  float* result = args[static_cast<std::size_t>(store.arg)];
  const std::size_t tail = kernel.keep_last ? 1 : 0, kept = body.space.size() - tail - static_cast<std::size_t>(kernel.reduced);
  Dims kept_dims(body.space.begin(), body.space.begin() + static_cast<std::ptrdiff_t>(kept));
  const std::int64_t kept_rows = num_elements(kept_dims);
  const std::int64_t cols = body.space.empty() ? 1 : body.space.back();
  if (kernel.keep_last) kept_dims.push_back(cols);
  BlockVm vm(body, std::move(args), context.values, store.value);
  const std::int64_t reduced_rows = vm.rows() / kept_rows;
  const std::int64_t register_floats = vm.register_floats();
  context.workspace.need_registers(register_floats + kBlock);
  auto r = std::make_shared<Reduction>(Reduction{
      std::move(vm), {kernel.reduce}, kernel.keep_last, kept_rows, reduced_rows, cols, store.at, std::move(kept_dims), result});
  ThreadPool& pool = context.pool;
  Workspace& workspace = context.workspace;

  if (!r->column) {
    const std::int64_t each = reduced_rows * cols;
    const std::int64_t chunks = kept_rows < kFewTasks ? ceil_div(each, kReduceChunk) : 1;
    // Rows of a few elements are taken together.
    const std::int64_t rows_a_task = chunks > 1 ? 1 : std::max<std::int64_t>(1, kTaskElements / each);
    workspace.need_scratch(kept_rows * chunks);
    return [=, &pool, &workspace] {
      pool.run(ceil_div(kept_rows, rows_a_task) * chunks, [&](std::int64_t task, int worker) {
        float* registers = workspace.registers + worker * workspace.register_stride;
        const std::int64_t chunk = task % chunks, first = task / chunks * rows_a_task;
        const std::int64_t begin = chunks > 1 ? chunk * kReduceChunk : 0,
                           end = chunks > 1 ? std::min(each, begin + kReduceChunk) : each;
        for (std::int64_t k = first; k < std::min(kept_rows, first + rows_a_task); ++k) {
          const float value = r->row(k, begin, end, registers);
          (chunks > 1 ? workspace.scratch.data[k * chunks + chunk] : r->result[r->out_offset(k)]) = value;
        }
      });
      if (chunks == 1) return;
      for (std::int64_t k = 0; k < kept_rows; ++k) {
        float acc = r->combine.identity();
        for (std::int64_t c = 0; c < chunks; ++c) acc = r->combine(acc, workspace.scratch.data[k * chunks + c]);
        r->result[r->out_offset(k)] = acc;
      }
    };
  }

  const std::int64_t col_tasks = ceil_div(cols, kBlock);
  const std::int64_t rows_a_chunk = std::max<std::int64_t>(16, kReduceChunk / std::min(cols, kBlock));
  const std::int64_t chunks = kept_rows * col_tasks < kFewTasks ? ceil_div(reduced_rows, rows_a_chunk) : 1;
  const std::int64_t results = kept_rows * cols, stride = r->out.strides.back();
  workspace.need_scratch(chunks > 1 ? results * chunks : 0);
  return [=, &pool, &workspace] {
    pool.run(kept_rows * col_tasks * chunks, [&](std::int64_t task, int worker) {
      float* registers = workspace.registers + worker * workspace.register_stride;
      const std::int64_t chunk = task % chunks, col = task / chunks % col_tasks * kBlock, k = task / chunks / col_tasks;
      const std::int64_t n = std::min(kBlock, cols - col);
      const std::int64_t begin = chunks > 1 ? chunk * rows_a_chunk : 0;
      const std::int64_t end = chunks > 1 ? std::min(reduced_rows, begin + rows_a_chunk) : reduced_rows;
      float* acc = chunks > 1 ? workspace.scratch.data + chunk * results + k * cols + col : registers + register_floats;
      r->columns(k, begin, end, col, n, acc, registers);
      if (chunks > 1) return;
      float* to = r->result + r->out_offset(k) + col * stride;
      for (std::int64_t i = 0; i < n; ++i) to[i * stride] = acc[i];
    });
    if (chunks == 1) return;
    float* sum = workspace.scratch.data;
    for (std::int64_t c = 1; c < chunks; ++c) r->combine.accumulate(sum + c * results, sum, results);
    for (std::int64_t k = 0; k < kept_rows; ++k)
      for (std::int64_t i = 0; i < cols; ++i) r->result[r->out_offset(k) + i * stride] = sum[k * cols + i];
  };
}

PreparedLaunch prepare_contract(const Kernel& kernel, std::vector<float*> args, LaunchContext context) {
  const Contract& c = kernel.contract;
  Gemm g;
  g.m = c.m;
  g.n = c.n;
  g.k = c.k;
  g.batch = c.batch;
  g.a = args[0] + c.a_offset;
  g.a_m = c.a_m;
  g.a_k = c.a_k;
  g.a_batch = c.a_batch;
  g.b = args[1] + c.b_offset;
  g.b_k = c.b_k;
  g.b_n = c.b_n;
  g.b_batch = c.b_batch;
  g.c = args[2];
  g.c_m = c.n;
  g.c_batch = c.m * c.n;
  struct Epilogue {
    BlockVm vm;
    Workspace& workspace;
    std::int64_t m;
  };
  std::shared_ptr<Epilogue> epilogue;
  if (!kernel.body.code.empty()) {
    epilogue = std::make_shared<Epilogue>(Epilogue{{kernel.body, std::move(args), context.values}, context.workspace, c.m});
    context.workspace.need_registers(epilogue->vm.register_floats());
    g.context = epilogue.get();
    g.epilogue = [](void* e, std::int64_t batch, std::int64_t m_begin, std::int64_t m_end, std::int64_t n_begin,
                    std::int64_t n_end, int worker) {
      const Epilogue& self = *static_cast<const Epilogue*>(e);
      self.vm.run(batch * self.m + m_begin, batch * self.m + m_end, n_begin, n_end,
                  self.workspace.registers + worker * self.workspace.register_stride);
    };
  }
  context.workspace.need_scratch(gemm_scratch_floats(g, context.pool.threads()));
  return [g, epilogue, &pool = context.pool, &workspace = context.workspace] { gemm(g, pool, workspace.scratch); };
}

}  // namespace tabgrad::cpu
