// A language-model run from text to trained model: corpus → graphs → session → trainer, and samples on the way.
//
// Does: puts the parts together; says what the settings mean for this text; turns run and model into files' bytes and back.
// Does not: touch a disk, print, loop.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cost/cost_model.h"
#include "engine/engine.h"
#include "lm/corpus.h"
#include "lm/generator.h"
#include "lm/lm_settings.h"
#include "models/built_model.h"
#include "nn/parameters.h"

namespace tabgrad {

struct LmModel {
  LmConfig config;
  Tokenizer tokenizer = Tokenizer::bytes();
  NamedTensors weights;  // our names
};

// Files of a model that Hugging Face's tools read (lm/model_format.h): config.json, model.safetensors, tokenizer.json.
inline constexpr const char* kConfigFile = "config.json";
inline constexpr const char* kModelWeightsFile = "model.safetensors";
inline constexpr const char* kTokenizerFile = "tokenizer.json";
using Files = std::map<std::string, std::string>;  // name → bytes
Files model_files(const LmModel& model);
// `where` is the folder's name, for messages. Throws Error naming the file and what is wrong.
LmModel model_from_files(const Files& files, const std::string& where);

// The entries of a run's session: training, evaluation, generation. settings.model.vocabulary must be the tokenizer's.
BuiltModel lm_entries(const LmSettings& settings);
double step_tokens(const LmSettings& settings);  // seen in one step
struct StepCost {
  double flops = 0;
  std::int64_t launches = 0;
  StepWork work;
};
StepCost step_cost(const Program& program, const LmSettings& settings);
// What the person should know before it starts: passes over the text, a text too small for the model.
std::vector<std::string> lm_notices(const LmSettings& settings, const Corpus& corpus, std::int64_t parameters);

// What LmJob::checkpoint() wrote.
struct LmCheckpoint {
  std::string file;  // its name, for messages
  LmSettings settings;
  std::string data_hash;  // of the corpus
  LmTrainerState state;
  NamedTensors tensors;  // LmTrainer::save()
};
// Throws Error naming the file and what is damaged.
LmCheckpoint parse_lm_checkpoint(std::string_view bytes, const std::string& file);

class LmJob {
 public:
  // settings.model.vocabulary becomes the tokenizer's, unless it is larger: a model may know more tokens. start: weights to go
  // on from, instead of random ones.
  LmJob(std::shared_ptr<const Corpus> corpus, Tokenizer tokenizer, LmSettings settings, const SessionOptions& options,
        const NamedTensors* start = nullptr);
  LmJob(Corpus corpus, Tokenizer tokenizer, LmSettings settings, const SessionOptions& options,
        const NamedTensors* start = nullptr)
      : LmJob(std::make_shared<const Corpus>(std::move(corpus)), std::move(tokenizer), std::move(settings), options, start) {}

  LmTrainer& trainer() { return *trainer_; }
  Session& session() { return *session_; }
  const Corpus& corpus() const { return *corpus_; }
  const Tokenizer& tokenizer() const { return tokenizer_; }
  const LmSettings& settings() const { return settings_; }
  std::int64_t parameters() const { return parameter_count(parameters_); }
  const std::string& initial_hash() const { return initial_hash_; }  // of the weights before the first step
  double step_tokens() const { return tabgrad::step_tokens(settings_); }
  double step_flops() const { return step_cost(session_->program(), settings_).flops; }
  const std::vector<std::string>& notices() const { return notices_; }

  // Text that goes on from the prompt, by the weights as they stand.
  std::string sample(const std::string& prompt, std::int64_t tokens, const SamplingOptions& options);

  // The weights in the session: the best ones after the trainer's end.
  LmModel model();
  // The run as it stands, as the bytes of one file.
  std::string checkpoint();
  // Goes on with a saved run. Throws Error when data or settings differ.
  void restore(const LmCheckpoint& saved);

 private:
  const std::string& data_hash();  // computed once: a text can have billions of tokens

  std::shared_ptr<const Corpus> corpus_;
  Tokenizer tokenizer_;
  LmSettings settings_;
  std::vector<ParameterSpec> parameters_;
  std::unique_ptr<Session> session_;
  std::unique_ptr<LmTrainer> trainer_;
  std::string initial_hash_, data_hash_;
  std::vector<std::string> notices_;
};

}  // namespace tabgrad
