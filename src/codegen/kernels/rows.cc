// Claimed kernels over rows: softmax, cross-entropy, norms, sums of squares.
#include "codegen/emit.h"
#include "codegen/templates.h"

namespace tabgrad::codegen {
namespace {

std::string num(std::int64_t n) { return std::to_string(n); }

// Invocations for a row of so many elements: a power of two, each with about four elements to itself.
int row_threads(std::int64_t cols) {
  int threads = 32;
  while (threads < 256 && threads * 4 < cols) threads *= 2;
  return threads;
}

// A part with one workgroup a row and the workgroup's sums at hand.
Part row_part(const char* text, const char* name, std::int64_t rows, std::int64_t cols, int threads,
              std::vector<Constant> more) {
  std::vector<Constant> constants{{"C", num(cols)}, {"T", num(threads)}};
  constants.insert(constants.end(), more.begin(), more.end());
  const std::string whole = std::string(templates::workgroup) + text;
  Part part = template_part(whole.c_str(), name, constants);
  part.workgroup_size = threads;
  part.shared = {{"all", "f32", threads}};
  part.workgroups = rows;
  return part;
}

void replace(std::string& text, const std::string& from, const std::string& to) {
  for (std::size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size()))
    text.replace(at, from.size(), to);
}

// Sums over the middle of a scratch (kept, chunks, columns), argument `scratch`, into argument `to`.
Part sum_chunks(const std::vector<ArgInfo>& info, int scratch, std::int64_t offset, std::int64_t chunks, std::int64_t columns,
                int to) {
  Kernel k;
  k.kind = KernelKind::kReduce;
  k.reduced = 1;
  k.keep_last = columns > 1;
  k.body.space = {chunks};
  Dims strides{columns};
  Dims out;
  if (columns > 1) {
    k.body.space.push_back(columns);
    strides.push_back(1);
    out.push_back(1);
  }
  k.body.loads = {{scratch, {strides, offset, {}}, false}};
  Instr load;
  load.kind = InstrKind::kLoad;
  load.index = 0;
  k.body.code = {load};
  k.body.stores = {{to, 0, {out, 0, {}}}};
  Parts parts = reduce_parts(k, info, false);
  TG_CHECK(parts.parts.size() == 1);
  return std::move(parts.parts[0]);
}

}  // namespace

Parts softmax_parts(const Kernel& k, const std::vector<ArgInfo>& info) {
  const std::int64_t rows = k.arg_dims[0][0], cols = k.arg_dims[0][1];
  Part p = row_part(k.grad ? templates::softmax_grad : templates::softmax, k.grad ? "softmax gradient" : "softmax", rows, cols,
                    row_threads(cols), {});
  name_arg(p, info, k.grad ? "y" : "x", k.grad ? 1 : 0, false);
  if (k.grad) name_arg(p, info, "dy", 2, false);
  name_arg(p, info, k.grad ? "dx" : "y", k.grad ? 3 : 1, true);
  return {{std::move(p)}, {}};
}

Parts cross_entropy_parts(const Kernel& k, const std::vector<ArgInfo>& info) {
  const std::int64_t rows = k.arg_dims[0][0], cols = k.arg_dims[0][1];
  if (!k.grad) {
    Part p = row_part(templates::cross_entropy, "cross entropy", rows, cols, row_threads(cols), {});
    name_arg(p, info, "x", 0, false);
    name_arg(p, info, "target_ids", 1, false);
    name_arg(p, info, "nll", 2, true);
    name_arg(p, info, "lse", 3, true);
    return {{std::move(p)}, {}};
  }
  Part p = template_part(templates::cross_entropy_grad, "cross entropy gradient", {{"R", num(rows)}, {"C", num(cols)}});
  p.workgroup_size = 128;
  p.workgroups = ceil_div(rows * cols, 128);
  name_arg(p, info, "x", 0, false);
  name_arg(p, info, "target_ids", 1, false);
  name_arg(p, info, "lse", 3, false);
  name_arg(p, info, "dnll", 4, false);
  name_arg(p, info, "dx", 5, true);
  return {{std::move(p)}, {}};
}

// Arguments: x, gamma, [beta] → y, [mean], rstd; gradient: those, dy → dx, dgamma, [dbeta].
Parts norm_parts(const Kernel& k, const std::vector<ArgInfo>& info) {
  const bool layer = k.composite == Composite::kLayerNorm;
  const std::int64_t rows = k.arg_dims[0][0], cols = k.arg_dims[0][1];
  const int threads = row_threads(cols), y = layer ? 3 : 2, mean = 4, rstd = layer ? 5 : 3;
  const Constant is_layer{"LAYER", layer ? "true" : "false"};
  if (!k.grad) {
    Part p = row_part(templates::norm, layer ? "layer norm" : "rms norm", rows, cols, threads,
                      {is_layer, {"EPS", number(k.attrs.eps)}});
    replace(p.body, "@beta", layer ? " + $beta[c]" : "");
    replace(p.body, "@mean", layer ? "\n  $mean_out[row] = mean;" : "");
    name_arg(p, info, "x", 0, false);
    name_arg(p, info, "gamma", 1, false);
    if (layer) name_arg(p, info, "beta", 2, false);
    name_arg(p, info, "y", y, true);
    if (layer) name_arg(p, info, "mean_out", mean, true);
    name_arg(p, info, "rstd_out", rstd, true);
    return {{std::move(p)}, {}};
  }
  // Few enough chunks that their sum is quick, enough to fill a GPU.
  const std::int64_t each = std::max<std::int64_t>(ceil_div(rows, 256), std::min<std::int64_t>(rows, 4)),
                     chunks = ceil_div(rows, each);
  Parts result;
  result.scratch = {{(layer ? 2 : 1) * chunks * cols}};
  const int scratch = static_cast<int>(info.size()), dy = rstd + 1;
  Part p = row_part(
      templates::norm_grad, layer ? "layer norm gradient" : "rms norm gradient", chunks, cols, threads,
      {is_layer, {"R", num(rows)}, {"EACH", num(each)}, {"CHUNKS", num(chunks)}, {"OWN", num(ceil_div(cols, threads))}});
  replace(p.body, "@mean", layer ? "$mean[row]" : "0.0");
  name_arg(p, info, "x", 0, false);
  name_arg(p, info, "gamma", 1, false);
  if (layer) name_arg(p, info, "mean", mean, false);
  name_arg(p, info, "rstd", rstd, false);
  name_arg(p, info, "dy", dy, false);
  name_arg(p, info, "dx", dy + 1, true);
  std::vector<ArgInfo> more = info;
  more.push_back({result.scratch[0][0], false, -1});
  name_arg(p, more, "partial", scratch, true);
  result.parts.push_back(std::move(p));
  for (int i = 0; i < (layer ? 2 : 1); ++i)
    result.parts.push_back(sum_chunks(more, scratch, i * chunks * cols, chunks, cols, dy + 2 + i));
  return result;
}

// Arguments x1, x2, … → scalar: the chunks of all arrays leave their sums side by side, and a last part adds them.
Parts sum_squares_parts(const Kernel& k, const std::vector<ArgInfo>& info) {
  constexpr std::int64_t kThreads = 256, kMostChunks = 512;
  Parts result;
  const int scratch = static_cast<int>(info.size());
  std::int64_t total = 0;
  std::vector<Part> parts;
  for (std::size_t i = 0; i + 1 < info.size(); ++i) {
    const bool wide = info[i].elements % 4 == 0;
    const std::int64_t n = wide ? info[i].elements / 4 : info[i].elements;
    const std::int64_t chunks = std::clamp<std::int64_t>(ceil_div(n, 4 * kThreads), 1, kMostChunks), each = ceil_div(n, chunks);
    Part p = row_part(templates::sum_squares, "sum of squares", chunks, 0, kThreads,
                      {{"N", num(n)}, {"EACH", num(each)}, {"FIRST", num(total)}});
    replace(p.body, "vec4f(0.0)", wide ? "vec4f(0.0)" : "0.0");
    replace(p.body, "@fold", wide ? "(sum.x + sum.y) + (sum.z + sum.w)" : "sum");
    name_arg(p, info, "x", static_cast<int>(i), false, wide);
    parts.push_back(std::move(p));
    total += chunks;
  }
  result.scratch = {{total}};
  std::vector<ArgInfo> more = info;
  more.push_back({total, false, -1});
  for (Part& p : parts) {
    name_arg(p, more, "out", scratch, true);
    result.parts.push_back(std::move(p));
  }
  (void)k;
  Kernel sum;
  sum.kind = KernelKind::kReduce;
  sum.reduced = 1;
  sum.body.space = {total};
  sum.body.loads = {{scratch, {{1}, 0, {}}, false}};
  Instr load;
  load.kind = InstrKind::kLoad;
  load.index = 0;
  sum.body.code = {load};
  sum.body.stores = {{static_cast<int>(info.size()) - 1, 0, {{}, 0, {}}}};
  Parts last = reduce_parts(sum, more);
  for (Part& p : last.parts) result.parts.push_back(std::move(p));
  for (Dims& d : last.scratch) result.scratch.push_back(std::move(d));
  return result;
}

}  // namespace tabgrad::codegen
