#include "lm/lm_settings.h"

#include "base/error.h"

namespace tabgrad {
namespace {

template <typename Fields>
void fields(Fields& f, LmTrainerConfig& t) {
  f.integer("steps", t.steps, 1, kMaxCount);
  f.integer("accumulate", t.accumulate, 1, kMaxCount);
  f.integer("eval_every", t.eval_every, 1, kMaxCount);
  f.integer("eval_batches", t.eval_batches, 1, kMaxCount);
  rate_fields(f, t);
  f.number("lr_floor", t.lr_floor, 0, 1);
}

template <typename Fields>
void fields(Fields& f, LmSettings& s) {
  f.group("model", [&](auto& g) { fields(g, s.model); });
  f.text("tokenizer", s.tokenizer);
  f.number("validation", s.validation, 0, 0.5);
  f.group("training", [&](auto& g) { fields(g, s.training); });
  f.number("clip", s.clip, 0, 1e30);
  f.flag("recompute", s.recompute);
}

}  // namespace

LmSettings default_lm_settings(const std::string& preset, LmKind kind) {
  LmSettings settings;
  settings.model = lm_preset(preset, kind);
  settings.training.optimizer = gpt_optimizer();
  settings.clip = kGptClipNorm;
  return settings;
}

void use_optimizer(LmSettings& settings, OptimizerConfig::Kind kind) {
  OptimizerConfig& o = settings.training.optimizer;
  o.kind = kind;
  if (kind == OptimizerConfig::Kind::kSgd) o.momentum = 0.9;
  if (kind == OptimizerConfig::Kind::kSgd || kind == OptimizerConfig::Kind::kAdam) o.weight_decay = 0;
  if (kind == OptimizerConfig::Kind::kLion) {
    o.beta1 = 0.9;
    o.beta2 = 0.99;
    settings.training.learning_rate = 3e-4;
  }
}

void check_settings(const LmSettings& s) {
  check_lm(s.model);
  check_lm_trainer(s.training);
  if (!(s.validation >= 0 && s.validation <= 0.5))
    fail("--validation ", s.validation, " is not possible: give a part from 0 to 0.5.");
  if (!(s.clip >= 0)) fail("--clip ", s.clip, " is below 0.");
}

std::string to_json(const LmSettings& settings) {
  Json json;
  FieldWriter writer(json);
  LmSettings copy = settings;
  fields(writer, copy);
  return json.dump(2) + "\n";
}

LmSettings lm_settings_from_json(const std::string& text, const std::string& file) {
  const Json json = parse_json(text, file);
  FieldReader reader(json, file, "");
  LmSettings settings;
  fields(reader, settings);
  check_settings(settings);
  return settings;
}

}  // namespace tabgrad
