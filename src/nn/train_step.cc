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

void add_training(Graph& graph, Tensor loss, const std::vector<ParameterSpec>& parameters, const OptimizerConfig& optimizer,
                  double clip_norm) {
  if (!(clip_norm >= 0.0)) fail("[clip] the largest gradient norm must be 0 (no clipping) or above, got ", clip_norm);
  const std::vector<Tensor> tensors = parameter_tensors(graph, parameters);
  const std::vector<Tensor> grads = gradients(loss, tensors);
  graph.scope = "clip";
  const Tensor norm = sqrt(sum_squares(grads));
  graph.outputs.push_back({"grad_norm", norm.value});
  Tensor scale = constant(graph, 1.0);
  if (clip_norm > 0.0) scale = minimum(scale, constant(graph, clip_norm) / (norm + 1e-6));
  graph.scope = "optimizer";
  for (std::size_t i = 0; i < tensors.size(); ++i)
    optimizer_update(tensors[i], grads[i], scale, optimizer, parameters[i].decay ? optimizer.weight_decay : 0.0);
  graph.scope.clear();
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
