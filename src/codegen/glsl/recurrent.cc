// LSTM and GRU over whole sequences: one or two passes a time step, whose texts all steps share (tg_index is the step), then products.
//
// A step draws its rows of textures of whole sequences (T,B,H): each gate has one, since a shader writes one texel of each of its
// outputs. What it reads of the step before must lie elsewhere, so a value that carries over alternates between two textures, by
// the parity of the step. Last passes put parities, and gates, together.
//
// The product with the recurrent weights costs most, by reading texels. A large one is drawn in a pass of its own for eight (or four)
// sequences of the batch at once into as many textures (of a batch in eight parts, part p into texture p), as in matmul.cc; a
// small one by the step's pass itself, which reads more and saves a launch.
//
// Invariant: the units are a multiple of 4 (Caps::recurrent_multiple), so steps begin at whole texels.
#include <functional>
#include <utility>

#include "codegen/glsl/fragment.h"

namespace tabgrad::codegen {
namespace {

using Outputs = std::vector<std::pair<int, std::string>>;  // argument and what is drawn into it

class Emitter {
 public:
  Emitter(const Kernel& k, const std::vector<ArgInfo>& info, const Caps& caps)
      : info_(info), caps_(caps), lstm_(k.composite == Composite::kLstm) {
    t_ = k.arg_dims[0][0];
    b_ = k.arg_dims[0][1];
    h_ = k.arg_dims[1][0];
    gates_ = lstm_ ? 4 : 3;
    columns_ = gates_ * h_;
    TG_CHECK(h_ % 4 == 0 && (lstm_ || k.attrs.reset_after));
  }

  Passes forward() {
    choose_rows(lstm_ ? 6 : 5, (1 + 4 * gates_) * multiply_adds() / (16 * gates_));
    if (rows_ > 1) parts_ = some(rows_, {b_ / rows_, columns_});
    const std::vector<int> h = pair_of_sequences(), c = lstm_ ? pair_of_sequences() : h;
    const std::vector<int> gates = some(gates_, {t_, b_, h_});
    for (std::int64_t t = 0; t < t_; ++t) {
      const std::size_t now = static_cast<std::size_t>(t % 2), past = 1 - now;
      const int h0 = lstm_ ? 2 : 3;
      const int h_before = t > 0 ? h[past] : given(h0) ? h0 : -1, c_before = t > 0 ? c[past] : given(3) ? 3 : -1;
      if (rows_ > 1 && h_before >= 0) product(t, h_before);
      Outputs outputs;
      for (std::int64_t q = 0; q < gates_; ++q) outputs.emplace_back(gates[static_cast<std::size_t>(q)], "g" + num(q));
      if (!lstm_) outputs.emplace_back(6, "hn");
      outputs.emplace_back(h[now], "h");
      if (lstm_) outputs.emplace_back(c[now], "c");
      step(lstm_ ? "lstm" : "gru", t, outputs, [&](Fragment& f) { state(f, t, h_before, c_before); });
      count_flops(h_before >= 0);
    }
    parities_together(h, 4);
    if (lstm_) parities_together(c, 6);
    gates_together(gates, 5);
    return std::move(result_);
  }

  Passes backward() {
    choose_rows(5, 5 * multiply_adds() / 16);
    if (rows_ > 1 && t_ > 1) parts_ = some(rows_, {b_ / rows_, h_});
    const std::vector<int> carried = pair_of_sequences();
    // By parity, then gate. Only a step's own product reads them while they are drawn.
    const std::vector<int> even = some(gates_, {t_, b_, h_});
    const std::vector<int> odd = rows_ == 1 && t_ > 1 ? some(gates_, {t_, b_, h_}) : even;
    const int candidate = lstm_ ? -1 : scratch({t_, b_, h_});
    for (std::int64_t t = t_ - 1; t >= 0; --t) {
      const std::vector<int>&d = t % 2 == 0 ? even : odd, &d_next = t % 2 == 0 ? odd : even;
      const int next = t + 1 < t_ ? carried[static_cast<std::size_t>((t + 1) % 2)] : -1;
      if (rows_ > 1 && next >= 0) product_gradient(t, d_next);
      Outputs outputs;
      for (std::int64_t q = 0; q < gates_; ++q) outputs.emplace_back(d[static_cast<std::size_t>(q)], "d" + num(q));
      if (!lstm_) outputs.emplace_back(candidate, "dn");
      outputs.emplace_back(carried[static_cast<std::size_t>(t % 2)], lstm_ ? "dc" : "dh");
      step(lstm_ ? "lstm gradient" : "gru gradient", t, outputs, [&](Fragment& f) { state_gradient(f, t, d_next, next); });
      count_flops(next >= 0);
    }
    const int d = lstm_ ? 8 : scratch({t_, b_, columns_});  // gradients of h·wh (+ bh)
    gates_together(even, odd, d);
    if (!lstm_) gates_together({even[0], even[1], candidate}, {odd[0], odd[1], candidate}, 8);
    weights(d);
    if (!lstm_) bias(d);
    first_states(d, carried[0]);
    return std::move(result_);
  }

 private:
  bool given(int arg) const { return info_[static_cast<std::size_t>(arg)].elements > 0; }
  int scratch(Dims dims) {
    info_.push_back({num_elements(dims), false, -1});
    result_.scratch.push_back(std::move(dims));
    return static_cast<int>(info_.size()) - 1;
  }
  std::vector<int> some(std::int64_t count, const Dims& dims) {
    std::vector<int> args;
    while (count-- > 0) args.push_back(scratch(dims));
    return args;
  }
  std::vector<int> pair_of_sequences() { return some(t_ > 1 ? 2 : 1, {t_, b_, h_}); }
  std::int64_t state_texels() const { return b_ * h_ / 4; }
  std::int64_t multiply_adds() const { return b_ * h_ * columns_; }  // of a step's product

  // The sequences that a pass of products draws at once, if a step has one; with the fewest reads, where `own` are those of a step
  // without.
  void choose_rows(std::int64_t outputs, std::int64_t own) {
    const std::int64_t passes = (outputs + caps_.max_outputs - 1) / caps_.max_outputs;
    std::int64_t fewest = passes * own;
    for (const std::int64_t rows : {8, 4}) {
      if (b_ % rows != 0 || rows > caps_.max_outputs) continue;
      const std::int64_t reads = multiply_adds() * (rows + 4) / (16 * rows) + passes * state_texels() * gates_ + kPassReads;
      if (reads >= fewest) continue;
      fewest = reads;
      rows_ = rows;
    }
  }
  void count_flops(bool has_product) {
    if (has_product && rows_ == 1) result_.passes.back().flops = 2.0 * static_cast<double>(multiply_adds());
  }

  // Draws the step's part of sequences of states: in as many passes as outputs are allowed, each with the whole body.
  void step(const std::string& name, std::int64_t t, const Outputs& outputs, const std::function<void(Fragment&)>& body) {
    for (std::size_t first = 0; first < outputs.size(); first += static_cast<std::size_t>(caps_.max_outputs)) {
      Fragment f(info_);
      f.uniform_flow = true;
      f.body =
          "int row = i / " + num(h_ / 4) + ", col = i % " + num(h_ / 4) + ", at = row * " + num(columns_ / 4) + " + col;\n";
      body(f);
      for (std::size_t o = first; o < outputs.size() && o < first + static_cast<std::size_t>(caps_.max_outputs); ++o)
        f.body += f.output(outputs[o].first) + " = " + outputs[o].second + ";\n";
      result_.passes.push_back(f.finish_part(name, static_cast<int>(t), state_texels()));
    }
  }

  // Statements for each of some arguments, under a test of which one `which` is.
  static std::string one_of(Fragment& f, const std::string& which, const std::vector<int>& args,
                            const std::function<std::string(int arg)>& statements) {
    const bool uniform_flow = std::exchange(f.uniform_flow, false);
    std::string text;
    for (std::size_t r = 0; r < args.size(); ++r)
      text += (r ? "else if (" : "if (") + which + " == " + num(static_cast<std::int64_t>(r)) + ") {\n" + statements(args[r]) +
              "}\n";
    f.uniform_flow = uniform_flow;
    return text;
  }

  // In a step's body: reads what a pass of products drew, at texel `at` of the row in its part, whose rows have so many.
  std::string of_parts(Fragment& f, std::int64_t texels, const std::function<std::string(int arg)>& statements) const {
    const std::string each = num(b_ / rows_);
    return "int batch = row - tg_index * " + num(b_) + ", part = batch / " + each + ", from = batch % " + each + " * " +
           num(texels) + " + col;\n" + one_of(f, "part", parts_, statements);
  }

  // g0 …: the gates, hn: the candidate's h·wh + bh; c, h.
  void state(Fragment& f, std::int64_t t, int h_before, int c_before) const {
    std::string& s = f.body;
    const std::int64_t units = h_ / 4;
    auto g = [](std::int64_t q) { return "g" + num(q); };
    auto x = [&](std::int64_t q) { return f.texel(0, "at + " + num(q * units)); };
    for (std::int64_t q = 0; q < gates_; ++q) {
      const std::string bias = lstm_ ? std::string() : f.texel(2, "col + " + num(q * units));
      s += "vec4 " + g(q) + " = " + (lstm_ ? x(q) : q == 2 ? bias : bias + " + " + x(q)) + ";\n";
    }
    if (h_before >= 0 && rows_ > 1) {
      s += of_parts(f, columns_ / 4, [&](int part) {
        std::string each;
        for (std::int64_t q = 0; q < gates_; ++q) each += g(q) + " += " + f.texel(part, "from + " + num(q * units)) + ";\n";
        return each;
      });
    } else if (h_before >= 0) {
      const std::string from = t > 0 ? "(row - " + num(b_) + ")" : "row";
      s += "for (int j = 0; j < " + num(units) + "; j++) {\nint w = j * " + num(columns_) +
           " + col;\nvec4 s = " + f.texel(h_before, from + " * " + num(units) + " + j") + ";\n";
      for (std::int64_t q = 0; q < gates_; ++q) {
        s += g(q) + " += ";
        for (int p = 0; p < 4; ++p)
          s += std::string("s.") + kLanes[p] + " * " + f.texel(1, "w + " + num(p * columns_ / 4 + q * units)) +
               (p < 3 ? " + " : ";\n");
      }
      s += "}\n";
    }
    const std::string before = texel_before(f, t, c_before, c_before);
    for (std::int64_t q = 0; q < gates_; ++q)
      if (q != 2) s += g(q) + " = tg_sigmoid(" + g(q) + ");\n";
    if (lstm_) {
      s += "g2 = tg_tanh(g2);\nvec4 c = g1 * " + before + " + g0 * g2, h = g3 * tg_tanh(c);\n";
    } else {
      s += "vec4 hn = g2;\ng2 = tg_tanh(" + x(2) + " + g0 * hn);\nvec4 h = g2 + g1 * (" + before + " - g2);\n";
    }
  }

  // Of sequences of states: the step before, or where the first step began, or zero.
  std::string texel_before(Fragment& f, std::int64_t t, int sequence, int first) const {
    if (t > 0) return f.texel(sequence, "i - " + num(state_texels()));
    return first >= 0 ? f.texel(first, "i") : "vec4(0.0)";
  }

  std::string sums(const char* name) const {
    std::string text = "vec4 ";
    for (std::int64_t r = 0; r < rows_; ++r) text += (r ? ", " : "") + (name + num(r)) + " = vec4(0.0)";
    return text + ";\n";
  }

  // h(t−1)·wh of sequences row, row + B/rows, …, into the parts.
  void product(std::int64_t t, int before) {
    Fragment f(info_);
    f.uniform_flow = true;
    std::string& s = f.body;
    const std::string row = num(columns_ / 4), units = num(h_ / 4);
    s = "int col = i % " + row + ", from = (" + (t > 0 ? "(tg_index - 1) * " + num(b_) + " + " : std::string()) + "i / " + row +
        ") * " + units + ";\n" + sums("r") + "for (int j = 0; j < " + units + "; j++) {\nint w = j * " + num(columns_) +
        " + col;\n";
    for (int q = 0; q < 4; ++q) s += "vec4 w" + num(q) + " = " + f.texel(1, "w + " + num(q * columns_ / 4)) + ";\n";
    for (std::int64_t r = 0; r < rows_; ++r) {
      const std::string state = "s" + num(r);
      s += "vec4 " + state + " = " + f.texel(before, "from + " + num(r * state_texels() / rows_) + " + j") + ";\nr" + num(r) +
           " += ";
      for (int q = 0; q < 4; ++q) s += state + "." + kLanes[q] + " * w" + num(q) + (q < 3 ? " + " : ";\n");
    }
    s += "}\n";
    finish_product(f, lstm_ ? "lstm product" : "gru product", t);
  }

  // d(t+1)·whᵀ, likewise.
  void product_gradient(std::int64_t t, const std::vector<int>& d) {
    Fragment f(info_);
    f.uniform_flow = true;
    std::string& s = f.body;
    const std::int64_t row = columns_ / 4, units = h_ / 4;
    s = "int w = i % " + num(units) + " * " + num(columns_) + ", from = ((tg_index + 1) * " + num(b_) + " + i / " + num(units) +
        ") * " + num(units) + ";\n" + sums("r");
    for (std::int64_t gate = 0; gate < gates_; ++gate) {
      s += "for (int j = 0; j < " + num(units) + "; j++) {\n";
      for (int q = 0; q < 4; ++q)
        s += "vec4 w" + num(q) + " = " + f.texel(1, "w + " + num(q * row + gate * units) + " + j") + ";\n";
      for (std::int64_t r = 0; r < rows_; ++r) {
        const std::string state = "s" + num(r);
        s += "vec4 " + state + " = " +
             f.texel(d[static_cast<std::size_t>(gate)], "from + " + num(r * state_texels() / rows_) + " + j") + ";\nr" +
             num(r) + " += vec4(";
        for (int q = 0; q < 4; ++q) s += "dot(" + state + ", w" + num(q) + (q < 3 ? "), " : "));\n");
      }
      s += "}\n";
    }
    finish_product(f, lstm_ ? "lstm product gradient" : "gru product gradient", t);
  }

  void finish_product(Fragment& f, const std::string& name, std::int64_t t) {
    for (std::int64_t r = 0; r < rows_; ++r) f.body += f.output(parts_[static_cast<std::size_t>(r)]) + " = r" + num(r) + ";\n";
    result_.passes.push_back(f.finish(name));
    result_.passes.back().index = static_cast<int>(t);
    result_.passes.back().flops = 2.0 * static_cast<double>(multiply_adds());
  }

  // d0 …: gradients of what the gates are of, of the candidate's h·wh + bh in d2, of its whole in dn. dh of the step is the loss's and
  // what comes back from the step after it. LSTM: dc is what carries over; GRU: dh.
  void state_gradient(Fragment& f, std::int64_t t, const std::vector<int>& d_next, int next) const {
    std::string& s = f.body;
    const std::int64_t units = h_ / 4;
    s += "vec4 dh = " + f.texel(7, "i") + ";\n";
    if (next >= 0 && rows_ > 1) {
      s += of_parts(f, units, [&](int part) { return "dh += " + f.texel(part, "from") + ";\n"; });
    } else if (next >= 0) {
      s += "int w = col * " + num(columns_) + ", from = (row + " + num(b_) + ") * " + num(units) + ";\nfor (int j = 0; j < " +
           num(units) + "; j++) {\n";
      for (std::int64_t gate = 0; gate < gates_; ++gate) {
        const std::string state = "s" + num(gate);
        s += "vec4 " + state + " = " + f.texel(d_next[static_cast<std::size_t>(gate)], "from + j") + ";\ndh += vec4(";
        for (int q = 0; q < 4; ++q)
          s += "dot(" + state + ", " + f.texel(1, "w + " + num(q * columns_ / 4 + gate * units) + " + j") +
               (q < 3 ? "), " : "));\n");
      }
      s += "}\n";
    }
    // What the step after it kept of this one: by its forget or update gate.
    const std::string kept =
        next < 0 ? "vec4(0.0)"
                 : f.texel(next, "i + " + num(state_texels())) + " * " + f.texel(5, "at + " + num(b_ * columns_ / 4 + units));
    for (std::int64_t q = 0; q < gates_; ++q) s += "vec4 g" + num(q) + " = " + f.texel(5, "at + " + num(q * units)) + ";\n";
    const std::string before = texel_before(f, t, lstm_ ? 6 : 4, given(3) ? 3 : -1);
    if (lstm_) {
      s += "vec4 th = tg_tanh(" + f.texel(6, "i") + "), dc = dh * g3 * (1.0 - th * th) + " + kept +
           ";\nvec4 d0 = dc * g2 * g0 * (1.0 - g0), d1 = dc * " + before +
           " * g1 * (1.0 - g1), d2 = dc * g0 * (1.0 - g2 * g2), d3 = dh * th * g3 * (1.0 - g3);\n";
    } else {
      s += "dh += " + kept + ";\nvec4 dn = dh * (1.0 - g1) * (1.0 - g2 * g2), d0 = dn * " + f.texel(6, "i") +
           " * g0 * (1.0 - g0), d1 = dh * (" + before + " - g2) * g1 * (1.0 - g1), d2 = dn * g0;\n";
    }
  }

  void parities_together(const std::vector<int>& pair, int to) {
    Fragment f(info_);
    const std::string parity = "(i / " + num(state_texels()) + ") % 2";
    f.body = "vec4 r = vec4(0.0);\n" + one_of(f, parity, pair, [&](int arg) { return "r = " + f.texel(arg, "i") + ";\n"; });
    f.body += f.output(to) + " = r;\n";
    result_.passes.push_back(f.finish("steps together"));
  }

  void gates_together(const std::vector<int>& gates, int to) { gates_together(gates, gates, to); }
  void gates_together(const std::vector<int>& even, const std::vector<int>& odd, int to) {
    Fragment f(info_);
    const std::string row = num(columns_ / 4), units = num(h_ / 4);
    f.body = "int row = i / " + row + ", gate = i % " + row + " / " + units + ", at = row * " + units + " + i % " + units +
             ";\nvec4 r = vec4(0.0);\n";
    auto read = [&](int arg) { return "r = " + f.texel(arg, "at") + ";\n"; };
    if (even == odd) {
      f.body += one_of(f, "gate", even, read);
    } else {
      f.body += "if (row / " + num(b_) + " % 2 == 0) {\n" + one_of(f, "gate", even, read) + "} else {\n" +
                one_of(f, "gate", odd, read) + "}\n";
    }
    f.body += f.output(to) + " = r;\n";
    result_.passes.push_back(f.finish("gates together"));
  }

  // Texel of gate q at (0, batch, k), for the texel i of (batch, k) in a state.
  std::string first_gate(Fragment& f, int arg, std::int64_t q) const {
    const std::string units = num(h_ / 4);
    return f.texel(arg, "i / " + units + " * " + num(columns_ / 4) + " + " + num(q * h_ / 4) + " + i % " + units);
  }

  // dwh = Σ over steps of h(t−1)ᵀ·d(t). Of h0 first, if there is one: its product is added by the epilogue of the rest.
  void weights(int d) {
    const int h0 = lstm_ ? 2 : 3;
    auto product = [&](std::int64_t depth, std::int64_t d_offset) {
      Kernel k;
      k.kind = KernelKind::kContract;
      k.contract = {1, h_, columns_, depth, 0, 0, 1, h_, d_offset, 0, columns_, 1};
      return k;
    };
    if (t_ == 1) {
      if (given(h0)) return append(product(b_, 0), {h0, d, 9});
      Kernel zero = copy_of({h_ * columns_}, {{1}, 0, {}});
      zero.body.loads.clear();
      zero.body.code = {Instr{}};
      zero.body.stores[0].arg = 0;
      return append(zero, {9});
    }
    Kernel rest = product((t_ - 1) * b_, b_ * columns_);
    if (!given(h0)) return append(rest, {4, d, 9});
    const int first = scratch({h_ * columns_});
    append(product(b_, 0), {h0, d, first});
    const FlatAccess dense{{columns_, 1}, 0, {}};
    const Kernel copy = copy_of({h_, columns_}, dense);
    rest.body = copy.body;
    rest.body.loads = {{2, dense, false}, {3, dense, false}};
    Instr second = copy.body.code[0], add;
    second.index = 1;
    add.kind = InstrKind::kScalar;
    add.a = 0;
    add.b = 1;
    rest.body.code.insert(rest.body.code.end(), {second, add});
    rest.body.stores = {{2, 2, dense}};
    rest.store_product = false;
    append(rest, {4, d, 9, first});
  }

  void bias(int da) {
    Kernel k = copy_of({t_ * b_, columns_}, {{columns_, 1}, 0, {}});
    k.kind = KernelKind::kReduce;
    k.reduced = 1;
    k.keep_last = true;
    k.body.stores[0].at = {{1}, 0, {}};
    append(k, {da, 10});
  }

  // dh0 = d(0)·whᵀ (GRU: + dh(0)·z(0)); dc0 = dc(0)·f(0).
  void first_states(int d, int carried) {
    const int dh0 = lstm_ ? 10 : 11;
    auto carries_over = [&] {
      Fragment f(info_);
      const std::string value = f.texel(carried, "i") + " * " + first_gate(f, 5, 1);
      f.body = f.output(11) + " = " + value;
      return f;
    };
    if (lstm_ && given(11)) {
      Fragment f = carries_over();
      f.body += ";\n";
      result_.passes.push_back(f.finish("lstm first state's gradient"));
    }
    if (!given(dh0)) return;
    const int to = lstm_ ? dh0 : scratch({b_, h_});
    Kernel k;
    k.kind = KernelKind::kContract;
    k.contract = {1, b_, h_, columns_, 0, 0, columns_, 1, 0, 0, 1, columns_};
    append(k, {d, 1, to});
    if (lstm_) return;
    Fragment f = carries_over();
    f.body += " + " + f.texel(to, "i") + ";\n";
    result_.passes.push_back(f.finish("gru first state's gradient"));
  }

  // The passes of a kernel whose arguments are these of ours.
  void append(const Kernel& k, const std::vector<int>& args) {
    std::vector<ArgInfo> own;
    for (int a : args) own.push_back({info_[static_cast<std::size_t>(a)].elements, false, -1});
    Passes more = draw(k, own, caps_);
    const int first = static_cast<int>(info_.size());
    for (Dims& d : more.scratch) scratch(std::move(d));
    for (Pass& p : more.passes) {
      for (int& a : p.args) {
        const auto at = static_cast<std::size_t>(a);
        a = at < args.size() ? args[at] : first + static_cast<int>(at - args.size());
      }
      result_.passes.push_back(std::move(p));
    }
  }

  std::vector<ArgInfo> info_;
  const Caps& caps_;
  bool lstm_;
  std::int64_t rows_ = 1;  // sequences drawn at once by passes of products; 1: there are none
  std::vector<int> parts_;  // that those draw
  std::int64_t t_, b_, h_, gates_, columns_;
  Passes result_;
};

}  // namespace

Passes recurrent_passes(const Kernel& k, const std::vector<ArgInfo>& info, const Caps& caps) {
  Emitter e(k, info, caps);
  return k.grad ? e.backward() : e.forward();
}

}  // namespace tabgrad::codegen
