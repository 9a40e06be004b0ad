// Language models as a page's worker drives them: a text, a tokenizer, at most one run, at most one model opened from files.
//
// Does: learns or reads a tokenizer, turns text into tokens as it comes, plans and trains a run for a slice of time, saves and
// restores it as bytes, writes text with a run's or an opened model's weights, shows attention. Does not: keep anything beyond
// memory; know messages or storage (packages/tabgrad/src/lm does); cut at stop strings (there too).
//
// Invariants: an Error leaves text, tokenizer, run and model as they were. Between write() and its last write_more() the run
// must not advance.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "data/tokenizer/bpe_trainer.h"
#include "lm/baselines.h"
#include "lm/lm_job.h"
#include "lm/token_cache.h"
#include "reply.h"

namespace tabgrad::wasm {

class LmSession {
 public:
  explicit LmSession(SessionOptions options) : options_(std::move(options)) {}

  void presets(Reply& reply) const;                                                            // LmPreset[]
  // LmSettings; optimizer "": the usual one
  void defaults(const std::string& kind, const std::string& preset, const std::string& optimizer, Reply& reply) const;

  // Learns a tokenizer from text that comes in pieces; it is then the current one. TokenizerInfo
  void learn();
  void learn_feed(std::string_view text);
  void learn_end(std::int64_t vocabulary, const std::function<void(double, double)>& progress, Reply& reply);
  // kind: "byte", "json" (of a file's text), "model" (the opened model's). TokenizerInfo
  void use_tokenizer(const std::string& kind, const std::string& file, std::string_view json, Reply& reply);
  void tokenizer_json(Reply& reply) const;

  // The text, in the current tokenizer's tokens. only_check: they are not made; read_kept() takes kept ones if they are this text's.
  void read(bool only_check);
  void read_feed(std::string_view text);
  void read_next();  // the next of several texts
  void read_end(double validation, Reply& reply);  // CorpusInfo
  void read_kept(std::string_view kept, double validation, Reply& reply);  // CorpusInfo or null
  void tokens(Reply& reply) const;  // for read_kept(), another time (lm/token_cache.h)

  // from_model: goes on from the opened model's weights, with its sizes.
  void plan(const Json& settings, bool from_model, const std::string& device, Reply& reply) const;  // LmPlan
  void train(const Json& settings, bool from_model, const std::string& device, Reply& reply);  // LmPlan; it waits
  void restore(std::string_view checkpoint, bool ended, const std::string& device, Reply& reply);  // LmPlan
  void advance(double milliseconds, Reply& reply);
  void history(Reply& reply) const;  // the numbers of all steps so far
  void stop() { job().trainer().request_stop(); }
  void save(Reply& reply);
  void close() { job_.reset(); }

  void model_file(const std::string& name, std::string_view bytes) { files_[name] = bytes; }
  void model_open(const std::string& where, Reply& reply);  // ModelInfo, of the files given since the last
  void model_close() { opened_.reset(); }

  // source: "run" or "model".
  void write(const Json& args, Reply& reply);
  void write_more(double milliseconds, std::int64_t most, Reply& reply);  // WrittenToken[]
  void attention(const std::string& source, const std::string& text, std::int64_t layer, Reply& reply) const;
  void download(const std::string& source, Reply& reply) const;

 private:
  struct Opened {
    LmModel model;
    Session session;  // writes with it
  };
  struct Writing {
    Tokenizer tokenizer;
    Generator generator;
    Utf8Decoder decoder;
    std::int32_t end_of_text;
  };
  // Weights to write with.
  struct Source {
    Session& session;
    const LmConfig& config;
    const Tokenizer& tokenizer;
  };

  LmJob& job() const;
  Source source(const std::string& name) const;
  SessionOptions options_on(const std::string& device) const;
  LmSettings settings_from(const Json& patch, bool from_model) const;
  void describe(const LmSettings& settings, std::int64_t parameters, const Program& program, Reply& reply) const;
  void tokenizer_info(Reply& reply) const;
  void corpus_info(Reply& reply) const;
  void numbers(std::int64_t first, Reply& reply) const;

  SessionOptions options_;
  Tokenizer tokenizer_ = Tokenizer::bytes();
  std::unique_ptr<BpeTrainer> learning_;
  std::unique_ptr<CorpusBuilder> reading_;
  std::optional<CorpusKey> key_;  // of the text that is read
  std::shared_ptr<const Corpus> corpus_;
  std::string corpus_key_;
  std::unique_ptr<LmJob> job_;
  Files files_;
  std::unique_ptr<Opened> opened_;
  std::optional<Writing> writing_;
};

}  // namespace tabgrad::wasm
