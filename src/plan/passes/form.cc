// From a graph to kernels: which values are stored, and the kernel that makes each.
//
// Products, reductions, gathers and composites are always stored. Of the elementwise nodes, those are that somebody needs as a
// whole buffer, that an output needs, or that several kernels would otherwise compute again at a cost. A view is stored
// only where it cannot be followed by strides (BodyBuilder::blocked); then forming starts again, which happens rarely.
#include <algorithm>
#include <array>
#include <set>

#include "plan/lower.h"
#include "plan/passes.h"

namespace tabgrad {
namespace {

constexpr int kCheap = 2;  // elementwise cost up to which computing twice beats storing

bool is_heavy(Op op) {
  return op == Op::kReduceSum || op == Op::kReduceMax || op == Op::kMatmul || op == Op::kGather || op == Op::kSegmentSum ||
         op == Op::kComposite;
}
bool is_view(Op op) { return op == Op::kReshape || op == Op::kPermute || op == Op::kExpand || op == Op::kSlice; }

int own_cost(const Node& node) {
  if (node.op == Op::kRandom) return 20;
  if (node.op != Op::kScalar) return 0;
  switch (node.scalar) {
    case ScalarOp::kExp:
    case ScalarOp::kLog:
    case ScalarOp::kTanh:
    case ScalarOp::kSigmoid:
    case ScalarOp::kErf:
    case ScalarOp::kGelu:
    case ScalarOp::kGeluSlope:
    case ScalarOp::kSin:
    case ScalarOp::kCos: return 10;
    case ScalarOp::kSqrt:
    case ScalarOp::kRsqrt:
    case ScalarOp::kRecip:
    case ScalarOp::kDiv: return 3;
    default: return 1;
  }
}

bool is_optimizer(const Node& node) {
  return node.op == Op::kComposite && (node.composite == Composite::kSgd || node.composite == Composite::kAdam);
}

class Former {
 public:
  Former(const Graph& graph, const Caps& caps, std::vector<std::string>& uniforms)
      : graph_(graph), caps_(caps), uniforms_(uniforms), stored_(graph.nodes.size(), false) {}

  KernelPlan run() {
    for (std::size_t i = 0; i < graph_.nodes.size(); ++i) {
      const Node& node = graph_.nodes[i];
      stored_[i] = is_heavy(node.op) || (!caps_.fuse && (node.op == Op::kScalar || node.op == Op::kPad));
      if (node.op == Op::kReshape && node.again) store(node.inputs[0]);  // kept instead of what is computed from it
    }
    for (const Graph::Output& o : graph_.outputs) store(o.value);
    for (const Graph::Update& u : graph_.updates) store(u.value);
    limit_inputs();
    do {
      store_shared();
      plan_ = {};
      blocked_ = -1;
      form();
      if (blocked_ >= 0) stored_[static_cast<std::size_t>(blocked_)] = true;
    } while (blocked_ >= 0);
    plan_.graph = graph_;
    return std::move(plan_);
  }

 private:
  void store(Value v) {
    const Value base = base_of(graph_, v);
    if (graph_.node(base).op != Op::kInput) stored_[static_cast<std::size_t>(base.node)] = true;
  }

  bool loaded(int node) const {
    return stored_[static_cast<std::size_t>(node)] || graph_.nodes[static_cast<std::size_t>(node)].op == Op::kInput;
  }

  // Stores operands so that no expression reads more buffers than the target allows.
  void limit_inputs() {
    std::vector<int> leaves(graph_.nodes.size(), 0);
    for (std::size_t i = 0; i < graph_.nodes.size(); ++i) {
      const Node& node = graph_.nodes[i];
      auto count = [&](Value v) { return loaded(base_of(graph_, v).node) ? 1 : leaves[static_cast<std::size_t>(v.node)]; };
      auto total = [&] {
        int sum = 0;
        for (Value v : node.inputs) sum += count(v);
        return sum;
      };
      if (is_heavy(node.op) && node.op != Op::kReduceSum && node.op != Op::kReduceMax) continue;
      while (total() > caps_.max_inputs - 1) {
        const Value largest =
            *std::max_element(node.inputs.begin(), node.inputs.end(), [&](Value a, Value b) { return count(a) < count(b); });
        if (count(largest) <= 1) break;
        store(largest);
      }
      leaves[i] = total();
    }
  }

  // Walks backwards, collecting for each unstored node the kernels that would compute it.
  void store_shared() {
    const std::size_t n = graph_.nodes.size();
    std::vector<std::set<int>> roots(n);
    std::vector<int> cost(n, 0);
    std::vector<char> widened(n, 0);  // repeated by a broadcast on the way to a kernel
    for (std::size_t i = 0; i < n; ++i) {
      cost[i] = own_cost(graph_.nodes[i]);
      for (Value v : graph_.nodes[i].inputs)
        if (!loaded(v.node)) cost[i] += cost[static_cast<std::size_t>(v.node)];
    }
    for (std::size_t i = n; i-- > 0;) {
      const Node& node = graph_.nodes[i];
      const bool fusable = node.op == Op::kScalar || node.op == Op::kRandom || node.op == Op::kPad;
      const bool many = roots[i].size() > 1 || widened[i];
      if (!stored_[i] && fusable && many && cost[i] > kCheap) stored_[i] = true;
      for (Value v : node.inputs) {
        auto& below = roots[static_cast<std::size_t>(v.node)];
        if (stored_[i] || is_heavy(node.op)) {
          below.insert(static_cast<int>(i));
        } else {
          below.insert(roots[i].begin(), roots[i].end());
        }
        const bool widens = node.op == Op::kExpand && num_elements(node.outputs[0].dims) > num_elements(graph_.dims(v));
        if (widens || (is_view(node.op) && widened[i])) widened[static_cast<std::size_t>(v.node)] = 1;
        if (!stored_[i] && !is_heavy(node.op) && widened[i]) widened[static_cast<std::size_t>(v.node)] = 1;
      }
    }
  }

  void form() {
    std::vector<int> optimizers;
    for (std::size_t i = 0; i < graph_.nodes.size() && blocked_ < 0; ++i) {
      const Node& node = graph_.nodes[i];
      const int index = static_cast<int>(i);
      if (!stored_[i]) continue;
      switch (node.op) {
        case Op::kReduceSum:
        case Op::kReduceMax: reduction(index); break;
        case Op::kMatmul: product(index); break;
        case Op::kGather:
        case Op::kSegmentSum: whole(index, node.op == Op::kGather ? KernelKind::kGather : KernelKind::kSegmentSum); break;
        case Op::kComposite:
          if (is_optimizer(node)) {
            optimizers.push_back(index);
          } else {
            whole(index, KernelKind::kComposite);
          }
          break;
        default: map(index); break;
      }
    }
    // Last, since they write the parameters that the rest reads.
    while (!optimizers.empty() && blocked_ < 0) optimizer_group(optimizers);
    if (blocked_ < 0) final_copies();
  }

  void append(PlanKernel kernel, int node) {
    const Node& n = graph_.nodes[static_cast<std::size_t>(node)];
    kernel.label = n.name;
    plan_.kernels.push_back(std::move(kernel));
  }

  // The node in its own space, or, where a reshape below cannot be followed, in the space of what is reshaped.
  void map(int index) {
    const Value v{index, 0};
    const Dims& dims = graph_.dims(v);
    int blocked = -1;
    std::vector<Dims> spaces{dims};
    for (std::size_t s = 0; s < spaces.size() && s < 4; ++s) {
      const std::optional<Access> access = Access::identity(spaces[s]).reshape(spaces[s], dims);
      if (!access) continue;
      BodyBuilder builder(graph_, stored_, spaces[s], uniforms_);
      const int result = builder.value(v, *access, true);
      if (builder.blocked < 0) {
        PlanKernel k;
        k.kernel.kind = KernelKind::kMap;
        k.kernel.body = std::move(builder.body);
        k.args = std::move(builder.args);
        k.kernel.body.stores.push_back({static_cast<int>(k.args.size()), result, *flatten(*access, dims)});
        k.args.push_back(v);
        k.writes.assign(k.args.size(), false);
        k.writes.back() = true;
        append(std::move(k), index);
        return;
      }
      if (blocked < 0) blocked = builder.blocked;
      const Dims& other = graph_.nodes[static_cast<std::size_t>(builder.blocked)].outputs[0].dims;
      if (num_elements(other) == num_elements(dims) && std::find(spaces.begin(), spaces.end(), other) == spaces.end())
        spaces.push_back(other);
    }
    blocked_ = blocked;
  }

  void reduction(int index) {
    const Node& node = graph_.nodes[static_cast<std::size_t>(index)];
    const Value x = node.inputs[0];
    BodyBuilder builder(graph_, stored_, graph_.dims(x), uniforms_);
    const int result = builder.value(x, Access::identity(graph_.dims(x)));
    if (builder.blocked >= 0) {
      blocked_ = builder.blocked;
      return;
    }
    PlanKernel k;
    k.kernel.kind = KernelKind::kReduce;
    k.kernel.reduce = node.op == Op::kReduceSum ? ReduceOp::kSum : ReduceOp::kMax;
    k.kernel.reduced = static_cast<int>(node.axes.size());
    k.kernel.body = std::move(builder.body);
    k.args = std::move(builder.args);
    // Strides of the result over the whole space, 0 on what is reduced; collapse() makes it canonical.
    FlatAccess at;
    const Dims out_strides = contiguous_strides(node.outputs[0].dims);
    std::size_t kept = 0;
    for (std::size_t i = 0; i < graph_.dims(x).size(); ++i) {
      const bool reduced = std::find(node.axes.begin(), node.axes.end(), static_cast<std::int64_t>(i)) != node.axes.end();
      at.strides.push_back(reduced ? 0 : out_strides[kept++]);
    }
    k.kernel.body.stores.push_back({static_cast<int>(k.args.size()), result, at});
    k.args.push_back({index, 0});
    k.writes.assign(k.args.size(), false);
    k.writes.back() = true;
    k.kernel.arg_dims = {node.axes};  // for collapse(), which clears it
    append(std::move(k), index);
  }

  void product(int index) {
    const Node& node = graph_.nodes[static_cast<std::size_t>(index)];
    PlanKernel k;
    k.kernel.kind = KernelKind::kContract;
    Contract& c = k.kernel.contract;
    const Dims& out = node.outputs[0].dims;
    const bool batched = out.size() == 3;
    c.batch = batched ? out[0] : 1;
    c.m = out[out.size() - 2];
    c.n = out[out.size() - 1];
    c.k = graph_.dims(node.inputs[0])[out.size() - 1 - (node.transpose_a ? 1 : 0)];
    std::array<FlatAccess, 2> at;
    for (std::size_t i = 0; i < 2; ++i) {
      Value base;
      int blocked = -1;
      const Value operand = node.inputs[i];
      bool ok = follow_views(graph_, stored_, operand, base, at[i], blocked);
      if (ok) {
        const Dims& dims = graph_.dims(operand);
        const std::size_t r = dims.size();
        const Dims& s = at[i].strides;
        ok = s[r - 1] == 1 || s[r - 2] == 1 || dims[r - 1] == 1 || dims[r - 2] == 1;
        blocked = base_of(graph_, operand).node;
      }
      if (!ok) {
        blocked_ = blocked;
        return;
      }
      k.args.push_back(base);
    }
    const std::size_t row = batched ? 1 : 0;
    c.a_offset = at[0].offset;
    c.a_batch = batched ? at[0].strides[0] : 0;
    c.a_m = at[0].strides[row + (node.transpose_a ? 1 : 0)];
    c.a_k = at[0].strides[row + (node.transpose_a ? 0 : 1)];
    c.b_offset = at[1].offset;
    c.b_batch = batched ? at[1].strides[0] : 0;
    c.b_k = at[1].strides[row + (node.transpose_b ? 1 : 0)];
    c.b_n = at[1].strides[row + (node.transpose_b ? 0 : 1)];
    // A size of 1 walks nowhere: give it the stride that makes the operand plain.
    if (c.m == 1 && c.a_k != 1) c.a_m = 1;
    if (c.k == 1) c.a_k = c.a_m == 1 ? std::max<std::int64_t>(c.m, 1) : 1;
    if (c.n == 1 && c.b_k != 1) c.b_n = 1;
    if (c.k == 1) c.b_k = c.b_n == 1 ? std::max<std::int64_t>(c.n, 1) : 1;
    k.args.push_back({index, 0});
    k.writes = {false, false, true};
    k.flops = 2.0 * static_cast<double>(c.batch * c.m) * static_cast<double>(c.n * c.k);
    append(std::move(k), index);
  }

  // An argument as a whole dense buffer; false: it must be stored first.
  bool dense_arg(Value v, Value& base) {
    base = base_of(graph_, v);
    if (loaded(base.node)) return true;
    if (graph_.type(v).dtype == DType::kI32) fail("[ids] must be an input as it is, or reshaped: not a slice or a permutation");
    blocked_ = base.node;
    return false;
  }

  // States that are constant zero are passed as "none": the recurrent kernels start from zero by themselves.
  bool may_be_none(const Node& node, std::size_t input) const {
    if (node.op != Op::kComposite) return false;
    const bool state =
        (node.composite == Composite::kLstm && (input == 2 || input == 3)) || (node.composite == Composite::kGru && input == 3);
    if (!state) return false;
    const Node& source = graph_.node(node.inputs[input]);
    return source.op == Op::kConst && source.value == 0;
  }

  void whole(int index, KernelKind kind) {
    const Node& node = graph_.nodes[static_cast<std::size_t>(index)];
    PlanKernel k;
    k.kernel.kind = kind;
    k.kernel.composite = node.composite;
    k.kernel.grad = node.grad;
    k.kernel.attrs = node.attrs;
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      Value base;
      if (!may_be_none(node, i) && !dense_arg(node.inputs[i], base)) return;
      k.args.push_back(base);
      k.kernel.arg_dims.push_back(graph_.dims(node.inputs[i]));
    }
    k.writes.assign(k.args.size(), false);
    for (std::size_t o = 0; o < node.outputs.size(); ++o) {
      const Value out{index, static_cast<int>(o)};
      const bool state_gradient =
          node.grad && ((node.composite == Composite::kLstm && o >= 2) || (node.composite == Composite::kGru && o == 3));
      k.args.push_back(state_gradient && !used(out) ? Value{} : out);
      k.kernel.arg_dims.push_back(node.outputs[o].dims);
      k.writes.push_back(true);
    }
    k.flops = composite_flops(node);
    append(std::move(k), index);
  }

  bool used(Value v) const {
    for (const Node& n : graph_.nodes)
      if (std::find(n.inputs.begin(), n.inputs.end(), v) != n.inputs.end()) return true;
    for (const Graph::Output& o : graph_.outputs)
      if (o.value == v) return true;
    return std::any_of(graph_.updates.begin(), graph_.updates.end(), [&](const Graph::Update& u) { return u.value == v; });
  }

  double composite_flops(const Node& node) const {
    const double passes = node.grad ? 2 : 1;  // backward: one product for each operand's gradient
    if (node.composite == Composite::kAttention) {
      const Dims& x = graph_.dims(node.inputs[0]);
      const double t = static_cast<double>(x[1]), pairs = node.attrs.causal ? t * (t + 1) / 2 : t * t;
      const double d = static_cast<double>(x[2]) / (node.attrs.heads + 2 * node.attrs.kv_heads);
      return passes * 4.0 * static_cast<double>(x[0]) * node.attrs.heads * pairs * d;
    }
    if (node.composite == Composite::kLstm || node.composite == Composite::kGru) {
      const Dims& x = graph_.dims(node.inputs[0]);
      return passes * 2.0 * static_cast<double>(num_elements(x) * graph_.dims(node.inputs[1])[0]);
    }
    return 0;
  }

  // Takes the first optimizer node and all that go with it into one kernel.
  void optimizer_group(std::vector<int>& pending) {
    const Node& lead = graph_.nodes[static_cast<std::size_t>(pending[0])];
    const std::size_t first_state = lead.composite == Composite::kSgd ? 4 : 6;
    PlanKernel k;
    k.kernel.kind = KernelKind::kComposite;
    k.kernel.composite = lead.composite;
    k.kernel.attrs = lead.attrs;
    k.kernel.attrs.weight_decay = 0;
    auto add_arg = [&](Value v, bool written) {
      Value base;
      if (!dense_arg(v, base)) return;
      k.args.push_back(base);
      k.writes.push_back(written);
      k.kernel.arg_dims.push_back(graph_.dims(v));
    };
    add_arg(lead.inputs[2], false);
    std::vector<int> others;
    for (int index : pending) {
      const Node& node = graph_.nodes[static_cast<std::size_t>(index)];
      CompositeAttrs attrs = node.attrs;
      attrs.weight_decay = 0;
      bool same = node.composite == lead.composite && attrs == k.kernel.attrs;
      for (std::size_t i = 2; i < first_state; ++i) same = same && node.inputs[i] == lead.inputs[i];
      if (!same) {
        others.push_back(index);
        continue;
      }
      add_arg(node.inputs[0], true);
      add_arg(node.inputs[1], false);
      for (std::size_t i = first_state; i < node.inputs.size(); ++i) add_arg(node.inputs[i], true);
      if (blocked_ >= 0) return;
      k.kernel.weight_decay.push_back(node.attrs.weight_decay);
      plan_.in_place.push_back({{index, 0}, base_of(graph_, node.inputs[0])});
      for (std::size_t i = first_state; i < node.inputs.size(); ++i)
        plan_.in_place.push_back({{index, static_cast<int>(i - first_state) + 1}, base_of(graph_, node.inputs[i])});
    }
    for (std::size_t i = 3; i < first_state; ++i) {
      const Node& u = graph_.node(lead.inputs[i]);
      if (u.op != Op::kUniform) fail("[optimizer] lr, bias1 and bias2 must be uniforms");
      uniform_index(uniforms_, u.name);
    }
    append(std::move(k), pending[0]);
    plan_.kernels.back().label = "optimizer";
    pending = std::move(others);
  }

  void final_copies() {
    auto in_place = [&](Value v) {
      return std::any_of(plan_.in_place.begin(), plan_.in_place.end(), [&](const auto& p) { return p.first == v; });
    };
    std::set<std::pair<int, int>> bound;
    for (const Graph::Output& o : graph_.outputs) {
      const Value base = base_of(graph_, o.value);
      const bool own = graph_.node(base).op != Op::kInput && !in_place(base) && bound.insert({base.node, base.out}).second;
      plan_.copies.push_back({base, own ? base : Value{}, o.name});  // to == from: the value's own buffer is the output
    }
    for (const Graph::Update& u : graph_.updates) {
      const Value base = base_of(graph_, u.value);
      if (in_place(base)) continue;
      for (const Graph::Update& other : graph_.updates)
        if (other.target == base && !(other.target == u.target))
          fail("[update] '", graph_.node(u.target).name, "' takes the value of '", graph_.node(base).name,
               "', which changes in the same step: swap by computing, not by name");
      plan_.copies.push_back({base, u.target, ""});
    }
  }

  const Graph& graph_;
  const Caps& caps_;
  std::vector<std::string>& uniforms_;
  std::vector<bool> stored_;
  KernelPlan plan_;
  int blocked_ = -1;
};

}  // namespace

KernelPlan form_kernels(const Graph& graph, const Caps& caps, std::vector<std::string>& uniforms) {
  return Former(graph, caps, uniforms).run();
}

}  // namespace tabgrad
