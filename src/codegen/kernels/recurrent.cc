// Claimed LSTM and GRU over whole sequences: one launch forward, one backward for the steps, then products for the weights.
//
// A workgroup takes a few sequences of the batch from first step to last, so steps need no launch of their own: the state stays in
// workgroup memory. Small layers keep the recurrent weights in registers, a column (backward: a part of a row) an invocation;
// larger ones read them from memory at each step, for all sequences of the workgroup at once.
#include "codegen/emit.h"

namespace tabgrad::codegen {
namespace {

std::string num(std::int64_t n) { return std::to_string(n); }

class Emitter {
 public:
  Emitter(const Kernel& k, const std::vector<ArgInfo>& info, const Caps& caps) : info_(info), caps_(caps) {
    lstm_ = k.composite == Composite::kLstm;
    gates_ = lstm_ ? 4 : 3;
    t_ = k.arg_dims[0][0];
    b_ = k.arg_dims[0][1];
    h_ = k.arg_dims[1][0];
    columns_ = gates_ * h_;
    in_registers_ = columns_ <= caps.workgroup_size;
    threads_ = in_registers_ ? ceil_div(columns_, 32) * 32 : caps.workgroup_size;
    padded_ = ceil_div(h_, 4) * 4;
    parts_ = in_registers_ ? gates_ : h_ <= 128 ? 2 : 1;
    if (columns_ % parts_ != 0) parts_ = 1;
    group_ = 1;
    const std::int64_t floats = std::max(padded_ + columns_, columns_ + (parts_ + 1) * h_);
    while (!in_registers_ && group_ < 4 && group_ < b_ && (group_ + 1) * floats <= caps.workgroup_floats) ++group_;
    TG_CHECK(group_ * floats <= caps.workgroup_floats);
  }

  bool wants_transpose() const { return !in_registers_; }
  // wh (H, columns) → scratch `to` (columns, H).
  void transpose(int to, Parts& result, std::vector<ArgInfo>& info) const {
    Kernel k;
    k.kind = KernelKind::kMap;
    k.body.space = {columns_, h_};
    k.body.loads = {{0, {{1, columns_}, 0, {}}, false}};
    Instr load;
    load.kind = InstrKind::kLoad;
    load.index = 0;
    k.body.code = {load};
    k.body.stores = {{1, 0, {{h_, 1}, 0, {}}}};
    append({k, {1, to}}, result, info);
  }

  bool given(int arg) const { return info_[static_cast<std::size_t>(arg)].elements > 0; }

  // Arguments: xw, wh, [h0, c0 | bh, h0] → h, gates, [c | hn].
  Part forward() {
    Part p = start(lstm_ ? "lstm" : "gru");
    const int h0 = lstm_ ? 2 : 3;
    name_arg(p, info_, "xw", 0, false);
    name_arg(p, info_, "wh", 1, false);
    if (given(h0)) name_arg(p, info_, "h0", h0, false);
    if (lstm_ && given(3)) name_arg(p, info_, "c0", 3, false);
    if (!lstm_) name_arg(p, info_, "bh", 2, false);
    name_arg(p, info_, "h", 4, true);
    name_arg(p, info_, "gates", 5, true);
    name_arg(p, info_, lstm_ ? "c" : "hn", 6, true);
    p.shared = {{"state", "vec4f", group_ * padded_ / 4}, {"act", "f32", group_ * columns_}};
    std::string& s = p.body;
    const std::string pad = num(padded_);
    s += "for (var e = i32(lid); e < " + num(group_ * padded_) + "; e += " + num(threads_) + ") {\nvar v = 0.0;\n";
    if (given(h0))
      s += "if (first + e / " + pad + " < " + num(b_) + " && e % " + pad + " < " + num(h_) + ") { v = $h0[(first + e / " + pad +
           ") * " + num(h_) + " + e % " + pad + "]; }\n";
    s += "$state[e / 4][e % 4] = v;\n}\n";
    if (in_registers_) {
      s += "let column = min(i32(lid), " + num(columns_ - 1) + ");\n";
      for (std::int64_t i = 0; i < padded_ / 4; ++i) {
        s += "let w" + num(i) + " = vec4f(";
        for (std::int64_t j = 4 * i; j < 4 * i + 4; ++j)
          s += (j < h_ ? "$wh[" + num(j * columns_) + " + column]" : "0.0") + std::string(j % 4 < 3 ? ", " : ");\n");
      }
    }
    s += "workgroupBarrier();\nfor (var t = 0; t < " + num(t_) + "; t++) {\n";
    s += "for (var col = i32(lid); col < " + num(columns_) + "; col += " + num(threads_) + ") {\n";
    for (std::int64_t b = 0; b < group_; ++b) s += "var a" + num(b) + " = " + (lstm_ ? "0.0" : "$bh[col]") + ";\n";
    if (in_registers_) {
      for (std::int64_t i = 0; i < padded_ / 4; ++i) s += "a0 += dot(w" + num(i) + ", $state[" + num(i) + "]);\n";
    } else {
      s += "for (var i = 0; i < " + num(padded_ / 4) + "; i++) {\nlet w = vec4f(";
      for (int j = 0; j < 4; ++j)
        s += "$wh[min(i * 4 + " + num(j) + ", " + num(h_ - 1) + ") * " + num(columns_) + " + col]" + (j < 3 ? ", " : ");\n");
      for (std::int64_t b = 0; b < group_; ++b) s += "a" + num(b) + " += dot(w, $state[" + num(b * padded_ / 4) + " + i]);\n";
      s += "}\n";
    }
    for (std::int64_t b = 0; b < group_; ++b) {
      const std::string a = "a" + num(b), at = "((t * " + num(b_) + " + first + " + num(b) + ") * " + num(columns_) + " + col)";
      s += b > 0 ? "if (first + " + num(b) + " < " + num(b_) + ") {\n" : "{\n";
      if (lstm_) {
        s += "let x = $xw[" + at + "] + " + a + ";\nvar g = 0.0;\nif (col / " + num(h_) +
             " == 2) { g = tg_tanh(x); } else { g = tg_sigmoid(x); }\n$gates[" + at + "] = g;\n$act[" + num(b * columns_) +
             " + col] = g;\n";
      } else {
        s += "var g = " + a + ";\nif (col < " + num(2 * h_) + ") {\ng = tg_sigmoid($xw[" + at + "] + g);\n$gates[" + at +
             "] = g;\n}\n$act[" + num(b * columns_) + " + col] = g;\n";
      }
      s += "}\n";
    }
    s += "}\nworkgroupBarrier();\n";
    each_state(s);
    const std::string n = num(h_);
    if (lstm_) {
      s += "var c_before = " + std::string(given(3) ? "$c0[batch * " + n + " + k]" : "0.0") + ";\n";
      s += "if (t > 0) { c_before = $c[at - " + num(b_ * h_) + "]; }\n";
      s += "let c = $act[a + " + n + "] * c_before + $act[a] * $act[a + 2 * " + n + "];\nlet h = $act[a + 3 * " + n +
           "] * tg_tanh(c);\n$c[at] = c;\n";
    } else {
      s += "let hn = $act[a + 2 * " + n + "];\nlet g = (t * " + num(b_) + " + batch) * " + num(columns_) + " + 2 * " + n +
           " + k;\nlet candidate = tg_tanh($xw[g] + $act[a] * hn);\nlet before = $state[(e / " + n + " * " + pad +
           " + k) / 4][k % 4];\n" + "let h = candidate + $act[a + " + n +
           "] * (before - candidate);\n$gates[g] = candidate;\n$hn[at] = hn;\n";
    }
    s += "$h[at] = h;\n$state[(e / " + n + " * " + pad + " + k) / 4][k % 4] = h;\n}\n}\nworkgroupBarrier();\n}\n";
    return p;
  }

  // Arguments: the forward ones, then dh → dxw, dwh, [dh0, dc0 | dbh, dh0]. `da`: the GRU's gradients of h·wh + bh.
  // `wh`: of it, or where its rows are read from memory of its transpose, so that neighbours read neighbours.
  Part backward(int da, int wh) {
    Part p = start(lstm_ ? "lstm gradient" : "gru gradient");
    const int h0 = lstm_ ? 2 : 3, dh0 = lstm_ ? 10 : 11;
    p.args.push_back({"wh", wh, false, false, false, h_ * columns_});
    if (lstm_) {
      if (given(3)) name_arg(p, info_, "c0", 3, false);
    } else {
      if (given(h0)) name_arg(p, info_, "h0", h0, false);
      name_arg(p, info_, "h", 4, false);
      p.args.push_back({"da", da, true, false, false, da_floats()});
    }
    name_arg(p, info_, "gates", 5, false);
    name_arg(p, info_, lstm_ ? "c" : "hn", 6, false);
    name_arg(p, info_, "dh", 7, false);
    name_arg(p, info_, "dxw", 8, true);
    if (lstm_ && given(dh0)) name_arg(p, info_, "dh0", dh0, true);
    if (lstm_ && given(11)) name_arg(p, info_, "dc0", 11, true);
    p.shared = {{"act", "f32", group_ * columns_}, {"sums", "f32", group_ * parts_ * h_}, {"carry", "f32", group_ * h_}};
    std::string& s = p.body;
    const std::string n = num(h_);
    const std::int64_t each = columns_ / parts_;
    s += "for (var e = i32(lid); e < " + num(group_ * parts_ * h_) + "; e += " + num(threads_) + ") { $sums[e] = 0.0; }\n";
    s += "for (var e = i32(lid); e < " + num(group_ * h_) + "; e += " + num(threads_) + ") { $carry[e] = 0.0; }\n";
    if (in_registers_) {
      s += "let w_at = (i32(lid) % " + n + ") * " + num(columns_) + " + min(i32(lid) / " + n + ", " + num(parts_ - 1) + ") * " +
           num(each) + ";\n";
      for (std::int64_t j = 0; j < each; ++j) s += "let w" + num(j) + " = $wh[w_at + " + num(j) + "];\n";
    }
    s += "workgroupBarrier();\nfor (var t = " + num(t_ - 1) + "; t >= 0; t--) {\n";
    each_state(s);
    s += "var dh = $dh[at];\n";
    for (std::int64_t q = 0; q < parts_; ++q) s += "dh += $sums[" + num(q * group_ * h_) + " + e];\n";
    s += "let g = (t * " + num(b_) + " + batch) * " + num(columns_) + " + k;\n";
    if (lstm_) {
      s += "let gi = $gates[g];\nlet gf = $gates[g + " + n + "];\nlet gg = $gates[g + 2 * " + n +
           "];\nlet go = $gates[g + 3 * " + n + "];\n";
      s += "let th = tg_tanh($c[at]);\nvar c_before = " + std::string(given(3) ? "$c0[batch * " + n + " + k]" : "0.0") + ";\n";
      s += "if (t > 0) { c_before = $c[at - " + num(b_ * h_) + "]; }\n";
      s += "let dc = dh * go * (1.0 - th * th) + $carry[e];\n$carry[e] = dc * gf;\n";
      s += "let d0 = dc * gg * gi * (1.0 - gi);\nlet d1 = dc * c_before * gf * (1.0 - gf);\nlet d2 = dc * gi * (1.0 - gg * "
           "gg);\n" +
           std::string("let d3 = dh * th * go * (1.0 - go);\n");
    } else {
      s += "let r = $gates[g];\nlet z = $gates[g + " + n + "];\nlet candidate = $gates[g + 2 * " + n + "];\n";
      s += "var before = " + std::string(given(h0) ? "$h0[batch * " + n + " + k]" : "0.0") +
           ";\nif (t > 0) { before = $h[at - " + num(b_ * h_) + "]; }\n";
      s += "dh += $carry[e];\n$carry[e] = dh * z;\nlet dn = dh * (1.0 - z) * (1.0 - candidate * candidate);\n";
      s += "let d0 = dn * $hn[at] * r * (1.0 - r);\nlet d1 = dh * (before - candidate) * z * (1.0 - z);\nlet d2 = dn * r;\n";
    }
    for (std::int64_t q = 0; q < gates_; ++q) {
      const std::string to = num(q * h_), d = "d" + num(q);
      s += "$act[a + " + to + "] = " + d + ";\n$dxw[g + " + to + "] = " + (!lstm_ && q == 2 ? "dn" : d) + ";\n";
      if (!lstm_) s += "$da[g + " + to + "] = " + d + ";\n";
    }
    s += "}\n}\nworkgroupBarrier();\n";
    s += "for (var e = i32(lid); e < " + num(parts_ * h_) + "; e += " + num(threads_) + ") {\nlet k = e % " + n +
         ";\nlet part = e / " + n + ";\n";
    for (std::int64_t b = 0; b < group_; ++b) s += "var a" + num(b) + " = 0.0;\n";
    if (in_registers_) {
      for (std::int64_t j = 0; j < each; ++j) s += "a0 += w" + num(j) + " * $act[part * " + num(each) + " + " + num(j) + "];\n";
    } else {
      // Several rows a round, so that their loads are under way together: one after another they take all the time.
      std::int64_t rows = 16;
      while (each % rows != 0) rows /= 2;
      s += "for (var j = part * " + num(each) + "; j < (part + 1) * " + num(each) + "; j += " + num(rows) + ") {\n";
      for (std::int64_t r = 0; r < rows; ++r) s += "let w" + num(r) + " = $wh[(j + " + num(r) + ") * " + n + " + k];\n";
      for (std::int64_t b = 0; b < group_; ++b)
        for (std::int64_t r = 0; r < rows; ++r)
          s += "a" + num(b) + " += w" + num(r) + " * $act[" + num(b * columns_ + r) + " + j];\n";
      s += "}\n";
    }
    for (std::int64_t b = 0; b < group_; ++b)
      s += "$sums[part * " + num(group_ * h_) + " + " + num(b * h_) + " + k] = a" + num(b) + ";\n";
    s += "}\nworkgroupBarrier();\n}\n";
    if (given(dh0) || (lstm_ && given(11))) {
      s += "let t = 0;\n";
      each_state(s);
      if (given(dh0)) {
        s += "var dh = " + std::string(lstm_ ? "0.0" : "$carry[e]") + ";\n";
        for (std::int64_t q = 0; q < parts_; ++q) s += "dh += $sums[" + num(q * group_ * h_) + " + e];\n";
        s += (lstm_ ? "$dh0[" : "$da[" + num(sequence_floats()) + " + ") + std::string("batch * ") + n + " + k] = dh;\n";
      }
      if (lstm_ && given(11)) s += "$dc0[batch * " + n + " + k] = $carry[e];\n";
      s += "}\n}\n";
    }
    return p;
  }

  // dwh = Σ over steps of h(t−1)ᵀ·d(t), d being dxw, or da for the GRU. Of h0 first, if there is one: its product is added by the
  // epilogue of the rest.
  void weights(int d, Parts& result, std::vector<ArgInfo>& info) const {
    const int h0 = lstm_ ? 2 : 3;
    const bool begins = given(h0), more = t_ > 1;
    auto product = [&](int a, int b, int c, std::int64_t depth, std::int64_t b_offset) {
      Kernel k;
      k.kind = KernelKind::kContract;
      k.contract = {1, h_, columns_, depth, 0, 0, 1, h_, b_offset, 0, columns_, 1};
      return std::pair{k, std::vector<int>{a, b, c}};
    };
    auto load_of = [](int index) {
      Instr i;
      i.kind = InstrKind::kLoad;
      i.index = index;
      return i;
    };
    const FlatAccess dense{{columns_, 1}, 0, {}};
    if (!begins && !more) {  // no step before the first
      Kernel zero;
      zero.kind = KernelKind::kMap;
      zero.body.space = {h_ * columns_};
      zero.body.code = {Instr{}};
      zero.body.stores = {{0, 0, {{1}, 0, {}}}};
      append({zero, {9}}, result, info);
      return;
    }
    if (!more) {
      append(product(h0, d, 9, b_, 0), result, info);
      return;
    }
    auto rest = product(4, d, 9, (t_ - 1) * b_, b_ * columns_);
    if (begins) {
      const int first = static_cast<int>(info.size());
      result.scratch.push_back({h_ * columns_});
      info.push_back({h_ * columns_, false, -1});
      append(product(h0, d, first, b_, 0), result, info);
      Instr add;
      add.kind = InstrKind::kScalar;
      add.scalar = ScalarOp::kAdd;
      add.a = 0;
      add.b = 1;
      rest.first.body.space = {h_, columns_};
      rest.first.body.loads = {{2, dense, false}, {3, dense, false}};
      rest.first.body.code = {load_of(0), load_of(1), add};
      rest.first.body.stores = {{2, 2, dense}};
      rest.first.store_product = false;
      rest.second.push_back(first);
    }
    append(rest, result, info);
  }

  // dbh = Σ over steps and sequences of da.
  void bias(int da, Parts& result, std::vector<ArgInfo>& info) const {
    Kernel k;
    k.kind = KernelKind::kReduce;
    k.reduced = 1;
    k.keep_last = true;
    k.body.space = {t_ * b_, columns_};
    k.body.loads = {{0, {{columns_, 1}, 0, {}}, false}};
    Instr load;
    load.kind = InstrKind::kLoad;
    load.index = 0;
    k.body.code = {load};
    k.body.stores = {{1, 0, {{1}, 0, {}}}};
    append({k, {da, 10}}, result, info);
  }

  // Behind da lies dh0, on its way: a launch binds eight buffers at most, and the GRU's backward has that many without it.
  std::int64_t da_floats() const { return sequence_floats() + (given(11) ? b_ * h_ : 0); }
  void state(int da, Parts& result, std::vector<ArgInfo>& info) const {
    if (!given(11)) return;
    Kernel k;
    k.kind = KernelKind::kMap;
    k.body.space = {b_ * h_};
    k.body.loads = {{0, {{1}, sequence_floats(), {}}, false}};
    Instr load;
    load.kind = InstrKind::kLoad;
    load.index = 0;
    k.body.code = {load};
    k.body.stores = {{1, 0, {{1}, 0, {}}}};
    append({k, {da, 11}}, result, info);
  }

 private:
  std::int64_t sequence_floats() const { return t_ * b_ * columns_; }

  Part start(const char* name) const {
    Part p;
    p.name = name;
    p.workgroup_size = static_cast<int>(threads_);
    p.workgroups = ceil_div(b_, group_);
    p.body = "let first = i32(wg) * " + num(group_) + ";\n";
    return p;
  }

  // Opens a loop over the state's elements (sequence, k) of the workgroup: e, k, batch, at = (t, batch, k), a = its first gate.
  void each_state(std::string& s) const {
    s += "for (var e = i32(lid); e < " + num(group_ * h_) + "; e += " + num(threads_) + ") {\nlet k = e % " + num(h_) +
         ";\nlet batch = first + e / " + num(h_) + ";\nif (batch < " + num(b_) + ") {\nlet at = (t * " + num(b_) +
         " + batch) * " + num(h_) + " + k;\nlet a = e / " + num(h_) + " * " + num(columns_) + " + k;\n";
  }

  // The parts of a kernel whose arguments are these of ours.
  void append(const std::pair<Kernel, std::vector<int>>& call, Parts& result, std::vector<ArgInfo>& info) const {
    std::vector<ArgInfo> own;
    for (int a : call.second) own.push_back({info[static_cast<std::size_t>(a)].elements, false, -1});
    Parts parts = generate(call.first, own, {}, caps_);
    const int scratch = static_cast<int>(info.size());
    for (Part& p : parts.parts) {
      for (PartArg& a : p.args) {
        const auto at = static_cast<std::size_t>(a.arg);
        a.arg = at < own.size() ? call.second[at] : scratch + static_cast<int>(at - own.size());
      }
      result.parts.push_back(std::move(p));
    }
    for (Dims& d : parts.scratch) {
      info.push_back({num_elements(d), false, -1});
      result.scratch.push_back(std::move(d));
    }
  }

  const std::vector<ArgInfo>& info_;
  const Caps& caps_;
  bool lstm_, in_registers_;
  std::int64_t gates_, t_, b_, h_, columns_, threads_, padded_, parts_, group_;
};

}  // namespace

Parts recurrent_parts(const Kernel& k, const std::vector<ArgInfo>& info, const Caps& caps) {
  Emitter e(k, info, caps);
  if (!k.grad) return {{e.forward()}, {}};
  const bool lstm = k.composite == Composite::kLstm;
  Parts result;
  std::vector<ArgInfo> all = info;
  int d = 8;
  if (!lstm) {
    d = static_cast<int>(all.size());
    result.scratch.push_back({e.da_floats()});
    all.push_back({e.da_floats(), false, -1});
  }
  int wh = 1;
  if (e.wants_transpose()) {
    wh = static_cast<int>(all.size());
    result.scratch.push_back({info[1].elements});
    all.push_back({info[1].elements, false, -1});
    e.transpose(wh, result, all);
  }
  result.parts.push_back(e.backward(d, wh));
  e.weights(d, result, all);
  if (lstm) return result;
  e.bias(d, result, all);
  e.state(d, result, all);
  return result;
}

}  // namespace tabgrad::codegen
