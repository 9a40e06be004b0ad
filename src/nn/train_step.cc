#include "nn/train_step.h"

#include "graph/autodiff.h"

namespace tabgrad {
namespace {

std::vector<Tensor> parameter_tensors(Graph& graph, const std::vector<ParameterSpec>& parameters) {
  std::vector<Tensor> tensors;
  for (const ParameterSpec& spec : parameters) {
    Tensor found;
    for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
      const Node& node = graph.nodes[i];
      if (node.op == Op::kInput && node.role == Role::kParameter && node.name == spec.name)
        found = {&graph, {static_cast<int>(i), 0}};
    }
    if (!found.graph) fail("[train] the graph has no parameter '", spec.name, "'");
    tensors.push_back(found);
  }
  return tensors;
}

// base^n by squaring: libraries' pow may differ in the last bit, and with it a training run.
double power(double base, std::int64_t n) {
  double result = 1.0;
  for (; n > 0; n /= 2, base *= base)
    if (n % 2 == 1) result *= base;
  return result;
}

}  // namespace

namespace {

void add_updates(Graph& graph, const std::vector<Tensor>& tensors, const std::vector<Tensor>& grads,
                 const std::vector<ParameterSpec>& parameters, const OptimizerConfig& optimizer, double clip_norm) {
  if (!(clip_norm >= 0.0)) fail("[clip] the largest gradient norm must be 0 (no clipping) or above, got ", clip_norm);
  graph.scope = "clip";
  const Tensor norm = sqrt(sum_squares(grads));
  graph.outputs.push_back({"grad_norm", norm.value});
  Tensor scale = constant(graph, 1.0);
  if (clip_norm > 0.0) scale = minimum(scale, constant(graph, clip_norm) / (norm + 1e-6));
  graph.scope = "optimizer";
  for (std::size_t i = 0; i < tensors.size(); ++i)
    optimizer_update(tensors[i], grads[i], scale, optimizer, parameters[i].decay ? optimizer.weight_decay : 0.0,
                     parameters[i].hidden);
  graph.scope.clear();
}

Tensor accumulator(Graph& graph, const ParameterSpec& spec) {
  return input(graph, "acc." + spec.name, spec.dims, Role::kState);
}

}  // namespace

void add_training(Graph& graph, Tensor loss, const std::vector<ParameterSpec>& parameters, const OptimizerConfig& optimizer,
                  double clip_norm) {
  const std::vector<Tensor> tensors = parameter_tensors(graph, parameters);
  add_updates(graph, tensors, gradients(loss, tensors), parameters, optimizer, clip_norm);
}

void add_accumulation(Graph& graph, Tensor loss, const std::vector<ParameterSpec>& parameters) {
  const std::vector<Tensor> grads = gradients(loss, parameter_tensors(graph, parameters));
  const Tensor first = uniform(graph, "first");
  for (std::size_t i = 0; i < grads.size(); ++i) {
    const Tensor sum = accumulator(graph, parameters[i]);
    graph.updates.push_back({sum.value, select(first, grads[i], sum + grads[i]).value});
  }
}

void add_apply(Graph& graph, const std::vector<ParameterSpec>& parameters, std::int64_t count, const OptimizerConfig& optimizer,
               double clip_norm) {
  std::vector<Tensor> tensors, grads;
  for (const ParameterSpec& spec : parameters) {
    tensors.push_back(input(graph, spec.name, spec.dims, Role::kParameter));
    grads.push_back(accumulator(graph, spec) * (1.0 / static_cast<double>(count)));
  }
  add_updates(graph, tensors, grads, parameters, optimizer, clip_norm);
}

void add_gradient_outputs(Graph& graph, Tensor loss, const std::vector<ParameterSpec>& parameters) {
  const std::vector<Tensor> grads = gradients(loss, parameter_tensors(graph, parameters));
  for (std::size_t i = 0; i < grads.size(); ++i) graph.outputs.push_back({"grad." + parameters[i].name, grads[i].value});
}

StepUniforms step_uniforms(const OptimizerConfig& optimizer, double lr, std::int64_t step) {
  TG_CHECK(step >= 1);
  StepUniforms u;
  u.lr = static_cast<float>(lr);
  if (optimizer.kind != OptimizerConfig::Kind::kSgd) {
    u.bias1 = static_cast<float>(1.0 - power(optimizer.beta1, step));
    u.bias2 = static_cast<float>(1.0 - power(optimizer.beta2, step));
  }
  return u;
}

}  // namespace tabgrad
