// What a language-model run is made of, and its JSON form.
//
// Invariant: what was read is in range in every field, whatever the file held.
#pragma once

#include <string>

#include "lm/lm_trainer.h"
#include "models/language_model.h"
#include "train/json_fields.h"
#include "train/optimizer_fields.h"

namespace tabgrad {

struct LmSettings {
  LmConfig model;            // vocabulary follows from the tokenizer
  std::string tokenizer = "byte";  // "byte", "bpe:<vocabulary>", or the name of a tokenizer.json
  double validation = 0.1;   // part of the text, its end
  LmTrainerConfig training;
  double clip = 1.0;  // largest gradient norm; 0: no clipping
  bool recompute = false;  // layers' activations in the backward pass (graph/recompute.h): less memory, more work
};
// The recipe that suits a preset: AdamW β 0.9/0.95, weight decay 0.1, 5 % warm-up, then cosine from 3e-3.
LmSettings default_lm_settings(const std::string& preset, LmKind kind = LmKind::kGpt);
// The optimizer with the numbers that go with it; Lion also lowers the learning rate.
void use_optimizer(LmSettings& settings, OptimizerConfig::Kind kind);
// Throws Error naming the option.
void check_settings(const LmSettings& settings);

std::string to_json(const LmSettings& settings);
LmSettings lm_settings_from_json(const std::string& text, const std::string& file);

// Of every kind of model.
template <typename Fields>
void size_fields(Fields& f, GptConfig& c) {
  f.text("name", c.name);
  f.integer("layers", c.layers, 1, 1024);
  f.integer("width", c.width, 1, 1 << 16);
  f.integer("context", c.context, 1, 1 << 20);
  f.integer("batch", c.batch, 1, 1 << 20);
  f.integer("vocabulary", c.vocabulary, 1, 1 << 24);
  f.flag("tied", c.tied);
  f.number("dropout", c.dropout, 0, 0.999);
  f.number("label_smoothing", c.label_smoothing, 0, 0.999);
}

template <typename Fields>
void fields(Fields& f, GptConfig& c) {
  size_fields(f, c);
  f.integer("heads", c.heads, 1, 1 << 16);
  f.integer("kv_heads", c.kv_heads, 0, 1 << 16);
  f.integer("mlp_width", c.mlp_width, 0, 1 << 20);
  f.word("positions", c.positions, position_kind_name, position_kind_from);
  f.word("norm", c.norm, norm_kind_name, norm_kind_from);
  f.word("mlp", c.mlp, mlp_kind_name, mlp_kind_from);
  f.number("norm_eps", c.norm_eps, 0, 1);
  f.flag("qk_norm", c.qk_norm);
}

template <typename Fields>
void fields(Fields& f, LmConfig& c) {
  f.word("kind", c.kind, lm_kind_name, lm_kind_from);
  fields(f, static_cast<GptConfig&>(c));
}

}  // namespace tabgrad
