// Optimizers as graph updates, after PyTorch's definitions: SGD with momentum, Adam (Kingma & Ba 2015), AdamW (Loshchilov &
// Hutter 2019). The learning rate and the bias corrections are uniforms, so that no step bakes them in.
#include <algorithm>
#include <cmath>

#include "graph/compose/composite_rules.h"

namespace tabgrad {

Tensor sum_squares(const std::vector<Tensor>& xs) { return add_composite(Composite::kSumSquares, xs); }

namespace {

// SGD and Adam are composites, so that a target may claim them for all parameters in one launch.
void composite_update(Tensor p, Tensor g, Tensor scale, const OptimizerConfig& config, double weight_decay) {
  Graph& graph = *p.graph;
  const std::string name = graph.node(p.value).name;
  const bool sgd = config.kind == OptimizerConfig::Kind::kSgd;
  std::vector<Tensor> states;
  for (const char* suffix : sgd ? std::vector<const char*>{".v"} : std::vector<const char*>{".m", ".v"})
    states.push_back(input(graph, name + suffix, p.dims(), Role::kState));
  CompositeAttrs attrs;
  attrs.beta1 = static_cast<float>(config.beta1);
  attrs.beta2 = static_cast<float>(config.beta2);
  attrs.eps = static_cast<float>(config.eps);
  attrs.momentum = static_cast<float>(config.momentum);
  attrs.nesterov = config.nesterov;
  attrs.weight_decay = static_cast<float>(weight_decay);
  attrs.decoupled_decay = config.kind != OptimizerConfig::Kind::kAdam;
  std::vector<Tensor> inputs{p, g, scale, uniform(graph, "lr")};
  Composite composite = Composite::kSgd;
  if (!sgd) {
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

// p ← p − lr·(direction + wd·p): decay decoupled from the gradient.
void step(Tensor p, Tensor direction, double weight_decay) {
  const Tensor lr = uniform(*p.graph, "lr");
  p.graph->updates.push_back({p.value, (p - lr * (direction + p * weight_decay)).value});
}

// Chen et al., "Symbolic discovery of optimization algorithms", 2023, algorithm 2.
void lion_update(Tensor p, Tensor g, const OptimizerConfig& c, double weight_decay) {
  Graph& graph = *p.graph;
  const Tensor m = input(graph, graph.node(p.value).name + ".m", p.dims(), Role::kState);
  const Tensor mixed = m * c.beta1 + g * (1.0 - c.beta1), zero = constant(graph, 0.0);
  step(p, less(zero, mixed) - less(mixed, zero), weight_decay);
  graph.updates.push_back({m.value, (m * c.beta2 + g * (1.0 - c.beta2)).value});
}

// Nearly the orthogonal factor of x (m,n): all singular values between 0.7 and 1.2, after five steps of a quintic Newton-Schulz
// iteration with Jordan's coefficients (Jordan et al., "Muon", 2024).
Tensor orthogonalised(Tensor x) {
  constexpr double a = 3.4445, b = -4.7750, c = 2.0315;
  constexpr int kIterations = 5;
  const bool tall = x.dim(0) > x.dim(1);
  if (tall) x = permute(x, {1, 0});
  x = x / (sqrt(sum(x * x, {0, 1})) + 1e-7);
  for (int i = 0; i < kIterations; ++i) {
    const Tensor square = matmul(x, x, false, true);
    x = x * a + matmul(square * b + matmul(square, square) * c, x);
  }
  return tall ? permute(x, {1, 0}) : x;
}

// Muon with Nesterov momentum. The factor 0.2·√max(m,n) gives steps the size of AdamW's, so that one rate and one weight decay
// serve both (Liu et al., "Muon is scalable for LLM training", 2025).
void muon_update(Tensor p, Tensor g, double weight_decay) {
  constexpr double kMomentum = 0.95;
  Graph& graph = *p.graph;
  const Tensor m = input(graph, graph.node(p.value).name + ".m", p.dims(), Role::kState);
  const Tensor next = m * kMomentum + g;
  const double size = 0.2 * std::sqrt(static_cast<double>(std::max(p.dim(0), p.dim(1))));
  step(p, orthogonalised(g + next * kMomentum) * size, weight_decay);
  graph.updates.push_back({m.value, next.value});
}

}  // namespace

void optimizer_update(Tensor p, Tensor g, Tensor scale, const OptimizerConfig& config, double weight_decay, bool hidden) {
  using Kind = OptimizerConfig::Kind;
  if (config.kind == Kind::kLion) return lion_update(p, g * scale, config, weight_decay);
  if (config.kind == Kind::kMuon && hidden && p.rank() == 2) return muon_update(p, g * scale, weight_decay);
  composite_update(p, g, scale, config, weight_decay);
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
