// Constant folding, identities and common subexpressions, in one forward walk; then dead nodes go.
//
// Keeps every result the same but for rounding of folded constants (done in double). x·0 becomes 0 even where x could be
// infinite: such zeros come from gradients that do not flow.
#include <map>
#include <optional>

#include "graph/evaluate.h"
#include "graph/rewrite.h"
#include "plan/passes.h"

namespace tabgrad {
namespace {

// Two nodes with equal keys compute the same values.
std::string key_of(const Node& n) {
  std::string key;
  auto put = [&key](const auto& x) { key.append(reinterpret_cast<const char*>(&x), sizeof x); };
  auto put_dims = [&](const Dims& dims) {
    put(dims.size());
    for (std::int64_t d : dims) put(d);
  };
  put(n.op);
  put(n.scalar);
  put(n.composite);
  put(n.grad);
  put(n.attrs.heads);
  put(n.attrs.kv_heads);
  put(n.attrs.causal);
  put(n.attrs.scale);
  put(n.attrs.eps);
  put(n.attrs.reset_after);
  put(n.attrs.beta1);
  put(n.attrs.beta2);
  put(n.attrs.momentum);
  put(n.attrs.weight_decay);
  put(n.attrs.nesterov);
  put(n.attrs.decoupled_decay);
  put(n.value);
  put(n.stream);
  put(n.transpose_a);
  put(n.transpose_b);
  put(n.literal);
  put(n.again);
  put(n.role);
  if (n.op == Op::kInput || n.op == Op::kUniform) key += n.name;
  put_dims(n.axes);
  put_dims(n.starts);
  put_dims(n.steps);
  for (Value v : n.inputs) put(v);
  for (const TensorType& t : n.outputs) {
    put(t.dtype);
    put_dims(t.dims);
  }
  return key;
}

class Simplifier {
 public:
  explicit Simplifier(const Graph& from) : from_(from), copy_(from, to_) {}

  Graph run() {
    for (std::size_t i = 0; i < from_.nodes.size(); ++i) {
      Node node = from_.nodes[i];
      node.inputs = copy_.mapped_inputs(node);
      const std::size_t outputs = node.outputs.size();
      const Value first = place(std::move(node));
      std::vector<Value> values;
      for (std::size_t o = 0; o < outputs; ++o) values.push_back({first.node, first.out + static_cast<int>(o)});
      copy_.replace(static_cast<int>(i), std::move(values));
    }
    copy_.finish();
    return without_dead_nodes(to_);
  }

 private:
  // The value of `to_` that stands for this node (whose inputs are values of `to_`).
  Value place(Node node) {
    if (const std::optional<Value> known = identity(node)) return *known;
    const std::string key = key_of(node);
    const auto [at, fresh] = seen_.try_emplace(key, Value{});
    if (fresh) at->second = to_.add(std::move(node));
    return at->second;
  }

  const Node& in(const Node& node, std::size_t i) const { return to_.node(node.inputs[i]); }
  std::optional<double> const_value(Value v) const {
    const Node& n = to_.node(v);
    return n.op == Op::kConst ? std::optional<double>(n.value) : std::nullopt;
  }
  Value make_const(double value, const Dims& dims) {
    Node node;
    node.op = Op::kConst;
    node.value = value;
    node.outputs = {{dims, DType::kF32}};
    return place(std::move(node));
  }

  std::optional<Value> identity(const Node& node) {
    switch (node.op) {
      case Op::kReshape:
        if (node.again) return std::nullopt;
        if (to_.dims(node.inputs[0]) == node.outputs[0].dims) return node.inputs[0];
        if (in(node, 0).op == Op::kReshape && !in(node, 0).again) {
          Node direct = node;
          direct.inputs = in(node, 0).inputs;
          return place(std::move(direct));
        }
        return constant_view(node);
      case Op::kExpand:
      case Op::kPermute:
      case Op::kSlice: return constant_view(node);
      case Op::kReduceSum:
        if (const auto c = const_value(node.inputs[0])) {
          const Dims& out = node.outputs[0].dims;
          const std::int64_t n = num_elements(to_.dims(node.inputs[0])) / num_elements(out);
          return make_const(*c * static_cast<double>(n), out);
        }
        return reduction_of_ones(node);
      case Op::kReduceMax: return reduction_of_ones(node);
      case Op::kScalar: return scalar(node);
      default: return std::nullopt;
    }
  }

  std::optional<Value> constant_view(const Node& node) {
    if (const auto c = const_value(node.inputs[0])) return make_const(*c, node.outputs[0].dims);
    return std::nullopt;
  }

  // Only sizes of 1 are reduced: a reshape.
  std::optional<Value> reduction_of_ones(const Node& node) {
    for (std::int64_t axis : node.axes)
      if (to_.dims(node.inputs[0])[static_cast<std::size_t>(axis)] != 1) return std::nullopt;
    Node view;
    view.op = Op::kReshape;
    view.inputs = node.inputs;
    view.outputs = node.outputs;
    return place(std::move(view));
  }

  std::optional<Value> scalar(const Node& node) {
    std::vector<std::optional<double>> c;
    bool all = true;
    for (Value v : node.inputs) {
      c.push_back(const_value(v));
      all = all && c.back().has_value();
    }
    const Dims& dims = node.outputs[0].dims;
    if (all) {
      const double b = c.size() > 1 ? *c[1] : 0, third = c.size() > 2 ? *c[2] : 0;
      return make_const(scalar_value(node.scalar, *c[0], b, third), dims);
    }
    const bool left_zero = c[0] == 0.0, left_one = c[0] == 1.0;
    const bool right_zero = c.size() > 1 && c[1] == 0.0, right_one = c.size() > 1 && c[1] == 1.0;
    if (node.scalar == ScalarOp::kAdd && left_zero) return node.inputs[1];
    if ((node.scalar == ScalarOp::kAdd || node.scalar == ScalarOp::kSub) && right_zero) return node.inputs[0];
    if (node.scalar == ScalarOp::kMul && left_one) return node.inputs[1];
    if ((node.scalar == ScalarOp::kMul || node.scalar == ScalarOp::kDiv) && right_one) return node.inputs[0];
    if (node.scalar == ScalarOp::kMul && (left_zero || right_zero)) return make_const(0.0, dims);
    return std::nullopt;
  }

  const Graph& from_;
  Graph to_;
  GraphCopy copy_;
  std::map<std::string, Value> seen_;
};

}  // namespace

Graph simplify(const Graph& graph) { return Simplifier(graph).run(); }

}  // namespace tabgrad
