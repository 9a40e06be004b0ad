#include "lm/lm_job.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "data/safetensors.h"
#include "data/tokenizer/bpe_trainer.h"
#include "graph/recompute.h"
#include "lm/model_format.h"

namespace tabgrad {
namespace {

template <typename Fields>
void fields(Fields& f, LmTrainerState& s) {
  f.integer("step", s.step, 0, kMaxCount);
  f.numbers("train_loss", s.train_loss);
  f.numbers("grad_norm", s.grad_norm);
  std::vector<double> steps(s.validation_step.begin(), s.validation_step.end());
  f.numbers("validation_step", steps);
  s.validation_step.clear();
  for (const double step : steps) s.validation_step.push_back(std::llround(step));
  f.numbers("validation_loss", s.validation_loss);
  f.integer("best_step", s.best_step, -1, kMaxCount);
  f.number("best_loss", s.best_loss);
  std::int64_t end = static_cast<std::int64_t>(s.end);
  f.integer("end", end, 0, static_cast<std::int64_t>(EndReason::kDiverged));
  s.end = static_cast<EndReason>(end);
  f.text("message", s.message);
}

std::string grouped(double value) {
  const char* units[] = {"", " thousand", " million", " billion"};
  std::size_t unit = 0;
  for (; value >= 1000 && unit + 1 < std::size(units); ++unit) value /= 1000;
  const double rounded = value < 10 ? std::round(value * 10) / 10 : std::round(value);
  return str(rounded, units[unit]);
}

const std::string& metadata(const Safetensors& file, const char* key, const std::string& name) {
  const auto found = file.metadata.find(key);
  if (found == file.metadata.end())
    fail(name, ": its '", key, "' is missing. It is no checkpoint of a language model, or damaged.");
  return found->second;
}

}  // namespace

Files model_files(const LmModel& m) {
  return {{kConfigFile, model_config_json(m.config, m.tokenizer.added_token(kEndOfText).value_or(-1))},
          {kModelWeightsFile, write_safetensors(to_file_names(m.config, m.weights), {{"format", "pt"}})},
          {kTokenizerFile, m.tokenizer.to_json()}};
}

LmModel model_from_files(const Files& files, const std::string& where) {
  const auto file = [&](const char* name) -> const std::string& {
    const auto found = files.find(name);
    if (found == files.end()) fail(where, " holds no language model: ", name, " is missing.");
    return found->second;
  };
  const auto path = [&](const char* name) { return where + "/" + name; };
  LmModel model;
  model.config = model_config_from_json(file(kConfigFile), path(kConfigFile));
  model.tokenizer = Tokenizer::from_json(file(kTokenizerFile), path(kTokenizerFile));
  if (model.tokenizer.vocabulary() > model.config.vocabulary)
    fail(where, ": the tokenizer has ", model.tokenizer.vocabulary(), " tokens and the model ", model.config.vocabulary,
         ": they do not belong together.");
  model.weights = from_file_names(model.config, read_safetensors(file(kModelWeightsFile), path(kModelWeightsFile)).tensors,
                                  path(kModelWeightsFile));
  return model;
}

BuiltModel lm_entries(const LmSettings& s) {
  BuiltModel model = build_lm(s.model, s.training.optimizer, s.clip, s.training.accumulate);
  if (s.recompute)
    for (EntryGraph& entry : model.entries) entry.graph = recompute(entry.graph, lm_layer_names(s.model));
  for (EntryGraph& entry : build_lm_generation(s.model).entries) model.entries.push_back(std::move(entry));
  return model;
}

double step_tokens(const LmSettings& s) { return static_cast<double>(s.model.batch * s.model.context * s.training.accumulate); }

StepCost step_cost(const Program& program, const LmSettings& settings) {
  StepCost cost;
  for (const Entry& entry : program.entries) {
    const bool repeated = entry.name == "accumulate";
    if (!repeated && entry.name != "train_step" && entry.name != "apply") continue;
    const std::int64_t times = repeated ? settings.training.accumulate : 1;
    for (LaunchWork w : work_of(program, entry.name)) {
      w.count *= static_cast<double>(times);
      cost.work.push_back(w);
    }
    cost.launches += static_cast<std::int64_t>(entry.launches.size()) * times;
  }
  cost.flops = total_flops(cost.work);
  return cost;
}

std::vector<std::string> lm_notices(const LmSettings& settings, const Corpus& corpus, std::int64_t parameters) {
  std::vector<std::string> notices;
  const double seen = static_cast<double>(settings.training.steps) * step_tokens(settings);
  const auto text = static_cast<double>(corpus.training_tokens()), size = static_cast<double>(parameters);
  notices.push_back(str(settings.training.steps, " steps see ", grouped(seen), " tokens: ", std::round(seen / text * 10) / 10,
                        " passes over the training part."));
  // Some 20 tokens a parameter are worth learning from (Hoffmann et al. 2022); with fewer than one, a model learns by heart.
  if (text < size)
    notices.push_back(str("The text has ", grouped(text), " tokens for ", grouped(size),
                          " parameters: the model may learn it by heart. Watch the validation loss, or give more text."));
  if (corpus.validation_tokens() == 0) notices.push_back("Without a validation part nobody can tell learning from memorising.");
  return notices;
}

LmJob::LmJob(std::shared_ptr<const Corpus> corpus, Tokenizer tokenizer, LmSettings settings, const SessionOptions& options,
             const NamedTensors* start)
    : corpus_(std::move(corpus)), tokenizer_(std::move(tokenizer)), settings_(std::move(settings)) {
  settings_.model.vocabulary = std::max(settings_.model.vocabulary, tokenizer_.vocabulary());
  check_settings(settings_);
  corpus_->check_context(settings_.model.context);
  BuiltModel model = lm_entries(settings_);
  parameters_ = model.parameters;
  session_ = std::make_unique<Session>(make_session(model.entries, options));
  NamedTensors values = start ? *start : initial_values(parameters_, settings_.training.seed);
  for (const auto& [name, value] : values) session_->write(name, value);
  initial_hash_ = hash_text(hash_values(values));
  std::vector<std::string> names, states;
  for (const ParameterSpec& p : parameters_) names.push_back(p.name);
  // A cache is refilled, and accumulated gradients live within a step only: neither belongs to a checkpoint.
  for (std::string& state : session_->names(BufferRole::kState))
    if (!state.starts_with("cache.") && !state.starts_with("acc.")) states.push_back(std::move(state));
  trainer_ = std::make_unique<LmTrainer>(*session_, *corpus_, settings_.model, names, states, settings_.training);
  notices_ = lm_notices(settings_, *corpus_, this->parameters());
}

std::string LmJob::sample(const std::string& prompt, std::int64_t tokens, const SamplingOptions& options) {
  Generator generator(*session_, settings_.model, options);
  generator.start(tokenizer_.encode(prompt));
  Utf8Decoder decoder(tokenizer_);
  std::string text;
  for (std::int64_t i = 0; i < tokens; ++i) text += decoder.feed(generator.next());
  return text + decoder.finish();
}

LmModel LmJob::model() {
  LmModel model{settings_.model, tokenizer_, {}};
  for (const ParameterSpec& p : parameters_) model.weights.emplace_back(p.name, session_->read(p.name));
  return model;
}

std::string LmJob::checkpoint() {
  Json state;
  FieldWriter writer(state);
  LmTrainerState copy = trainer_->state();
  fields(writer, copy);
  return write_safetensors(trainer_->save(),
                           {{"trainer", state.dump()}, {"settings", to_json(settings_)}, {"data", data_hash()}});
}

void LmJob::restore(const LmCheckpoint& saved) {
  if (saved.data_hash != data_hash())
    fail(saved.file, ": the text has changed since the interrupted run. Give the same text, or train anew without --resume.");
  trainer_->restore(saved.state, saved.tensors);
}

const std::string& LmJob::data_hash() {
  if (data_hash_.empty()) data_hash_ = hash_text(corpus_->hash());
  return data_hash_;
}

LmCheckpoint parse_lm_checkpoint(std::string_view bytes, const std::string& file) {
  Safetensors saved = read_safetensors(bytes, file);
  LmCheckpoint checkpoint;
  checkpoint.file = file;
  checkpoint.settings = lm_settings_from_json(metadata(saved, "settings", file), file + " (settings)");
  checkpoint.data_hash = metadata(saved, "data", file);
  const Json json = parse_json(metadata(saved, "trainer", file), file + " (trainer)");
  FieldReader reader(json, file + " (trainer)", "");
  fields(reader, checkpoint.state);
  checkpoint.tensors = std::move(saved.tensors);
  return checkpoint;
}

}  // namespace tabgrad
