// Claimed LSTM and GRU over whole sequences: one launch forward, one backward for the steps, then products for the weights.
//
// A workgroup takes a few sequences of the batch from first step to last, so steps need no launch of their own. In each step it
// multiplies its sequences' states (backward: the gates' gradients) by the recurrent weights (step_product.h), then each invocation
// finishes an element or two of the state. What a step reads from memory is requested before its product begins.
#include "codegen/kernels/step_product.h"

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
  }

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
    const StepProduct product(h_, columns_, b_, caps_);
    Part p = start(lstm_ ? "lstm" : "gru", product);
    const int h0 = lstm_ ? 2 : 3;
    name_arg(p, info_, "xw", 0, false);
    name_arg(p, info_, "w", 1, false, product.wide);
    if (given(h0)) name_arg(p, info_, "h0", h0, false);
    if (lstm_ && given(3)) name_arg(p, info_, "c0", 3, false);
    if (!lstm_) name_arg(p, info_, "bh", 2, false);
    name_arg(p, info_, "h", 4, true);
    name_arg(p, info_, "gates", 5, true);
    name_arg(p, info_, lstm_ ? "c" : "hn", 6, true);
    std::string& s = p.body;
    const std::string state = product.input("seq@", "k@");
    if (lstm_) {
      each(s, "var c@ = 0.0;\n" + (given(3) ? "if (live@) { c@ = $c0[batch@ * $H + k@]; }\n" : std::string()));
      if (given(h0)) each(s, "if (live@) { " + state + " = $h0[batch@ * $H + k@]; }\n");
    } else {
      each(s, "var h@ = 0.0;\n");
      if (given(h0)) each(s, "if (live@) { h@ = $h0[batch@ * $H + k@]; " + state + " = h@; }\n");
      for (int q = 0; q < 3; ++q) each(s, "let bias" + num(q) + "_@ = $bh[" + num(q) + " * $H + k@];\n");
    }
    product.begin(s);
    s += "workgroupBarrier();\nfor (var t = 0; t < $T; t++) {\n";
    std::string load;
    for (std::int64_t q = 0; q < gates_; ++q) {
      each(s, "var x" + num(q) + "_@ = 0.0;\n");
      load += "x" + num(q) + "_@ = $xw[g@ + " + num(q * h_) + "];\n";
    }
    each(s, "let row@ = t * $B + batch@;\nlet g@ = row@ * " + num(columns_) + " + k@;\nif (live@) {\n" + load + "}\n");
    product.step(s);
    s += "workgroupBarrier();\n";
    auto gate = [&](int q) { return "x" + num(q) + "_@ + (" + product.sum("seq@", num(q * h_) + " + k@") + ")"; };
    std::string finish;
    if (lstm_) {
      finish = "let gi = tg_sigmoid(" + gate(0) + ");\nlet gf = tg_sigmoid(" + gate(1) + ");\nlet gg = tg_tanh(" + gate(2) +
               ");\nlet go = tg_sigmoid(" + gate(3) + ");\nc@ = gf * c@ + gi * gg;\nlet h = go * tg_tanh(c@);\n" +
               "$gates[g@] = gi;\n$gates[g@ + $H] = gf;\n$gates[g@ + 2 * $H] = gg;\n$gates[g@ + 3 * $H] = go;\n" +
               "$c[row@ * $H + k@] = c@;\n$h[row@ * $H + k@] = h;\n" + state + " = h;\n";
    } else {
      finish = "let r = tg_sigmoid(bias0_@ + " + gate(0) + ");\nlet z = tg_sigmoid(bias1_@ + " + gate(1) +
               ");\nlet hn = bias2_@ + (" + product.sum("seq@", num(2 * h_) + " + k@") +
               ");\nlet candidate = tg_tanh(x2_@ + r * hn);\nh@ = candidate + z * (h@ - candidate);\n" +
               "$gates[g@] = r;\n$gates[g@ + $H] = z;\n$gates[g@ + 2 * $H] = candidate;\n$hn[row@ * $H + k@] = hn;\n" +
               "$h[row@ * $H + k@] = h@;\n" + state + " = h@;\n";
    }
    each(s, "if (live@) {\n" + finish + "}\n");
    s += "workgroupBarrier();\n}\n";
    return p;
  }

  // Arguments: the forward ones, then dh → dxw, dwh, [dh0, dc0 | dbh, dh0]. `da`: the GRU's gradients of h·wh + bh. `wh`: its
  // transpose.
  Part backward(int da, int wh) {
    const StepProduct product(columns_, h_, b_, caps_);
    Part p = start(lstm_ ? "lstm gradient" : "gru gradient", product);
    const int h0 = lstm_ ? 2 : 3, dh0 = lstm_ ? 10 : 11;
    p.args.push_back({"w", wh, false, false, product.wide, h_ * columns_});
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
    std::string& s = p.body;
    s += "for (var e = i32(lid); e < " + num(product.sequences * product.slices * product.units) +
         "; e += " + num(product.threads) + ") { $sums[e] = " + product.type() + "(0.0); }\n";
    // Of the step at hand: the gates, the gradient of h, the state before.
    const std::string before = lstm_ ? "$c" : "$h", start_state = lstm_ ? "$c0" : "$h0";
    each(s, "var carry@ = 0.0;\nvar dh@ = 0.0;\nvar before@ = 0.0;\nvar now@ = 0.0;\n");
    for (std::int64_t q = 0; q < gates_; ++q) each(s, "var x" + num(q) + "_@ = 0.0;\n");
    // The last step's numbers; later those of the step before, while the product is under way.
    std::string load = "let row = (@t) * $B + batch@;\nlet g = row * " + num(columns_) + " + k@;\n";
    for (std::int64_t q = 0; q < gates_; ++q) load += "x" + num(q) + "_@ = $gates[g + " + num(q * h_) + "];\n";
    load += "dh@ = $dh[row * $H + k@];\n";
    if (!lstm_) load += "now@ = $hn[row * $H + k@];\n";
    load += "before@ = " + std::string(given(lstm_ ? 3 : h0) ? start_state + "[batch@ * $H + k@]" : "0.0") + ";\n";
    load += "if (@t > 0) { before@ = " + before + "[(row - $B) * $H + k@]; }\n";
    const auto load_at = [&](const std::string& t) {
      std::string text = load;
      for (std::size_t at = text.find("@t"); at != std::string::npos; at = text.find("@t", at)) text.replace(at, 2, t);
      return text;
    };
    each(s, "if (live@) {\n" + load_at("$T - 1") + (lstm_ ? "now@ = $c[row * $H + k@];\n" : "") + "}\n");
    product.begin(s);
    s += "workgroupBarrier();\nfor (var t = $T - 1; t >= 0; t--) {\n";
    std::string finish =
        "let g = (t * $B + batch@) * " + num(columns_) + " + k@;\nlet dh = dh@ + (" + product.sum("seq@", "k@") + ")";
    if (lstm_) {
      finish +=
          ";\nlet th = tg_tanh(now@);\nlet dc = dh * x3_@ * (1.0 - th * th) + carry@;\ncarry@ = dc * x1_@;\n"
          "let d0 = dc * x2_@ * x0_@ * (1.0 - x0_@);\nlet d1 = dc * before@ * x1_@ * (1.0 - x1_@);\n"
          "let d2 = dc * x0_@ * (1.0 - x2_@ * x2_@);\nlet d3 = dh * th * x3_@ * (1.0 - x3_@);\nnow@ = before@;\n";
    } else {
      finish +=
          " + carry@;\ncarry@ = dh * x1_@;\nlet dn = dh * (1.0 - x1_@) * (1.0 - x2_@ * x2_@);\n"
          "let d0 = dn * now@ * x0_@ * (1.0 - x0_@);\nlet d1 = dh * (before@ - x2_@) * x1_@ * (1.0 - x1_@);\n"
          "let d2 = dn * x0_@;\n";
    }
    for (std::int64_t q = 0; q < gates_; ++q) {
      const std::string to = num(q * h_), d = "d" + num(q);
      finish += product.input("seq@", to + " + k@") + " = " + d + ";\n$dxw[g + " + to + "] = " + (!lstm_ && q == 2 ? "dn" : d) +
                ";\n";
      if (!lstm_) finish += "$da[g + " + to + "] = " + d + ";\n";
    }
    each(s, "if (live@) {\n" + finish + "}\n");
    s += "workgroupBarrier();\n";
    each(s, "if (live@ && t > 0) {\n" + load_at("t - 1") + "}\n");
    product.step(s);
    s += "workgroupBarrier();\n}\n";
    std::string last;
    if (given(dh0))
      last += (lstm_ ? "$dh0[" : "$da[" + num(sequence_floats()) + " + ") + std::string("batch@ * $H + k@] = ") +
              (lstm_ ? "" : "carry@ + ") + product.sum("seq@", "k@") + ";\n";
    if (lstm_ && given(11)) last += "$dc0[batch@ * $H + k@] = carry@;\n";
    if (!last.empty()) each(s, "if (live@) {\n" + last + "}\n");
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

  // The beginning of a part: constants, the state's elements (b, k) of each invocation, zeros for the product's inputs.
  Part start(const char* name, const StepProduct& product) {
    Part p;
    p.name = name;
    p.workgroups = ceil_div(b_, product.sequences);
    product.declare(p);
    p.declarations = "const $T = " + num(t_) + ";\nconst $B = " + num(b_) + ";\nconst $H = " + num(h_) + ";\n";
    elements_ = ceil_div(product.sequences * h_, product.threads);
    std::string& s = p.body;
    s += "for (var e = i32(lid); e < " + num(product.sequences * product.padded() / 4) + "; e += " + num(product.threads) +
         ") { $in[e] = vec4f(0.0); }\nworkgroupBarrier();\n";
    for (std::int64_t j = 0; j < elements_; ++j) s += "let e" + num(j) + " = i32(lid) + " + num(j * product.threads) + ";\n";
    each(s, "let seq@ = e@ / $H;\nlet k@ = e@ % $H;\nlet batch@ = i32(wg) * " + num(product.sequences) +
                " + seq@;\nlet live@ = seq@ < " + num(product.sequences) + " && batch@ < $B;\n");
    return p;
  }

  // The text once for each of an invocation's elements, with @ as its number.
  void each(std::string& s, const std::string& text) const {
    for (std::int64_t j = 0; j < elements_; ++j)
      for (char c : text) s += c == '@' ? num(j) : std::string(1, c);
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
  bool lstm_;
  std::int64_t gates_, t_, b_, h_, columns_, elements_ = 0;
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
  const int wh = static_cast<int>(all.size());
  result.scratch.push_back({info[1].elements});
  all.push_back({info[1].elements, false, -1});
  e.transpose(wh, result, all);
  result.parts.push_back(e.backward(d, wh));
  e.weights(d, result, all);
  if (lstm) return result;
  e.bias(d, result, all);
  e.state(d, result, all);
  return result;
}

}  // namespace tabgrad::codegen
