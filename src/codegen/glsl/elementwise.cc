// Map, Reduce, Gather and SegmentSum.
#include <algorithm>

#include "codegen/glsl/fragment.h"

namespace tabgrad::codegen {
namespace {

std::int64_t ceil_div(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

// Results of fewer texels than this leave most of a GPU idle, so sums longer than kLongSum are then cut into chunks, which a
// second pass adds. As few of them as that pass, too, takes at once.
constexpr std::int64_t kFewTexels = 2048, kLongSum = 512, kChunkElements = 64, kMostChunks = 256;

}  // namespace

Passes map_passes(const Kernel& k, const std::vector<ArgInfo>& info) {
  const Body& body = k.body;
  const std::int64_t n = num_elements(body.space);
  Fragment f(info);
  for (const Store& s : body.stores)
    TG_CHECK(is_dense(s.at, body.space) && s.at.offset == 0 && info[static_cast<std::size_t>(s.arg)].elements == n);
  const bool wide = draws_by_fours(body);
  PrintOptions o = print_options(f, wide ? 4 : 1);
  if (wide) {
    f.uniform_flow = flows_alike(body);
    f.body += coordinates(body.space, "i", "i", 4, o.index, Language::kGlsl) + print_code(body, o);
    for (const Store& s : body.stores) f.body += f.output(s.arg) + " = v" + num(s.value) + ";\n";
    return {{f.finish("map")}, {}};
  }
  // One element at a time, through a function of the element.
  std::string parameters, results;
  for (std::size_t s = 0; s < body.stores.size(); ++s) {
    const std::string r = "r" + num(static_cast<std::int64_t>(s));
    parameters += ", out float " + r;
    results += r + " = v" + num(body.stores[s].value) + ";\n";
    f.body += "vec4 " + r + " = vec4(0.0);\n";
  }
  f.functions += "void at(int e" + parameters + ") {\n" + coordinates(body.space, "e", "i", 1, o.index, Language::kGlsl) +
                 print_code(body, o) + results + "}\n";
  for (int lane = 0; lane < 4; ++lane) {
    const std::string e = "4 * i + " + num(lane);
    if (n % 4 != 0) f.body += "if (" + e + " < " + num(n) + ") ";
    f.body += "at(" + e;
    for (std::size_t s = 0; s < body.stores.size(); ++s)
      f.body += ", r" + num(static_cast<std::int64_t>(s)) + "." + kLanes[lane];
    f.body += ");\n";
  }
  for (std::size_t s = 0; s < body.stores.size(); ++s)
    f.body += f.output(body.stores[s].arg) + " = r" + num(static_cast<std::int64_t>(s)) + ";\n";
  return {{f.finish("map by element")}, {}};
}

Passes reduce_passes(const Kernel& k, const std::vector<ArgInfo>& info) {
  const bool sum = k.reduce == ReduceOp::kSum;
  const Body& body = k.body;
  const Store& store = body.stores[0];
  const std::ptrdiff_t tail = k.keep_last ? 1 : 0;
  const Dims kept(body.space.begin(), body.space.end() - k.reduced - tail);
  const Dims reduced(body.space.end() - k.reduced - tail, body.space.end() - tail);
  const std::int64_t columns = k.keep_last ? body.space.back() : 1, rows = num_elements(kept), depth = num_elements(reduced);
  const bool wide = draws_by_fours(body) && body.space.back() % 4 == 0;
  const bool wide_columns = wide && k.keep_last, wide_rows = wide && !k.keep_last;
  const std::string type = wide ? "vec4" : "float";
  auto combined = [sum](const std::string& a, const std::string& b) {
    return sum ? a + " + " + b : "max(" + a + ", " + b + ")";
  };

  const std::int64_t texels = ceil_div(rows * columns, 4);
  std::int64_t chunks = 1;
  if (texels < kFewTexels && depth > kLongSum)
    chunks = std::clamp<std::int64_t>(std::min(depth / kChunkElements, kFewTexels / texels), 1, kMostChunks);
  const std::int64_t each = ceil_div(ceil_div(depth, chunks), 4) * 4;
  chunks = ceil_div(depth, each);
  Passes result;
  std::vector<ArgInfo> more = info;
  const int target = chunks > 1 ? static_cast<int>(info.size()) : store.arg;
  const std::int64_t outputs = rows * chunks * columns;
  if (chunks > 1) {
    result.scratch.push_back({outputs});
    more.push_back({outputs, false, -1});
  }
  TG_CHECK(more[static_cast<std::size_t>(target)].elements == outputs);

  // The chunks of a row lie between its columns: element (row, chunk, column).
  Fragment f(more);
  PrintOptions o = print_options(f, wide ? 4 : 1);
  std::vector<std::string> kept_names, reduced_names;
  std::string t = type + " of(int row, int chunk, int col) {\n" + coordinates(kept, "row", "k", 1, kept_names, Language::kGlsl);
  t += type + " acc = " + type + "(" + (sum ? "0.0" : number(-3.402823466e38f)) + ");\n";
  const std::string step = wide_rows ? "4" : "1";
  t += "for (int r = chunk * " + num(each) + "; r < min(" + num(depth) + ", (chunk + 1) * " + num(each) + "); r += " + step +
       ") {\n";
  t += coordinates(reduced, wide_rows ? "(r / 4)" : "r", "r", wide_rows ? 4 : 1, reduced_names, Language::kGlsl);
  o.index = kept_names;
  o.index.insert(o.index.end(), reduced_names.begin(), reduced_names.end());
  if (k.keep_last) o.index.push_back("col");
  t += print_code(body, o) + "acc = " + combined("acc", "v" + num(store.value)) + ";\n}\nreturn acc;\n}\n";
  f.functions = t;
  const std::string c = num(chunks), cols = num(columns);
  const std::string out = f.output(target);
  if (wide_columns) {
    const std::string fours = num(columns / 4);
    f.body = out + " = of(i / " + fours + " / " + c + ", i / " + fours + " % " + c + ", i % " + fours + " * 4);\n";
  } else {
    f.body = "vec4 r = vec4(0.0);\n";
    for (int lane = 0; lane < 4; ++lane) {
      f.body +=
          "{\nint e = 4 * i + " + num(lane) + ";\nif (e < " + num(outputs) + ") {\n" + type + " x = of(e / " + cols + " / " +
          c + ", e / " + cols + " % " + c + ", e % " + cols + ");\nr." + kLanes[lane] + " = " +
          (wide_rows ? combined("(" + combined("x.x", "x.y") + ")", "(" + combined("x.z", "x.w") + ")") : std::string("x")) +
          ";\n}\n}\n";
    }
    f.body += out + " = r;\n";
  }
  result.passes.push_back(f.finish(sum ? "reduce sum" : "reduce max"));
  if (chunks == 1) return result;

  Dims space{rows, chunks};
  if (k.keep_last) space.push_back(columns);
  Kernel second = copy_of(space, {contiguous_strides(space), 0, {}});
  second.kind = KernelKind::kReduce;
  second.reduce = k.reduce;
  second.reduced = 1;
  second.keep_last = k.keep_last;
  second.body.loads[0].arg = target;
  second.body.stores[0] = {store.arg, 0, {{}, 0, {}}};
  Passes rest = reduce_passes(second, more);
  result.passes.insert(result.passes.end(), rest.passes.begin(), rest.passes.end());
  result.scratch.insert(result.scratch.end(), rest.scratch.begin(), rest.scratch.end());
  return result;
}

Passes gather_passes(const Kernel& k, const std::vector<ArgInfo>& info) {
  const std::int64_t vocabulary = k.arg_dims[0][0], columns = k.arg_dims[0][1];
  Fragment f(info);
  const bool wide = columns % 4 == 0;
  const std::string n = num(wide ? columns / 4 : columns);
  auto value = [&](const std::string& e) {
    const std::string zero = wide ? "vec4(0.0)" : "0.0", at = "id * " + n + " + " + e + " % " + n;
    return "{\nfloat row = " + f.element(1, e + " / " + n) + ";\nbool known = row >= 0.0 && row < " + num(vocabulary) +
           ".0;\nint id = known ? int(row) : 0;\nr" + (wide ? "" : "[lane]") + " = known ? " +
           (wide ? f.texel(0, at) : f.element(0, at)) + " : " + zero + ";\n}\n";
  };
  f.body = "vec4 r = vec4(0.0);\n" +
           (wide ? value("i") : "for (int lane = 0; lane < 4; lane++) {\nint e = 4 * i + lane;\n" + value("e") + "}\n");
  f.body += f.output(2) + " = r;\n";
  return {{f.finish("gather")}, {}};
}

// Each row of the table looks through all ids, in order, so that the sum's order is fixed.
Passes segment_sum_passes(const Kernel& k, const std::vector<ArgInfo>& info) {
  const std::int64_t ids = k.arg_dims[0][0], columns = k.arg_dims[2][1];
  const bool wide = columns % 4 == 0;
  const std::string n = num(wide ? columns / 4 : columns);
  const std::string type = wide ? "vec4" : "float";
  Fragment f(info);
  std::string& t = f.functions;
  t = type + " of(int row, int col) {\n" + type + " sum = " + type + "(0.0);\nfor (int q = 0; q < " + num(ceil_div(ids, 4)) +
      "; q++) {\n";
  t += "bvec4 hit = equal(" + f.texel(0, "q") + ", vec4(float(row)));\nif (any(hit)) {\n";
  for (int lane = 0; lane < 4; ++lane) {
    const std::string at = "(4 * q + " + num(lane) + ") * " + n + " + col";
    t += std::string("if (hit.") + kLanes[lane] +
         (ids % 4 != 0 ? " && 4 * q + " + num(lane) + " < " + num(ids) : std::string()) +
         ") sum += " + (wide ? f.texel(1, at) : f.element(1, at)) + ";\n";
  }
  t += "}\n}\nreturn sum;\n}\n";
  if (wide) {
    f.body = f.output(2) + " = of(i / " + n + ", i % " + n + ");\n";
  } else {
    f.body = "vec4 r;\n";
    for (int lane = 0; lane < 4; ++lane)
      f.body += std::string("r.") + kLanes[lane] + " = of((4 * i + " + num(lane) + ") / " + n + ", (4 * i + " + num(lane) +
                ") % " + n + ");\n";
    f.body += f.output(2) + " = r;\n";
  }
  return {{f.finish("segment sum")}, {}};
}

}  // namespace tabgrad::codegen
