// Optimizers as graph updates, after PyTorch's definitions: SGD with momentum, Adam (Kingma & Ba 2015), AdamW (Loshchilov &
// Hutter 2019). The learning rate and the bias corrections are uniforms, so that no step bakes them in.
#include "graph/compose/composite_rules.h"

namespace tabgrad {

Tensor sum_squares(const std::vector<Tensor>& xs) { return add_composite(Composite::kSumSquares, xs); }

std::vector<std::string> optimizer_state_names(const OptimizerConfig& config, const std::string& parameter) {
  if (config.kind == OptimizerConfig::Kind::kSgd) return {parameter + ".v"};
  return {parameter + ".m", parameter + ".v"};
}

void optimizer_update(Tensor p, Tensor g, Tensor scale, const OptimizerConfig& config, double weight_decay) {
  Graph& graph = *p.graph;
  const std::string name = graph.node(p.value).name;
  std::vector<Tensor> states;
  for (const std::string& state : optimizer_state_names(config, name))
    states.push_back(input(graph, state, p.dims(), Role::kState));
  CompositeAttrs attrs;
  attrs.beta1 = static_cast<float>(config.beta1);
  attrs.beta2 = static_cast<float>(config.beta2);
  attrs.eps = static_cast<float>(config.eps);
  attrs.momentum = static_cast<float>(config.momentum);
  attrs.nesterov = config.nesterov;
  attrs.weight_decay = static_cast<float>(weight_decay);
  attrs.decoupled_decay = config.kind == OptimizerConfig::Kind::kAdamW;
  std::vector<Tensor> inputs{p, g, scale, uniform(graph, "lr")};
  Composite composite = Composite::kSgd;
  if (config.kind != OptimizerConfig::Kind::kSgd) {
    composite = Composite::kAdam;
    inputs.push_back(uniform(graph, "bias1"));
    inputs.push_back(uniform(graph, "bias2"));
  }
  inputs.insert(inputs.end(), states.begin(), states.end());
  const Tensor next = add_composite(composite, inputs, attrs);
  graph.updates.push_back({p.value, next.value});
  for (std::size_t i = 0; i < states.size(); ++i)
    graph.updates.push_back({states[i].value, {next.value.node, static_cast<int>(i) + 1}});
}

std::vector<Tensor> decompose_sum_squares(const Node&, const std::vector<Tensor>& in) {
  Tensor total;
  for (const Tensor& x : in) {
    Dims axes;
    for (int i = 0; i < x.rank(); ++i) axes.push_back(i);
    const Tensor s = sum(x * x, axes);
    total = total.graph ? total + s : s;
  }
  return {total};
}

std::vector<Tensor> decompose_sgd(const Node& node, const std::vector<Tensor>& in) {
  const CompositeAttrs& a = node.attrs;
  const Tensor p = in[0], lr = in[3];
  const Tensor g = in[1] * in[2] + p * static_cast<double>(a.weight_decay);
  if (a.momentum == 0) return {p - lr * g, in[4]};  // the state is not used, nor touched
  const Tensor v = in[4] * static_cast<double>(a.momentum) + g;
  const Tensor direction = a.nesterov ? g + v * static_cast<double>(a.momentum) : v;
  return {p - lr * direction, v};
}

std::vector<Tensor> decompose_adam(const Node& node, const std::vector<Tensor>& in) {
  const CompositeAttrs& a = node.attrs;
  const double b1 = static_cast<double>(a.beta1), b2 = static_cast<double>(a.beta2), wd = static_cast<double>(a.weight_decay);
  const Tensor lr = in[3], bias1 = in[4], bias2 = in[5];
  Tensor p = in[0], g = in[1] * in[2];
  if (a.decoupled_decay) {
    p = p - p * (lr * wd);
  } else {
    g = g + p * wd;
  }
  const Tensor m = in[6] * b1 + g * (1.0 - b1);
  const Tensor v = in[7] * b2 + g * g * (1.0 - b2);
  return {p - lr / bias1 * m / (sqrt(v) / sqrt(bias2) + static_cast<double>(a.eps)), m, v};
}

}  // namespace tabgrad
