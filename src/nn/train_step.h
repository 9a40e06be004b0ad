// Turns a forward graph with a scalar loss into a train step: gradients, clipping by global norm, optimizer.
#pragma once

#include <vector>

#include "graph/compose/compose.h"
#include "nn/parameters.h"

namespace tabgrad {

// Adds to the graph:
// - the gradient of `loss` for each parameter (found in the graph by its name);
// - output "grad_norm": the norm of all gradients together, before clipping; NaN or infinity shows there first;
// - gradients times min(1, clip_norm/(norm + 1e-6)), as PyTorch's clip_grad_norm_; no clipping when clip_norm is 0;
// - the optimizer's updates of parameters and state. Weight decay is optimizer.weight_decay where the spec says decay, else 0.
// Uniforms of the entry: "lr"; with Adam and AdamW also "bias1" = 1 − beta1^t, "bias2" = 1 − beta2^t, t = 1, 2, …
void add_training(Graph& graph, Tensor loss, const std::vector<ParameterSpec>& parameters, const OptimizerConfig& optimizer,
                  double clip_norm);

// The same step in pieces, for batches that do not fit at once. add_accumulation: adds each gradient to a state buffer
// "acc.<parameter>", which it overwrites where the uniform "first" is 1. add_apply, in a graph of its own: clips and applies
// their mean over `count` pieces; output "grad_norm".
void add_accumulation(Graph& graph, Tensor loss, const std::vector<ParameterSpec>& parameters);
void add_apply(Graph& graph, const std::vector<ParameterSpec>& parameters, std::int64_t count, const OptimizerConfig& optimizer,
               double clip_norm);

// The gradient of each parameter instead, as outputs "grad.<name>": for tests and for judging targets.
void add_gradient_outputs(Graph& graph, Tensor loss, const std::vector<ParameterSpec>& parameters);

// Sets the uniforms of step t = 1, 2, … in a session, or in whatever has set_uniform(name, float).
struct StepUniforms {
  float lr = 0, bias1 = 1, bias2 = 1;
};
StepUniforms step_uniforms(const OptimizerConfig& optimizer, double lr, std::int64_t step);
template <typename Session>
void set_step_uniforms(Session& session, const OptimizerConfig& optimizer, double lr, std::int64_t step) {
  const StepUniforms u = step_uniforms(optimizer, lr, step);
  session.set_uniform("lr", u.lr);
  if (optimizer.kind == OptimizerConfig::Kind::kSgd) return;
  session.set_uniform("bias1", u.bias1);
  session.set_uniform("bias2", u.bias2);
}

}  // namespace tabgrad
