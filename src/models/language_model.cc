#include "models/language_model.h"

#include <array>
#include <cmath>

#include "base/option_check.h"
#include "models/recurrent_lm.h"

namespace tabgrad {
namespace {

constexpr std::array kKindWords{"gpt", "lstm", "gru"};

CellKind cell_of(const LmConfig& c) {
  TG_CHECK(c.recurrent());
  return c.kind == LmKind::kLstm ? CellKind::kLstm : CellKind::kGru;
}

LogitsOf logits_of(const LmConfig& c) { return c.recurrent() ? recurrent_lm_logits(c, cell_of(c)) : gpt_logits(c); }

}  // namespace

LmKind lm_kind_from(const std::string& word) {
  for (std::size_t i = 0; i < kKindWords.size(); ++i)
    if (word == kKindWords[i]) return static_cast<LmKind>(i);
  fail("--model '", word, "' is not known; there are: gpt, lstm, gru");
}

const char* lm_kind_name(LmKind kind) { return kKindWords[static_cast<std::size_t>(kind)]; }

LmConfig lm_preset(const std::string& name, LmKind kind) {
  LmConfig c{gpt_preset(name), kind};
  if (!c.recurrent()) return c;
  // A block has 12·d² weights, a layer of G gates 2·G·u².
  const double gates = kind == LmKind::kLstm ? 4 : 3, blocks = static_cast<double>(c.layers);
  c.layers = 2;
  const double units = static_cast<double>(c.width) * std::sqrt(12 * blocks / (2 * gates * static_cast<double>(c.layers)));
  c.width = 16 * static_cast<std::int64_t>(std::ceil(units / 16));
  return c;
}

void check_lm(const LmConfig& c) {
  if (!c.recurrent()) return check_gpt(c);
  GptConfig sizes = c;  // those that count are checked like a GPT's
  sizes.heads = 1;
  sizes.kv_heads = 0;
  sizes.positions = PositionKind::kNone;
  check_gpt(sizes);
  need_option(c.width <= 4096, "width", c.width, "give a number of units up to 4096");
  need_option(c.layers <= 64, "layers", c.layers, "give a number of layers up to 64");
}

BuiltModel build_lm(const LmConfig& c, const OptimizerConfig& optimizer, double clip_norm, std::int64_t accumulate) {
  check_lm(c);
  return lm_training_entries(c, logits_of(c), optimizer, clip_norm, accumulate);
}

BuiltModel build_lm_generation(const LmConfig& c, bool for_sampling) {
  check_lm(c);
  return c.recurrent() ? build_recurrent_lm_generation(c, cell_of(c), for_sampling) : build_gpt_generation(c, for_sampling);
}

BuiltModel build_lm_gradients(const LmConfig& c) {
  check_lm(c);
  return lm_gradients_entry(c, logits_of(c));
}

std::vector<ParameterSpec> lm_parameters(const LmConfig& c) {
  check_lm(c);
  return lm_parameter_list(c, logits_of(c));
}

std::int64_t lm_parameter_count(const LmConfig& c) { return parameter_count(lm_parameters(c)); }

std::vector<std::string> lm_layer_names(const LmConfig& c) {
  std::vector<std::string> names;
  for (std::int64_t l = 0; l < c.layers; ++l) names.push_back(c.recurrent() ? recurrent_lm_layer(cell_of(c), l) : str("h", l));
  return names;
}

}  // namespace tabgrad
