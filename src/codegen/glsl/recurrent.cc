// LSTM and GRU over whole sequences: two passes a time step, whose texts all steps share (tg_index is the step), then products.
//
// A step draws its rows of a texture of the whole sequence. What it reads of the step before must lie elsewhere, so a value that
// carries over alternates between two textures, by the parity of the step, and a last pass puts them together.
//
// The products with the recurrent weights cost most, by fetching texels. So, as in matmul.cc, they are drawn for four sequences of
// the batch at once into four textures (sequence b into b mod 4), from which the next pass picks.
//
// Invariant: the units are a multiple of 4 (Caps::recurrent_multiple), so steps begin at whole texels.
#include <functional>

#include "codegen/glsl/fragment.h"

namespace tabgrad::codegen {
namespace {

class Emitter {
 public:
  Emitter(const Kernel& k, const std::vector<ArgInfo>& info, const Caps& caps)
      : info_(info), caps_(caps), lstm_(k.composite == Composite::kLstm) {
    t_ = k.arg_dims[0][0];
    b_ = k.arg_dims[0][1];
    h_ = k.arg_dims[1][0];
    columns_ = (lstm_ ? 4 : 3) * h_;
    blocked_ = b_ % 4 == 0 && h_ >= 16 && caps.max_outputs >= 4;
    TG_CHECK(h_ % 4 == 0 && (lstm_ || k.attrs.reset_after));
  }

  Passes forward() {
    const int before = lstm_ ? 2 : 3;
    const std::vector<int> carried = pair_of({t_, b_, h_});
    const int act = lstm_ ? 5 : scratch({t_, b_, columns_});
    parts_ = blocked_ ? four({t_, b_ / 4, columns_}) : std::vector<int>{act};
    for (std::int64_t t = 0; t < t_; ++t) {
      const std::size_t now = static_cast<std::size_t>(t % 2), past = 1 - now;
      gates_step(t, t > 0 ? (lstm_ ? 4 : carried[past]) : given(before) ? before : -1);
      if (lstm_) {
        lstm_state_step(t, carried[now], t > 0 ? carried[past] : given(3) ? 3 : -1);
      } else {
        gru_state_step(t, carried[now], t > 0 ? carried[past] : given(3) ? 3 : -1);
      }
    }
    by_parity(carried, lstm_ ? 6 : 4);
    if (blocked_) unblock(act);
    if (!lstm_) gru_results(act);
    return std::move(result_);
  }

  Passes backward() {
    const std::vector<int> carried = pair_of({b_, h_});
    const int other = lstm_ ? scratch({b_, h_}) : scratch({t_, b_, columns_});
    const int d = lstm_ ? 8 : other;  // gradients of h·wh (+ bh)
    if (blocked_ && t_ > 1) parts_ = four({b_ / 4, h_});
    for (std::int64_t t = t_ - 1; t >= 0; --t) {
      const std::size_t now = static_cast<std::size_t>(t % 2), next = 1 - now;
      state_gradient(t, d, carried[now], t + 1 < t_ ? carried[next] : -1, other);
      if (lstm_) {
        lstm_gates_gradient(t, other, carried[now]);
      } else {
        gru_gates_gradient(t, other, carried[now]);
      }
    }
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
  std::vector<int> pair_of(const Dims& dims) {
    std::vector<int> pair{scratch(dims)};
    if (t_ > 1) pair.push_back(scratch(dims));
    return pair;
  }
  std::vector<int> four(const Dims& dims) {
    std::vector<int> parts;
    for (int r = 0; r < 4; ++r) parts.push_back(scratch(dims));
    return parts;
  }
  std::int64_t state_texels() const { return b_ * h_ / 4; }
  std::int64_t gate_texels() const { return b_ * columns_ / 4; }

  // Draws the step's part of sequences: in as many passes as outputs are allowed, each with the whole body.
  void step(const std::string& name, std::int64_t t, std::int64_t texels,
            const std::vector<std::pair<int, std::string>>& outputs, const std::function<void(Fragment&)>& body) {
    for (std::size_t first = 0; first < outputs.size(); first += static_cast<std::size_t>(caps_.max_outputs)) {
      Fragment f(info_);
      body(f);
      for (std::size_t o = first; o < outputs.size() && o < first + static_cast<std::size_t>(caps_.max_outputs); ++o)
        f.body += f.output(outputs[o].first) + " = " + outputs[o].second + ";\n";
      result_.passes.push_back(f.finish_part(name, static_cast<int>(t), texels));
    }
  }
  // Texel of gate q at (step, batch, k), for the texel `at` of (step, batch, k) in a sequence of states.
  std::string gate(Fragment& f, int arg, const std::string& at, std::int64_t q) const {
    const std::string units = num(h_ / 4);
    return f.texel(
        arg, "(" + at + ") / " + units + " * " + num(columns_ / 4) + " + " + num(q * h_ / 4) + " + (" + at + ") % " + units);
  }

  // Statements for each of what reads from the four parts, under a test of which one `part` is.
  std::string of_parts(const std::function<std::string(int part_arg)>& statements) const {
    if (!blocked_) return statements(parts_[0]);
    std::string text;
    for (std::size_t r = 0; r < 4; ++r)
      text += (r ? "else if (part == " : "if (part == ") + num(static_cast<std::int64_t>(r)) + ") {\n" + statements(parts_[r]) +
              "}\n";
    return text;
  }

  // gates = act(xw + h·wh), or of the GRU's candidate h·wh + bh alone.
  void gates_step(std::int64_t t, int before) {
    const std::int64_t rows = blocked_ ? 4 : 1;
    const std::string row = num(columns_ / 4), units = num(h_ / 4);
    auto body = [&](Fragment& f) {
      std::string& s = f.body;
      s += "int col = i % " + row + ", batch = i / " + row + " * " + num(rows) + " - tg_index * " + num(b_) + ";\n";
      for (std::int64_t r = 0; r < rows; ++r)
        s += "vec4 g" + num(r) + " = " + (lstm_ ? std::string("vec4(0.0)") : f.texel(2, "col")) + ";\n";
      if (before >= 0) {
        const std::string start = t > 0 ? "((tg_index - 1) * " + num(b_) + " + batch)" : "batch";
        s += "for (int j = 0; j < " + units + "; j++) {\nint w = j * " + num(columns_) + " + col;\n";
        for (int q = 0; q < 4; ++q) s += "vec4 w" + num(q) + " = " + f.texel(1, "w + " + num(q * columns_ / 4)) + ";\n";
        for (std::int64_t r = 0; r < rows; ++r) {
          const std::string state = "s" + num(r);
          s += "vec4 " + state + " = " + f.texel(before, start + " * " + units + " + " + num(r * h_ / 4) + " + j") + ";\ng" +
               num(r) + " += ";
          for (int q = 0; q < 4; ++q) s += state + "." + kLanes[q] + " * w" + num(q) + (q < 3 ? " + " : ";\n");
        }
        s += "}\n";
      }
      for (std::int64_t r = 0; r < rows; ++r) {
        const std::string g = "g" + num(r),
                          x = f.texel(0, "(tg_index * " + num(b_) + " + batch + " + num(r) + ") * " + row + " + col");
        const std::string first = num(2 * h_ / 4);
        if (lstm_) {
          s += g + " += " + x + ";\nif (col >= " + first + " && col < " + num(3 * h_ / 4) + ") { " + g + " = tg_tanh(" + g +
               "); } else { " + g + " = tg_sigmoid(" + g + "); }\n";
        } else {
          s += "if (col < " + first + ") { " + g + " = tg_sigmoid(" + g + " + " + x + "); }\n";
        }
      }
    };
    std::vector<std::pair<int, std::string>> outputs;
    for (std::int64_t r = 0; r < rows; ++r) outputs.emplace_back(parts_[static_cast<std::size_t>(r)], "g" + num(r));
    step(lstm_ ? "lstm gates" : "gru gates", t, gate_texels() / rows, outputs, body);
    if (before >= 0) result_.passes.back().flops = 2.0 * static_cast<double>(b_ * h_ * columns_);
  }

  // The gates as drawn by gates_step, of texel i of a sequence of states: g0, g1, …
  std::string gates_of_step(Fragment& f) const {
    const std::string units = num(h_ / 4), row = num(columns_ / 4);
    std::string text = "int row = i / " + units + ", part = row & 3, at = ";
    text += (blocked_ ? "(row >> 2)" : "row") + (" * " + row) + " + i % " + units + ";\nvec4 g0, g1, g2, g3;\n";
    return text + of_parts([&](int arg) {
             std::string each;
             for (std::int64_t q = 0; q < columns_ / h_; ++q)
               each += "g" + num(q) + " = " + f.texel(arg, "at + " + num(q * h_ / 4)) + ";\n";
             return each;
           });
  }

  // The four parts of a sequence of gates put together.
  void unblock(int to) {
    Fragment f(info_);
    const std::string row = num(columns_ / 4);
    f.body = "int row = i / " + row + ", part = row & 3, at = (row >> 2) * " + row + " + i % " + row + ";\nvec4 r;\n";
    f.body += of_parts([&](int arg) { return "r = " + f.texel(arg, "at") + ";\n"; });
    f.body += f.output(to) + " = r;\n";
    result_.passes.push_back(f.finish("sequences together"));
  }

  // The texel of the step before in a sequence of states, or of its beginning.
  std::string texel_before(Fragment& f, std::int64_t t, int before) const {
    if (before < 0) return "vec4(0.0)";
    return f.texel(before, t > 0 ? "i - " + num(state_texels()) : std::string("i"));
  }

  void lstm_state_step(std::int64_t t, int c, int before) {
    step("lstm state", t, state_texels(), {{4, "h"}, {c, "c"}}, [&](Fragment& f) {
      f.body += gates_of_step(f) + "vec4 c = g1 * " + texel_before(f, t, before) + " + g0 * g2;\nvec4 h = g3 * tg_tanh(c);\n";
    });
  }

  void gru_state_step(std::int64_t t, int h, int before) {
    step("gru state", t, state_texels(), {{h, "h"}}, [&](Fragment& f) {
      f.body += gates_of_step(f) + "vec4 candidate = tg_tanh(" + gate(f, 0, "i", 2) +
                " + g0 * g2);\nvec4 h = candidate + g1 * (" + texel_before(f, t, before) + " - candidate);\n";
    });
  }

  void by_parity(const std::vector<int>& parts, int to) {
    Fragment f(info_);
    if (parts.size() == 1) {
      const std::string even = f.texel(parts[0], "i");
      f.body = f.output(to) + " = " + even + ";\n";
    } else {
      f.body = "vec4 r;\nif ((i / " + num(state_texels()) + ") % 2 == 0) { r = " + f.texel(parts[0], "i") +
               "; } else { r = " + f.texel(parts[1], "i") + "; }\n" + f.output(to) + " = r;\n";
    }
    result_.passes.push_back(f.finish("steps together"));
  }

  // gates and hn, from the activations.
  void gru_results(int act) {
    Fragment f(info_);
    const std::string units = num(h_ / 4), row = num(columns_ / 4);
    const std::string a = f.texel(act, "i"), reset = f.texel(act, "i - " + num(2 * h_ / 4)), x = f.texel(0, "i");
    f.body = "vec4 g = " + a + ";\nif (i % " + row + " >= " + num(2 * h_ / 4) + ") { g = tg_tanh(" + x + " + " + reset +
             " * g); }\n" + f.output(5) + " = g;\n";
    result_.passes.push_back(f.finish("gru gates of all steps"));
    Fragment g(info_);
    const std::string hn = gate(g, act, "i", 2);
    g.body = g.output(6) + " = " + hn + ";\n";
    result_.passes.push_back(g.finish("gru candidates of all steps"));
  }

  // d(t+1)·whᵀ of four sequences at once, into the parts.
  void product_gradient(std::int64_t t, int d) {
    Fragment f(info_);
    std::string& s = f.body;
    const std::string row = num(columns_ / 4), units = num(h_ / 4);
    s = "int k = i % " + units + " * 4, from = ((tg_index + 1) * " + num(b_) + " + i / " + units + " * 4) * " + row +
        ";\nvec4 r0, r1, r2, r3;\n" + "r0 = r1 = r2 = r3 = vec4(0.0);\nfor (int j = 0; j < " + row + "; j++) {\n";
    for (int q = 0; q < 4; ++q) s += "vec4 w" + num(q) + " = " + f.texel(1, "(k + " + num(q) + ") * " + row + " + j") + ";\n";
    for (int r = 0; r < 4; ++r) {
      const std::string state = "s" + num(r);
      s += "vec4 " + state + " = " + f.texel(d, "from + " + num(r * columns_ / 4) + " + j") + ";\nr" + num(r) + " += vec4(";
      for (int q = 0; q < 4; ++q) s += "dot(" + state + ", w" + num(q) + (q < 3 ? "), " : "));\n");
    }
    s += "}\n";
    for (int r = 0; r < 4; ++r) s += f.output(parts_[static_cast<std::size_t>(r)]) + " = r" + num(r) + ";\n";
    result_.passes.push_back(f.finish(lstm_ ? "lstm product gradient" : "gru product gradient"));
    result_.passes.back().index = static_cast<int>(t);
    result_.passes.back().flops = 2.0 * static_cast<double>(b_ * h_ * columns_);
  }

  // dh of the step: the loss's, and what comes back from the step after it. LSTM: also dc, which is what carries over; dh then goes to
  // `other`. GRU: dh carries over.
  void state_gradient(std::int64_t t, int d, int carried, int carried_next, int other) {
    if (blocked_ && carried_next >= 0) product_gradient(t, d);
    auto body = [&](Fragment& f) {
      f.body += "int now = tg_index * " + num(state_texels()) + " + i, next = now + " + num(state_texels()) +
                ";\nvec4 dh = " + f.texel(7, "now") + ";\n";
      if (carried_next >= 0 && blocked_) {
        const std::string units = num(h_ / 4);
        f.body += "int part = i / " + units + " & 3, at = (i / " + units + " >> 2) * " + units + " + i % " + units + ";\n";
        f.body += of_parts([&](int arg) { return "dh += " + f.texel(arg, "at") + ";\n"; });
      } else if (carried_next >= 0) {
        const std::string row = num(columns_ / 4);
        f.body += "int k = i % " + num(h_ / 4) + " * 4, from = next / " + num(h_ / 4) + " * " + row +
                  ";\nfor (int j = 0; j < " + row + "; j++) {\nvec4 s = " + f.texel(d, "from + j") + ";\ndh += vec4(";
        for (int q = 0; q < 4; ++q)
          f.body += "dot(s, " + f.texel(1, "(k + " + num(q) + ") * " + row + " + j") + (q < 3 ? "), " : "));\n}\n");
      }
      if (lstm_) {
        f.body +=
            "vec4 th = tg_tanh(" + f.texel(6, "now") + ");\nvec4 dc = dh * " + gate(f, 5, "now", 3) + " * (1.0 - th * th)";
        f.body +=
            (carried_next >= 0 ? " + " + f.texel(carried_next, "i") + " * " + gate(f, 5, "next", 1) : std::string()) + ";\n";
      } else if (carried_next >= 0) {
        f.body += "dh += " + f.texel(carried_next, "i") + " * " + gate(f, 5, "next", 1) + ";\n";
      }
    };
    std::vector<std::pair<int, std::string>> outputs{{carried, lstm_ ? "dc" : "dh"}};
    if (lstm_) outputs.emplace_back(other, "dh");
    const std::size_t before = result_.passes.size();
    for (std::size_t first = 0; first < outputs.size(); first += static_cast<std::size_t>(caps_.max_outputs)) {
      Fragment f(info_);
      body(f);
      for (std::size_t o = first; o < outputs.size() && o < first + static_cast<std::size_t>(caps_.max_outputs); ++o)
        f.body += f.output(outputs[o].first) + " = " + outputs[o].second + ";\n";
      result_.passes.push_back(f.finish(lstm_ ? "lstm state gradient" : "gru state gradient"));
      result_.passes.back().index = static_cast<int>(t);
    }
    if (carried_next >= 0 && !blocked_) result_.passes[before].flops = 2.0 * static_cast<double>(b_ * h_ * columns_);
  }

  // Which gate the texel belongs to, its texel in a state of the step (`state`) and in a sequence of states (`now`).
  std::string gate_place() const {
    const std::string row = num(columns_ / 4), units = num(h_ / 4);
    return "int q = i % " + row + " / " + units + ", now = i / " + row + " * " + units + " + i % " + units +
           ", state = now - tg_index * " + num(state_texels()) + ";\n";
  }

  void lstm_gates_gradient(std::int64_t t, int dh, int dc) {
    step("lstm gradient", t, gate_texels(), {{8, "d"}}, [&](Fragment& f) {
      std::string before = "vec4(0.0)";
      if (t > 0)
        before = f.texel(6, "now - " + num(state_texels()));
      else if (given(3))
        before = f.texel(3, "state");
      f.body += gate_place() + "vec4 g = " + f.texel(5, "i") + ", d;\n";
      f.body += "if (q == 3) { d = " + f.texel(dh, "state") + " * tg_tanh(" + f.texel(6, "now") +
                ") * g * (1.0 - g); }\nelse {\nvec4 dc = " + f.texel(dc, "state") + ";\n";
      f.body += "if (q == 0) { d = dc * " + gate(f, 5, "now", 2) + " * g * (1.0 - g); }\nelse if (q == 1) { d = dc * " +
                before + " * g * (1.0 - g); }\nelse { d = dc * " + gate(f, 5, "now", 0) + " * (1.0 - g * g); }\n}\n";
    });
  }

  void gru_gates_gradient(std::int64_t t, int da, int dh) {
    step("gru gradient", t, gate_texels(), {{da, "d"}, {8, "dx"}}, [&](Fragment& f) {
      std::string before = "vec4(0.0)";
      if (t > 0)
        before = f.texel(4, "now - " + num(state_texels()));
      else if (given(3))
        before = f.texel(3, "state");
      f.body += gate_place() + "vec4 dh = " + f.texel(dh, "state") + ", r = " + gate(f, 5, "now", 0) +
                ", z = " + gate(f, 5, "now", 1) + ", candidate = " + gate(f, 5, "now", 2) + ";\nvec4 dx, d;\n";
      f.body += "if (q == 1) { dx = d = dh * (" + before +
                " - candidate) * z * (1.0 - z); }\nelse {\ndx = dh * (1.0 - z) * (1.0 - candidate * candidate);\n";
      f.body += "if (q == 0) { dx = d = dx * " + f.texel(6, "now") + " * r * (1.0 - r); } else { d = dx * r; }\n}\n";
    });
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
      const std::string value = f.texel(carried, "i") + " * " + gate(f, 5, "i", 1);
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
  bool blocked_;
  std::vector<int> parts_;  // of what is drawn for four sequences at once; of the rest, the whole
  std::int64_t t_, b_, h_, columns_;
  Passes result_;
};

}  // namespace

Passes recurrent_passes(const Kernel& k, const std::vector<ArgInfo>& info, const Caps& caps) {
  Emitter e(k, info, caps);
  return k.grad ? e.backward() : e.forward();
}

}  // namespace tabgrad::codegen
