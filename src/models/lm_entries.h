// The entries that train and judge a language model, whatever computes its logits (models/gpt.h names them and their inputs).
#pragma once

#include <functional>

#include "models/built_model.h"
#include "models/gpt_config.h"
#include "nn/module.h"

namespace tabgrad {

// tokens (B,T) → logits (B,T,V).
using LogitsOf = std::function<Tensor(Builder& builder, Tensor tokens)>;

// Of the config: batch, context, label_smoothing.
BuiltModel lm_training_entries(const GptConfig& config, const LogitsOf& logits, const OptimizerConfig& optimizer,
                               double clip_norm, std::int64_t accumulate);
BuiltModel lm_gradients_entry(const GptConfig& config, const LogitsOf& logits);
// Of entries that generate: output "<entry>.logits"; for_sampling: also in the state "cache.logits", for sampling_entry().
void give_logits(Graph& graph, const std::string& entry, Tensor logits, bool for_sampling);
// Entry "sample": out sample.token (1), drawn from the last logits (nn/sampling.h).
EntryGraph sampling_entry(std::int64_t vocabulary);

std::vector<ParameterSpec> lm_parameter_list(const GptConfig& config, const LogitsOf& logits);

}  // namespace tabgrad
