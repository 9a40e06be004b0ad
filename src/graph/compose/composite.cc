// The rule table of composites: output shapes, differentiable inputs and where each decomposition lives.
#include "graph/compose/composite_rules.h"

namespace tabgrad {
namespace {

struct Rule {
  int outputs;
  std::vector<bool> differentiable;
  void (*infer)(const Graph&, Node&);
  std::vector<Tensor> (*decompose)(const Node&, const std::vector<Tensor>&);
};

void same_as(const Graph& g, Node& node, std::initializer_list<int> inputs) {
  node.outputs.clear();
  for (int i : inputs) node.outputs.push_back(g.type(node.inputs[static_cast<std::size_t>(i)]));
}

void need(const Graph& g, const Node& node, bool ok, const char* what) {
  if (ok) return;
  std::string shapes;
  for (Value v : node.inputs) shapes += " " + to_string(g.dims(v));
  fail("[", composite_name(node.composite), "]", node.name.empty() ? "" : " '" + node.name + "'", ":", shapes, ": needs ",
       what);
}

void infer_softmax(const Graph& g, Node& node) {
  need(g, node, g.dims(node.inputs[0]).size() == 2, "x (R,C)");
  same_as(g, node, {0});
}

void infer_norm(const Graph& g, Node& node) {
  const Dims& x = g.dims(node.inputs[0]);
  bool ok = x.size() == 2;
  for (std::size_t i = 1; ok && i < node.inputs.size(); ++i) ok = g.dims(node.inputs[i]) == Dims{x[1]};
  need(g, node, ok, "x (R,C) and gamma, beta (C)");
  const TensorType rows{{x[0]}, DType::kF32};
  same_as(g, node, {0});
  node.outputs.push_back(rows);
  if (node.composite == Composite::kLayerNorm) node.outputs.push_back(rows);
}

void infer_cross_entropy(const Graph& g, Node& node) {
  const Dims& x = g.dims(node.inputs[0]);
  need(g, node, x.size() == 2 && g.dims(node.inputs[1]) == Dims{x[0]}, "logits (R,C) and targets (R)");
  node.outputs.assign(2, {{x[0]}, DType::kF32});
}

void infer_attention(const Graph& g, Node& node) {
  const Dims& x = g.dims(node.inputs[0]);
  const std::int64_t h = node.attrs.heads, kv = node.attrs.kv_heads;
  need(g, node, x.size() == 3 && h > 0 && kv > 0 && h % kv == 0 && x[2] % (h + 2 * kv) == 0,
       "qkv (B,T,(H+2·KV)·D) with KV dividing H");
  const std::int64_t d = x[2] / (h + 2 * kv);
  node.outputs = {{{x[0], x[1], h * d}, DType::kF32}, {{x[0], h, x[1]}, DType::kF32}};
}

void infer_recurrent(const Graph& g, Node& node) {
  const bool lstm = node.composite == Composite::kLstm;
  const std::int64_t gates = lstm ? 4 : 3;
  const Dims& x = g.dims(node.inputs[0]);
  bool ok = x.size() == 3 && x[2] % gates == 0;
  const std::int64_t h = ok ? x[2] / gates : 0;
  ok = ok && g.dims(node.inputs[1]) == Dims{h, gates * h};
  const Dims state = ok ? Dims{x[1], h} : Dims{};
  ok = ok && g.dims(node.inputs[3]) == state && g.dims(node.inputs[2]) == (lstm ? state : Dims{3 * h});
  need(g, node, ok, lstm ? "xw (T,B,4H), wh (H,4H), h0 (B,H), c0 (B,H)" : "xw (T,B,3H), wh (H,3H), bh (3H), h0 (B,H)");
  const TensorType seq{{x[0], x[1], h}, DType::kF32};
  node.outputs = {seq, {x, DType::kF32}, seq};
}

void infer_scalar(const Graph&, Node& node) { node.outputs = {{{}, DType::kF32}}; }

void infer_sgd(const Graph& g, Node& node) {
  need(g, node, g.dims(node.inputs[0]) == g.dims(node.inputs[1]) && g.dims(node.inputs[0]) == g.dims(node.inputs[4]),
       "p, g, v of one shape");
  same_as(g, node, {0, 4});
}

void infer_adam(const Graph& g, Node& node) {
  const Dims& p = g.dims(node.inputs[0]);
  need(g, node, p == g.dims(node.inputs[1]) && p == g.dims(node.inputs[6]) && p == g.dims(node.inputs[7]),
       "p, g, m, v of one shape");
  same_as(g, node, {0, 6, 7});
}

const Rule& rule(Composite composite) {
  static const Rule softmax{1, {true}, infer_softmax, decompose_softmax};
  static const Rule layer_norm{3, {true, true, true}, infer_norm, decompose_norm};
  static const Rule rms_norm{2, {true, true}, infer_norm, decompose_norm};
  static const Rule cross_entropy{2, {true, false}, infer_cross_entropy, decompose_cross_entropy};
  static const Rule attention{2, {true}, infer_attention, decompose_attention};
  static const Rule lstm{3, {true, true, true, true}, infer_recurrent, decompose_lstm};
  static const Rule gru{3, {true, true, true, true}, infer_recurrent, decompose_gru};
  static const Rule sum_squares{1, {}, infer_scalar, decompose_sum_squares};
  static const Rule sgd{2, {}, infer_sgd, decompose_sgd};
  static const Rule adam{3, {}, infer_adam, decompose_adam};
  switch (composite) {
    case Composite::kSoftmax: return softmax;
    case Composite::kLayerNorm: return layer_norm;
    case Composite::kRmsNorm: return rms_norm;
    case Composite::kCrossEntropy: return cross_entropy;
    case Composite::kAttention: return attention;
    case Composite::kLstm: return lstm;
    case Composite::kGru: return gru;
    case Composite::kSumSquares: return sum_squares;
    case Composite::kSgd: return sgd;
    case Composite::kAdam: return adam;
  }
  TG_CHECK(false);
}

}  // namespace

int composite_outputs(Composite composite) { return rule(composite).outputs; }

std::vector<bool> composite_differentiable(Composite composite, std::size_t inputs) {
  const Rule& r = rule(composite);
  if (r.differentiable.empty()) fail("[", composite_name(composite), "] has no gradient");
  TG_CHECK(r.differentiable.size() == inputs);
  return r.differentiable;
}

void infer_composite(const Graph& graph, Node& node) {
  const Rule& r = rule(node.composite);
  if (!node.grad) {
    r.infer(graph, node);
    return;
  }
  node.outputs.clear();
  for (std::size_t i = 0; i < r.differentiable.size(); ++i)
    if (r.differentiable[i]) node.outputs.push_back(graph.type(node.inputs[i]));
}

std::vector<Tensor> decompose(Graph& g, const Node& node, const std::vector<Tensor>& inputs) {
  const Rule& r = rule(node.composite);
  const std::string scope = g.scope;
  g.scope = node.name;
  std::vector<Tensor> outputs;
  if (node.grad) {
    // Fresh handles, so that one value given as two inputs, or an input that depends on another, is told apart.
    std::vector<Tensor> forward, wrt;
    for (std::size_t i = 0; i < r.differentiable.size(); ++i) {
      Node alias;
      alias.op = Op::kReshape;
      alias.inputs = {inputs[i].value};
      alias.outputs = {g.type(inputs[i].value)};
      forward.push_back({&g, g.add(std::move(alias))});
      if (r.differentiable[i]) wrt.push_back(forward.back());
    }
    outputs = gradients(r.decompose(node, forward)[0], wrt, inputs.back());
  } else {
    outputs = r.decompose(node, inputs);
  }
  g.scope = scope;
  return outputs;
}

}  // namespace tabgrad
