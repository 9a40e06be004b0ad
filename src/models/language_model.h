// Every kind of language model behind one set of functions: GPT (models/gpt.h), LSTM and GRU (models/recurrent_lm.h).
#pragma once

#include <string>
#include <vector>

#include "models/built_model.h"
#include "models/gpt.h"

namespace tabgrad {

enum class LmKind : unsigned char { kGpt, kLstm, kGru };
// "gpt", "lstm", "gru". Throws Error on another word.
LmKind lm_kind_from(const std::string& word);
const char* lm_kind_name(LmKind kind);

// Recurrent kinds have no use for what is about attention, MLPs, norms and positions.
struct LmConfig : GptConfig {
  LmKind kind = LmKind::kGpt;
  bool recurrent() const { return kind != LmKind::kGpt; }
};
// A preset's sizes. Those of recurrent kinds: two layers of so many units (rounded up to a multiple of 16) that they have as many
// weights as the preset's blocks.
LmConfig lm_preset(const std::string& name, LmKind kind);
// Throws Error naming the option and what is allowed.
void check_lm(const LmConfig& config);

// train_step (or accumulate and apply) and evaluate, as build_gpt.
BuiltModel build_lm(const LmConfig& config, const OptimizerConfig& optimizer, double clip_norm, std::int64_t accumulate);
// prefill and decode. for_sampling: their logits stay, for sampling_entry (models/lm_entries.h) beside them.
BuiltModel build_lm_generation(const LmConfig& config, bool for_sampling = false);
BuiltModel build_lm_gradients(const LmConfig& config);

std::vector<ParameterSpec> lm_parameters(const LmConfig& config);
std::int64_t lm_parameter_count(const LmConfig& config);
// The scopes of its layers, for graph/recompute.h.
std::vector<std::string> lm_layer_names(const LmConfig& config);

}  // namespace tabgrad
