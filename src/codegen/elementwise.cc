// Map and Reduce: one invocation an element, or four; reductions by rows or columns, cut into chunks where there are few results.
#include <algorithm>

#include "codegen/emit.h"

namespace tabgrad::codegen {
namespace {

constexpr std::int64_t kFewResults = 128;  // reductions with fewer workgroups than this are cut into chunks
constexpr std::int64_t kChunkElements = 2048;  // of at least this many elements
constexpr std::int64_t kThreadReduction = 32;  // up to which one invocation reduces alone

struct Combine {
  ReduceOp op;
  std::string identity() const { return op == ReduceOp::kSum ? "0.0" : "-3.402823466e38"; }
  std::string operator()(const std::string& a, const std::string& b) const {
    return op == ReduceOp::kSum ? a + " + " + b : "max(" + a + ", " + b + ")";
  }
};

// Space = kept rows × reduced × kept columns (1 when the last dimension is reduced).
struct Shape {
  std::int64_t kept = 1, reduced = 1, columns = 1;
};
Shape shape_of(const Kernel& k) {
  Shape s;
  const Dims& space = k.body.space;
  const std::size_t tail = k.keep_last ? 1 : 0, first = space.size() - tail - static_cast<std::size_t>(k.reduced);
  for (std::size_t d = 0; d < space.size(); ++d)
    (d < first ? s.kept : d < space.size() - tail ? s.reduced : s.columns) *= space[d];
  return s;
}

}  // namespace

Part map_part(const Kernel& k, const std::vector<ArgInfo>& info) {
  Part part;
  part.name = "map";
  const bool wide = widens(k.body);
  const int width = wide ? 4 : 1;
  use_body_args(part, k.body, info, wide);
  const std::int64_t threads = num_elements(k.body.space) / width;
  part.workgroup_size = 128;
  part.workgroups = ceil_div(threads, part.workgroup_size);
  PrintOptions o;
  o.width = width;
  part.body += "let e = i32(wg * 128u + lid);\n";
  if (threads % part.workgroup_size != 0) part.body += "if (e < " + std::to_string(threads) + ") {\n";
  part.body += coordinates(k.body.space, "e", "i", width, o.index);
  o.load = [&](const Load& l, const std::string& element, bool whole) { return load_text(part, info, l.arg, element, whole); };
  part.body += print_code(k.body, o);
  part.body += print_stores(part, info, k.body, o);
  if (threads % part.workgroup_size != 0) part.body += "}\n";
  return part;
}

Parts reduce_parts(const Kernel& k, const std::vector<ArgInfo>& info, bool cut) {
  const Shape s = shape_of(k);
  const Combine combine{k.reduce};
  const Store& store = k.body.stores[0];
  Parts result;
  // Columns are reduced by fours where they lie so.
  const bool column = s.columns > 1, wide = column && widens(k.body);
  const std::int64_t step = wide ? 4 : 1, units = s.columns / step;
  const std::string type = wide ? "vec4f" : "f32", identity = type + "(" + combine.identity() + ")";
  // Invocations of a workgroup: `lanes` reduce one result together, side by side along what is contiguous.
  const std::int64_t size = 128;
  // Columns of a workgroup, side by side in memory; fewer where there are few, so that more invocations share the rows.
  const std::int64_t width = !wide && s.kept * s.columns >= 4096 ? 32 : 8;
  const std::int64_t lanes = size / (column ? width : 1);
  const bool alone = s.reduced <= kThreadReduction;
  const std::int64_t groups = column ? s.kept * ceil_div(units, width) : s.kept;
  std::int64_t chunks = 1;
  if (cut && !alone && groups < kFewResults) {
    const std::int64_t least = column ? 64 : kChunkElements;
    chunks = std::clamp<std::int64_t>(std::min(ceil_div(s.reduced, least), ceil_div(2 * kFewResults, groups)), 1, 1024);
  }
  const std::int64_t each = ceil_div(s.reduced, chunks);
  chunks = ceil_div(s.reduced, each);

  Part part;
  part.name = k.reduce == ReduceOp::kSum ? "reduce sum" : "reduce max";
  Body body = k.body;
  body.stores.clear();
  use_body_args(part, body, info, wide);
  std::string& t = part.body;
  const std::string reduced = std::to_string(s.reduced), columns = std::to_string(s.columns), steps = std::to_string(step);
  Dims kept_dims(k.body.space.begin(), k.body.space.end() - k.reduced - (k.keep_last ? 1 : 0));
  Dims reduced_dims(k.body.space.end() - k.reduced - (k.keep_last ? 1 : 0), k.body.space.end() - (k.keep_last ? 1 : 0));
  PrintOptions o;
  o.width = wide ? 4 : 1;
  o.load = [&](const Load& l, const std::string& element, bool whole) { return load_text(part, info, l.arg, element, whole); };
  std::vector<std::string> kept_names, reduced_names;
  const int target = chunks > 1 ? static_cast<int>(info.size()) : store.arg;
  const std::int64_t target_elements =
      chunks > 1 ? s.kept * chunks * s.columns : info[static_cast<std::size_t>(store.arg)].elements;
  part.args.push_back({"out", target, true, false, wide && target_elements % 4 == 0, target_elements});

  // Stores the result of (kept row `row`, columns from `col` on).
  auto put = [&](const std::string& value) {
    std::vector<std::string> index = kept_names;
    if (k.keep_last) index.push_back("col");
    const std::string at = chunks > 1 ? "(row * " + std::to_string(chunks) + " + chunk) * " + columns + " + col"
                                      : affine(store.at.strides, store.at.offset, index);
    if (!wide) return "$out[" + at + "] = " + value + ";\n";
    if (part.args.back().vec4) return "$out[(" + at + ") / 4] = " + value + ";\n";
    std::string text;
    for (int i = 0; i < 4; ++i)
      text += "$out[" + at + " + " + std::to_string(i) + "] = " + value + "[" + std::to_string(i) + "];\n";
    return text;
  };
  const std::string value = "v" + std::to_string(store.value);
  if (alone) {
    const std::string all = std::to_string(s.kept * units);
    part.workgroup_size = 128;
    part.workgroups = ceil_div(s.kept * units, 128);
    t += "let e = i32(wg * 128u + lid);\nif (e < " + all + ") {\n";
    t += "let col = e % " + std::to_string(units) + " * " + steps + ";\nlet row = e / " + std::to_string(units) + ";\n";
    t += coordinates(kept_dims, "row", "k", 1, kept_names) + "var acc = " + identity + ";\n";
    t += "for (var r = 0; r < " + reduced + "; r++) {\n" + coordinates(reduced_dims, "r", "r", 1, reduced_names);
    o.index = kept_names;
    o.index.insert(o.index.end(), reduced_names.begin(), reduced_names.end());
    if (k.keep_last) o.index.push_back("col");
    t += print_code(body, o) + "acc = " + combine("acc", value) + ";\n}\n" + put("acc") + "}\n";
    result.parts.push_back(std::move(part));
    return result;
  }
  part.workgroup_size = static_cast<int>(column ? size : lanes);
  const std::int64_t column_groups = column ? ceil_div(units, width) : 1;
  part.workgroups = s.kept * chunks * column_groups;
  part.shared.push_back({"partials", type, part.workgroup_size});
  t += "let chunk = i32(wg) % " + std::to_string(chunks) + ";\nlet group = i32(wg) / " + std::to_string(chunks) + ";\n";
  t += "let row = group / " + std::to_string(column_groups) + ";\n";
  if (column) {
    t += "let col = ((group % " + std::to_string(column_groups) + ") * " + std::to_string(width) + " + i32(lid) % " +
         std::to_string(width) + ") * " + steps + ";\nlet lane = i32(lid) / " + std::to_string(width) + ";\n";
  } else {
    t += "let col = 0;\nlet lane = i32(lid);\n";
  }
  t += coordinates(kept_dims, "row", "k", 1, kept_names) + "var acc = " + identity + ";\n";
  const std::string end = chunks > 1 ? "min(" + reduced + ", (chunk + 1) * " + std::to_string(each) + ")" : reduced;
  const std::string start = chunks > 1 ? "chunk * " + std::to_string(each) + " + lane" : "lane";
  const bool ragged = column && units % width != 0;
  if (ragged) t += "if (col < " + columns + ") {\n";
  t += "for (var r = " + start + "; r < " + end + "; r += " + std::to_string(lanes) + ") {\n";
  t += coordinates(reduced_dims, "r", "r", 1, reduced_names);
  o.index = kept_names;
  o.index.insert(o.index.end(), reduced_names.begin(), reduced_names.end());
  if (k.keep_last) o.index.push_back("col");
  t += print_code(body, o) + "acc = " + combine("acc", value) + ";\n}\n";
  if (ragged) t += "}\n";
  t += "$partials[lid] = acc;\nworkgroupBarrier();\n";
  const std::string stride = std::to_string(column ? width : 1) + "u";
  for (std::int64_t half = lanes / 2; half >= 1; half /= 2) {
    const std::string other = "$partials[lid + " + std::to_string(half) + "u * " + stride + "]";
    t += "if (lane < " + std::to_string(half) + ") { $partials[lid] = " + combine("$partials[lid]", other) +
         "; }\nworkgroupBarrier();\n";
  }
  t += "if (lane == 0" + std::string(ragged ? " && col < " + columns : "") + ") {\n" + put("$partials[lid]") + "}\n";
  result.parts.push_back(std::move(part));
  if (chunks == 1) return result;

  // The chunks' results: (kept, chunks, columns) → the store's place.
  result.scratch.push_back({s.kept * chunks * s.columns});
  Kernel second;
  second.kind = KernelKind::kReduce;
  second.reduce = k.reduce;
  second.reduced = 1;
  second.keep_last = k.keep_last;
  second.body.space = kept_dims;
  second.body.space.push_back(chunks);
  if (k.keep_last) second.body.space.push_back(s.columns);
  second.body.loads = {{static_cast<int>(info.size()), {contiguous_strides(second.body.space), 0, {}}, false}};
  Instr load;
  load.kind = InstrKind::kLoad;
  load.index = 0;
  second.body.code = {load};
  second.body.stores = {{store.arg, 0, store.at}};
  std::vector<ArgInfo> more = info;
  more.push_back({s.kept * chunks * s.columns, false, -1});
  Parts rest = reduce_parts(second, more);
  for (Part& p : rest.parts) result.parts.push_back(std::move(p));
  for (Dims& d : rest.scratch) result.scratch.push_back(std::move(d));
  return result;
}

}  // namespace tabgrad::codegen
