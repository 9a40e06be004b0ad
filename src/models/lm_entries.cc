#include "models/lm_entries.h"

#include "nn/sampling.h"
#include "nn/train_step.h"

namespace tabgrad {
namespace {

// Negative log-likelihood of each target (B,T) given tokens (B,T), inputs named with a prefix.
Tensor token_losses(Builder& b, const GptConfig& c, const LogitsOf& logits_of, const std::string& prefix, double smoothing) {
  Graph& g = b.graph();
  const Tensor tokens = input(g, prefix + "tokens", {c.batch, c.context}, Role::kInput, DType::kI32);
  const Tensor targets = input(g, prefix + "targets", {c.batch, c.context}, Role::kInput, DType::kI32);
  const Tensor logits = logits_of(b, tokens);
  const Layer layer(b, "head");
  const Tensor nll = cross_entropy(logits, targets);
  if (smoothing == 0) return nll;
  // −Σ q log p = (1−ε)·nll + ε·(log Σ exp(x) − mean(x))
  const Tensor top = max(logits, {-1}, true);
  const Tensor lse = log(sum(exp(logits - top), {-1})) + reshape(top, nll.dims());
  return nll * (1.0 - smoothing) + (lse - mean(logits, {-1})) * smoothing;
}

Tensor training_loss(Builder& b, const GptConfig& c, const LogitsOf& logits) {
  return mean(token_losses(b, c, logits, "", c.label_smoothing), {0, 1});
}

Tensor kept_logits(Graph& g, std::int64_t vocabulary) { return input(g, "cache.logits", {vocabulary}, Role::kState); }

}  // namespace

void give_logits(Graph& g, const std::string& entry, Tensor logits, bool for_sampling) {
  const Tensor flat = reshape(logits, {logits.dim(-1)});
  g.outputs.push_back({entry + ".logits", flat.value});
  if (for_sampling) g.updates.push_back({kept_logits(g, flat.dim(0)).value, flat.value});
}

EntryGraph sampling_entry(std::int64_t vocabulary) {
  Graph g;
  g.outputs.push_back({"sample.token", sample_token(kept_logits(g, vocabulary)).value});
  return {"sample", std::move(g)};
}

BuiltModel lm_training_entries(const GptConfig& config, const LogitsOf& logits, const OptimizerConfig& optimizer,
                               double clip_norm, std::int64_t accumulate) {
  BuiltModel model;
  {
    Graph g;
    Builder b(g, true);
    const Tensor loss = training_loss(b, config, logits);
    g.outputs.push_back({"loss", loss.value});
    model.parameters = b.parameters();
    if (accumulate == 1) {
      add_training(g, loss, model.parameters, optimizer, clip_norm);
      model.entries.push_back({"train_step", std::move(g)});
    } else {
      add_accumulation(g, loss, model.parameters);
      model.entries.push_back({"accumulate", std::move(g)});
      Graph apply;
      add_apply(apply, model.parameters, accumulate, optimizer, clip_norm);
      model.entries.push_back({"apply", std::move(apply)});
    }
  }
  Graph g;
  Builder b(g, false);
  g.outputs.push_back({"eval.nll", mean(token_losses(b, config, logits, "eval.", 0), {1}).value});
  model.entries.push_back({"evaluate", std::move(g)});
  return model;
}

BuiltModel lm_gradients_entry(const GptConfig& config, const LogitsOf& logits) {
  BuiltModel model;
  Graph g;
  Builder b(g, true);
  const Tensor loss = training_loss(b, config, logits);
  model.parameters = b.parameters();
  g.outputs.push_back({"loss", loss.value});
  add_gradient_outputs(g, loss, model.parameters);
  model.entries.push_back({"gradients", std::move(g)});
  return model;
}

std::vector<ParameterSpec> lm_parameter_list(const GptConfig& config, const LogitsOf& logits) {
  Graph g;
  Builder b(g, false);
  token_losses(b, config, logits, "", 0);
  return b.parameters();
}

}  // namespace tabgrad
