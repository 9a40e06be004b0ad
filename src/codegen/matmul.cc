// Contract: tiles in workgroup memory, a small tile of C in each invocation's registers, the k loop unrolled in text.
//
// Measured on an H200 through Dawn: unrolling k in text gives 12 %, loading the next tile into registers while this one is
// computed 11 %, and padding of the shared tiles nothing. Where C has few tiles and k is long, k is cut too (split-K):
// partial products go to scratch, and a second launch sums them and runs the epilogue.
#include <cmath>
#include <limits>

#include "codegen/emit.h"

namespace tabgrad::codegen {
namespace {

struct Tile {
  std::int64_t bm, bn, bk, tm, tn;
  std::int64_t threads() const { return bm / tm * (bn / tn); }
  std::int64_t shared_floats() const { return (bm + bn) * bk; }
};
// Within 16 KiB of workgroup memory. The largest are for products that fill a GPU; all others have as many invocations as most other
// kernels, with which they can share launches.
constexpr std::int64_t kSharedTile = 64 * 128;
constexpr Tile kTiles[] = {{128, 128, 16, 8, 16}, {128, 128, 16, 8, 8}, {64, 128, 16, 8, 8}, {128, 64, 16, 8, 8},
                           {64, 64, 16, 8, 4},    {64, 64, 32, 8, 4},   {64, 32, 32, 4, 4},  {32, 64, 32, 4, 4},
                           {64, 32, 16, 4, 4},    {32, 128, 16, 4, 8},  {128, 32, 16, 8, 4}};

struct Choice {
  Tile tile;
  std::int64_t split;
};

// A rough model of a GPU of kUnits units with four schedulers each, fitted to 552 products of the GPT presets' shapes on an H200: a
// step along k takes a lone workgroup kAlone clocks for each multiply-add of an invocation; several together take what their
// multiply-adds and loads from workgroup memory need. A split pays for its partial products, and for a second launch; where they are summed
// along with something else, which waits for it, twice for the partial products instead.
constexpr double kUnits = 132, kAlone = 2.66, kMultiply = 1.1, kLoad = 1.7, kStep = 58, kLaunchClocks = 3400,
                 kPartialClocks = 2.8e-3;
// Products that are summed along share their launch with others, which fill the GPU too: more parts would only cost memory.
constexpr std::int64_t kLeastDepthAlong = 128;

double clocks(const Contract& c, const Tile& t, std::int64_t split, bool along) {
  const std::int64_t tiles = c.batch * ceil_div(c.m, t.bm) * ceil_div(c.n, t.bn) * split;
  const auto steps = static_cast<double>(ceil_div(ceil_div(c.k, t.bk), split));
  const double warps = static_cast<double>(t.threads()) / 32;
  const double most_warps = t.tm * t.tn >= 128 ? 8 : t.tm * t.tn >= 64 ? 16 : t.tm * t.tn >= 32 ? 24 : 32;  // by registers
  const double resident =
      std::max(1.0, std::floor(std::min(13500.0 / static_cast<double>(t.shared_floats()), most_warps / warps)));
  const auto bk = static_cast<double>(t.bk), multiplies = static_cast<double>(t.tm * t.tn),
             loads = static_cast<double>(t.tm + t.tn);
  // One step of so many workgroups on one unit.
  const auto step = [&](double workgroups) {
    return std::max(kAlone * bk * multiplies, workgroups * warps * (bk * (kMultiply * multiplies + kLoad * loads) + kStep) / 4);
  };
  const double on_one = std::ceil(static_cast<double>(tiles) / kUnits), rounds = std::floor(on_one / resident);
  const double rest = on_one - rounds * resident;
  double total = steps * (rounds * step(resident) + (rest > 0 ? step(rest) : 0));
  const double partials = static_cast<double>(split * c.batch * c.m * c.n);
  if (split > 1) total += along ? 2 * kPartialClocks * partials : kLaunchClocks + kPartialClocks * partials;
  return total;
}

Choice choose(const Contract& c, const Caps& caps, bool summed_along) {
  Choice best{kTiles[0], 1};
  double least = std::numeric_limits<double>::infinity();
  for (const Tile& t : kTiles) {
    if (t.threads() > caps.workgroup_size || t.shared_floats() > caps.workgroup_floats) continue;
    if (t.bm * t.bn > kSharedTile && c.batch * ceil_div(c.m, t.bm) * ceil_div(c.n, t.bn) < kUnits) continue;
    for (const std::int64_t split : {1, 2, 3, 4, 6, 8, 12, 16, 24, 32}) {
      if (split > 1 && (ceil_div(c.k, t.bk) < 2 * split || (summed_along && c.k < kLeastDepthAlong * split))) break;
      const double cost = clocks(c, t, split, summed_along);
      if (cost >= least) continue;
      least = cost;
      best = {t, split};
    }
  }
  return best;
}

std::string num(std::int64_t n) { return std::to_string(n); }

// One operand: its extent along the tile (m or n), and its strides there and along k.
struct Operand {
  int arg;
  std::int64_t extent, stride, k_stride, offset, batch_stride;
  std::int64_t tile, bk;
  bool along_k;  // four neighbours are neighbours in k
  bool vec4;  // and can be loaded as one vector
};

Operand operand(int arg, std::int64_t extent, std::int64_t stride, std::int64_t k_stride, std::int64_t k, std::int64_t offset,
                std::int64_t batch_stride, std::int64_t tile, std::int64_t bk) {
  Operand o{arg, extent, stride, k_stride, offset, batch_stride, tile, bk, k_stride == 1 && stride != 1, false};
  const bool aligned = offset % 4 == 0 && batch_stride % 4 == 0;
  o.vec4 = aligned && (o.along_k ? k % 4 == 0 && stride % 4 == 0 : stride == 1 && extent % 4 == 0 && k_stride % 4 == 0);
  return o;
}

class Emitter {
 public:
  Emitter(const Kernel& k, const std::vector<ArgInfo>& info, const Choice& choice)
      : k_(k), c_(k.contract), info_(info), t_(choice.tile), split_(choice.split) {
    a_ = operand(0, c_.m, c_.a_m, c_.a_k, c_.k, c_.a_offset, c_.a_batch, t_.bm, t_.bk);
    b_ = operand(1, c_.n, c_.b_n, c_.b_k, c_.k, c_.b_offset, c_.b_batch, t_.bn, t_.bk);
  }

  Part run() {
    part_.name = "matmul " + num(t_.bm) + "×" + num(t_.bn) + (split_ > 1 ? " split " + num(split_) : "");
    part_.workgroup_size = static_cast<int>(t_.threads());
    const std::int64_t rows = ceil_div(c_.m, t_.bm), columns = ceil_div(c_.n, t_.bn);
    part_.workgroups = split_ * c_.batch * rows * columns;
    use_arg(part_, info_, 0, false, a_.vec4);
    use_arg(part_, info_, 1, false, b_.vec4);
    finish_function();
    loader(a_, "a");
    loader(b_, "b");
    part_.shared = {{"tile_a", "vec4f", t_.bm * t_.bk / 4}, {"tile_b", "vec4f", t_.bn * t_.bk / 4}};
    std::string& s = part_.body;
    s += "let tile_n = i32(wg) % " + num(columns) + " * " + num(t_.bn) + ";\nvar rest = i32(wg) / " + num(columns) + ";\n";
    s += "let tile_m = rest % " + num(rows) + " * " + num(t_.bm) + ";\nrest /= " + num(rows) + ";\n";
    s += "let batch = rest % " + num(c_.batch) + ";\nlet k_part = rest / " + num(c_.batch) + ";\n";
    const std::int64_t each = ceil_div(ceil_div(c_.k, t_.bk), split_) * t_.bk;
    s += "let k_begin = k_part * " + num(each) + ";\nlet k_end = min(" + num(c_.k) + ", k_begin + " + num(each) + ");\n";
    s += "let tx = i32(lid) % " + num(t_.bn / t_.tn) + ";\nlet ty = i32(lid) / " + num(t_.bn / t_.tn) + ";\n";
    for (std::int64_t i = 0; i < t_.tm; ++i)
      for (std::int64_t j = 0; j < t_.tn / 4; ++j) s += "var " + acc(i, j) + " = vec4f(0.0);\n";
    s += "let a_base = " + num(a_.offset) + " + batch * " + num(a_.batch_stride) + ";\nlet b_base = " + num(b_.offset) +
         " + batch * " + num(b_.batch_stride) + ";\n";
    s += prefetch(a_, "a", "k_begin", true) + prefetch(b_, "b", "k_begin", true);
    s += "for (var k0 = k_begin; k0 < k_end; k0 += " + num(t_.bk) + ") {\n";
    s += to_shared(a_, "a") + to_shared(b_, "b") + "workgroupBarrier();\n";
    s += prefetch(a_, "a", "k0 + " + num(t_.bk), false) + prefetch(b_, "b", "k0 + " + num(t_.bk), false);
    for (std::int64_t kk = 0; kk < t_.bk; ++kk) multiply(kk);
    s += "workgroupBarrier();\n}\n";
    for (std::int64_t i = 0; i < t_.tm; ++i)
      for (std::int64_t j = 0; j < t_.tn / 4; ++j)
        s += "$finish(batch, k_part, tile_m + (" + num(i / 4 * (t_.bm / t_.tm)) + " + ty) * 4 + " + num(i % 4) +
             ", tile_n + (" + num(j * (t_.bn / t_.tn)) + " + tx) * 4, " + acc(i, j) + ");\n";
    return std::move(part_);
  }

 private:
  static std::string acc(std::int64_t i, std::int64_t j) { return "c" + num(i) + "_" + num(j); }

  // Vectors of an operand's tile that each invocation loads.
  std::int64_t loads(const Operand& o) const { return ceil_div(o.tile * o.bk / 4, t_.threads()); }
  bool all_load(const Operand& o) const { return o.tile * o.bk / 4 % t_.threads() == 0; }
  // Local coordinates of load i: position along the tile and along k. Where four neighbours are neighbours in k, two invocations read
  // 32 bytes, a sector of memory, and the next two the next along the tile: stores into the tile, which turn it, then hardly meet in
  // one bank.
  std::string vector_number(std::int64_t i) const { return i == 0 ? "i32(lid)" : "(i32(lid) + " + num(i * t_.threads()) + ")"; }
  std::string along_tile(const Operand& o, std::int64_t i) const {
    return o.along_k ? vector_number(i) + " / 2 % " + num(o.tile) : vector_number(i) + " % " + num(o.tile / 4) + " * 4";
  }
  std::string along_k(const Operand& o, std::int64_t i) const {
    const std::string v = vector_number(i);
    return o.along_k ? "(" + v + " % 2 + " + v + " / " + num(2 * o.tile) + " * 2) * 4" : v + " / " + num(o.tile / 4);
  }

  // fn load_a(base, x, k): four neighbours from (x, k) on. Beyond the operand's edge the last ones are read again: their products
  // are never stored. Beyond k's end they are zeros.
  void loader(const Operand& o, const char* name) {
    std::string& d = part_.declarations;
    d += std::string("fn $load_") + name + "(base: i32, x: i32, k: i32) -> vec4f {\n";
    const bool ragged_k = c_.k % t_.bk != 0 || split_ > 1;
    const bool ragged_x = o.extent % o.tile != 0;
    const bool clamp_k = true;  // the prefetch after the last tile
    if (o.vec4) {
      const std::string x = ragged_x ? "min(x, " + num(o.along_k ? o.extent - 1 : o.extent - 4) + ")" : "x";
      const std::string k = clamp_k ? "min(k, " + num(o.along_k ? c_.k - 4 : c_.k - 1) + ")" : "k";
      const std::string element = "base + " + x + " * " + num(o.stride) + " + " + k + " * " + num(o.k_stride);
      const std::string value = load_text(part_, info_, o.arg, element, true);
      d += ragged_k ? "return select(vec4f(0.0), " + value + ", k < " + num(c_.k) + ");\n" : "return " + value + ";\n";
    } else {
      d += "var v = vec4f(0.0);\n";
      for (int i = 0; i < 4; ++i) {
        const std::string step = i ? " + " + num(i) : "";
        const std::string xi = "min(x" + (o.along_k ? "" : step) + ", " + num(o.extent - 1) + ")";
        const std::string ki = "k" + (o.along_k ? step : "");
        const std::string element =
            "base + " + xi + " * " + num(o.stride) + " + min(" + ki + ", " + num(c_.k - 1) + ") * " + num(o.k_stride);
        d += "v[" + num(i) + "] = select(0.0, " + load_text(part_, info_, o.arg, element, false) + ", " + ki + " < " +
             num(c_.k) + ");\n";
      }
      d += "return v;\n";
    }
    d += "}\n";
  }

  std::string prefetch(const Operand& o, const std::string& name, const std::string& k, bool declare) const {
    std::string text;
    for (std::int64_t i = 0; i < loads(o); ++i) {
      text += (declare ? "var r" : "r") + name + num(i) + " = $load_" + name + "(" + name + "_base, tile_" +
              (name == "a" ? "m" : "n") + " + " + along_tile(o, i) + ", " + k + " + " + along_k(o, i) + ");\n";
    }
    return text;
  }

  std::string to_shared(const Operand& o, const std::string& name) const {
    std::string text;
    for (std::int64_t i = 0; i < loads(o); ++i) {
      const std::string value = "r" + name + num(i), x = along_tile(o, i), k = along_k(o, i), row = num(o.tile / 4);
      std::string store;
      if (o.along_k) {
        for (int e = 0; e < 4; ++e)
          store += "$tile_" + name + "[(" + k + " + " + num(e) + ") * " + row + " + (" + x + ") / 4][(" + x +
                   ") % 4] = " + value + "[" + num(e) + "];\n";
      } else {
        store = "$tile_" + name + "[(" + k + ") * " + row + " + (" + x + ") / 4] = " + value + ";\n";
      }
      const bool partial = !all_load(o) && i + 1 == loads(o);
      text += partial ? "if (" + vector_number(i) + " < " + num(o.tile * o.bk / 4) + ") {\n" + store + "}\n" : store;
    }
    return text;
  }

  void multiply(std::int64_t kk) {
    std::string& s = part_.body;
    s += "{\n";
    for (std::int64_t i = 0; i < t_.tm / 4; ++i)
      s += "let a" + num(i) + " = $tile_a[" + num(kk * t_.bm / 4 + i * (t_.bm / t_.tm)) + " + ty];\n";
    for (std::int64_t j = 0; j < t_.tn / 4; ++j)
      s += "let b" + num(j) + " = $tile_b[" + num(kk * t_.bn / 4 + j * (t_.bn / t_.tn)) + " + tx];\n";
    for (std::int64_t i = 0; i < t_.tm; ++i)
      for (std::int64_t j = 0; j < t_.tn / 4; ++j)
        s += acc(i, j) + " += a" + num(i / 4) + "[" + num(i % 4) + "] * b" + num(j) + ";\n";
    s += "}\n";
  }

  // fn finish(batch, part, m, n, c): the place of four finished elements: scratch, or the epilogue's stores.
  void finish_function() {
    std::string& d = part_.declarations;
    const std::string guard = std::string(c_.m % t_.bm ? "if (m >= " + num(c_.m) + ") { return; }\n" : "");
    const std::string element = "(batch * " + num(c_.m) + " + m) * " + num(c_.n) + " + n";
    const Body& body = k_.body;
    const bool epilogue = !body.code.empty() && split_ == 1;
    const bool wide = c_.n % 4 == 0 && (!epilogue || widens(body));
    if (split_ > 1) {
      part_.args.push_back({"partial", static_cast<int>(info_.size()), true, false, wide, split_ * c_.batch * c_.m * c_.n});
    } else {
      if (k_.store_product) use_arg(part_, info_, 2, true, wide);
      if (epilogue) use_epilogue_args(part_, body, info_, 2, wide);
    }
    // The product's place is known only now that all arguments are.
    auto product = [&](const std::string& value) {
      if (split_ == 1) return k_.store_product ? store_text(part_, info_, 2, element, value, wide) : std::string();
      const std::string at = "part * " + num(c_.batch * c_.m * c_.n) + " + " + element;
      return wide ? "$partial[(" + at + ") / 4] = " + value + ";\n" : "$partial[" + at + "] = " + value + ";\n";
    };
    std::string code = product("c");
    if (epilogue)
      code +=
          "let row = batch * " + num(c_.m) + " + m;\n" + print_epilogue(part_, info_, body, 2, "c", "row", "n", wide ? 4 : 1);
    if (wide) {
      const std::string edge = c_.n % t_.bn ? "if (n >= " + num(c_.n) + ") { return; }\n" : "";
      d += "fn $finish(batch: i32, part: i32, m: i32, n: i32, c: vec4f) {\n" + guard + edge + code + "}\n";
      return;
    }
    d += "fn $finish_one(batch: i32, part: i32, m: i32, n: i32, c: f32) {\nif (n >= " + num(c_.n) + ") { return; }\n" + code +
         "}\n";
    d += "fn $finish(batch: i32, part: i32, m: i32, n: i32, c: vec4f) {\n" + guard;
    for (int i = 0; i < 4; ++i) d += "$finish_one(batch, part, m, n + " + num(i) + ", c[" + num(i) + "]);\n";
    d += "}\n";
  }

  const Kernel& k_;
  const Contract& c_;
  const std::vector<ArgInfo>& info_;
  const Tile t_;
  const std::int64_t split_;
  Operand a_{}, b_{};
  Part part_;
};

// Sums the partial products (split, rows·n) and runs the epilogue.
Part sum_part(const Kernel& k, const std::vector<ArgInfo>& info, std::int64_t split) {
  const Contract& c = k.contract;
  const std::int64_t n = c.batch * c.m * c.n;
  Body body = k.body;
  if (body.code.empty()) body.space = {c.batch * c.m, c.n};
  Part part;
  part.name = "sum of " + num(split);
  const bool wide = c.n % 4 == 0 && widens(body);
  const int width = wide ? 4 : 1;
  part.args.push_back({"partial", static_cast<int>(info.size()), false, false, wide, split * n});
  if (k.store_product) use_arg(part, info, 2, true, wide);
  use_epilogue_args(part, body, info, 2, wide);
  const std::int64_t threads = n / width;
  part.workgroup_size = 128;
  part.workgroups = ceil_div(threads, 128);
  std::string& s = part.body;
  s += "let e = i32(wg * 128u + lid);\n";
  if (threads % 128) s += "if (e < " + num(threads) + ") {\n";
  s += "var c = $partial[e];\n";
  for (std::int64_t i = 1; i < split; ++i) s += "c += $partial[e + " + num(i * threads) + "];\n";
  if (k.store_product) s += store_text(part, info, 2, wide ? "e * 4" : "e", "c", wide);
  PrintOptions o;
  o.width = width;
  if (!body.code.empty()) {
    s += coordinates(body.space, "e", "i", width, o.index);
    o.load = [&](const Load& l, const std::string& element, bool whole) {
      return load_text(part, info, l.arg, element, whole);
    };
    o.known = [](const Load& l) { return l.arg == 2 ? "c" : ""; };
    s += print_code(body, o) + print_stores(part, info, body, o);
  }
  if (threads % 128) s += "}\n";
  return part;
}

}  // namespace

Parts contract_parts(const Kernel& k, const std::vector<ArgInfo>& info, const Caps& caps, bool summed_along) {
  const Contract& c = k.contract;
  const Choice choice = choose(c, caps, summed_along);
  Parts result;
  result.parts.push_back(Emitter(k, info, choice).run());
  if (choice.split == 1) return result;
  result.scratch.push_back({choice.split * c.batch * c.m * c.n});
  result.parts.push_back(sum_part(k, info, choice.split));
  return result;
}

}  // namespace tabgrad::codegen
