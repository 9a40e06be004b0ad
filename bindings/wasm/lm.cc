#include "lm.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <utility>

#include "base/utf8.h"
#include "page_json.h"

namespace tabgrad::wasm {
namespace {

constexpr std::int64_t kMinVocabulary = 257, kMaxVocabulary = 1 << 16;
constexpr std::size_t kAlternatives = 6;  // of a token that was written

Json model_json(const LmConfig& config) {
  Json json;
  FieldWriter writer(json);
  LmConfig copy = config;
  fields(writer, copy);
  return json;
}

SamplingOptions sampling_from(const Json& json) {
  SamplingOptions options;
  options.temperature = json.at("temperature").get<double>();
  options.top_k = json.at("topK").get<std::int64_t>();
  options.top_p = json.at("topP").get<double>();
  options.repetition_penalty = json.at("repetitionPenalty").get<double>();
  options.seed = seed_from(json.at("seed").get<std::string>());
  check_sampling(options);
  return options;
}

// A token's bytes for people: as text where they are whole characters, else in hexadecimal.
std::string shown(std::string_view piece) {
  std::size_t at = 0;
  while (at < piece.size()) {
    const Utf8Char c = first_char(piece.substr(at));
    if (c.kind != Utf8Char::kValid) break;
    at += c.bytes;
  }
  if (at == piece.size()) return std::string(piece);
  constexpr const char* kDigits = "0123456789ABCDEF";
  std::string text = "\\x";
  for (const char c : piece) {
    const auto byte = static_cast<unsigned char>(c);
    text += {kDigits[byte >> 4], kDigits[byte & 15]};
  }
  return text;
}

std::string shown(const Tokenizer& tokenizer, std::int32_t id) {
  return id < tokenizer.vocabulary() ? shown(tokenizer.piece(id)) : str("token ", id);
}

double lse(std::span<const float> logits) {
  const float top = *std::max_element(logits.begin(), logits.end());
  double sum = 0;
  for (const float x : logits) sum += std::exp(static_cast<double>(x - top));
  return static_cast<double>(top) + std::log(sum);
}

}  // namespace

LmJob& LmSession::job() const {
  if (!job_) fail("There is no run: train first.");
  return *job_;
}

LmSession::Source LmSession::source(const std::string& name) const {
  if (name == "run") return {job().session(), job().settings().model, job().tokenizer()};
  TG_CHECK(name == "model");
  if (!opened_) fail("There is no model: open one first.");
  return {opened_->session, opened_->model.config, opened_->model.tokenizer};
}

SessionOptions LmSession::options_on(const std::string& device) const {
  SessionOptions options = options_;
  options.device = device;
  return options;
}

void LmSession::presets(Reply& reply) const {
  reply.json = Json::array();
  for (const GptConfig& preset : gpt_presets()) {
    Json parameters;
    for (const LmKind kind : {LmKind::kGpt, LmKind::kLstm, LmKind::kGru})
      parameters[lm_kind_name(kind)] = lm_parameter_count(lm_preset(preset.name, kind));
    reply.json.push_back({{"name", preset.name}, {"parameters", std::move(parameters)}});
  }
}

void LmSession::defaults(const std::string& kind, const std::string& preset, const std::string& optimizer, Reply& reply) const {
  LmSettings settings = default_lm_settings(preset, lm_kind_from(kind));
  if (!optimizer.empty()) use_optimizer(settings, optimizer_kind_from(optimizer));
  reply.json = with_digits(to_json(settings));
}

void LmSession::learn() { learning_ = std::make_unique<BpeTrainer>(); }

void LmSession::learn_feed(std::string_view text) {
  TG_CHECK(learning_ != nullptr);
  learning_->feed(text);
}

void LmSession::learn_end(std::int64_t vocabulary, const std::function<void(double, double)>& progress, Reply& reply) {
  TG_CHECK(learning_ != nullptr);
  if (vocabulary < kMinVocabulary || vocabulary > kMaxVocabulary)
    fail("--vocabulary ", vocabulary, " is not possible: give a number of tokens from ", kMinVocabulary, " to ", kMaxVocabulary,
         ".");
  const std::unique_ptr<BpeTrainer> trainer = std::move(learning_);
  tokenizer_ = trainer->train(
      {.vocabulary = vocabulary, .special_tokens = {kEndOfText}},
      [&](std::int64_t made, std::int64_t wanted) { progress(static_cast<double>(made), static_cast<double>(wanted)); });
  tokenizer_info(reply);
}

void LmSession::use_tokenizer(const std::string& kind, const std::string& file, std::string_view json, Reply& reply) {
  if (kind == "byte") {
    tokenizer_ = Tokenizer::bytes();
  } else if (kind == "json") {
    tokenizer_ = Tokenizer::from_json(json, file);
  } else {
    TG_CHECK(kind == "model");
    if (!opened_) fail("There is no model: open one first.");
    tokenizer_ = opened_->model.tokenizer;
  }
  tokenizer_info(reply);
}

void LmSession::tokenizer_info(Reply& reply) const {
  reply.json = {{"vocabulary", tokenizer_.vocabulary()}, {"endOfText", tokenizer_.added_token(kEndOfText).has_value()}};
}

void LmSession::tokenizer_json(Reply& reply) const { reply.json = {{"bytes", reply.array(tokenizer_.to_json())}}; }

void LmSession::read(bool only_check) {
  reading_ = only_check ? nullptr : std::make_unique<CorpusBuilder>(tokenizer_);
  key_.emplace(tokenizer_);
}

void LmSession::read_feed(std::string_view text) {
  TG_CHECK(key_.has_value());
  if (reading_) reading_->feed(text);
  key_->feed(text);
}

void LmSession::read_next() {
  TG_CHECK(key_.has_value());
  if (reading_) reading_->end_text();
  key_->end_text();
}

void LmSession::read_end(double validation, Reply& reply) {
  TG_CHECK(reading_ != nullptr);
  const std::unique_ptr<CorpusBuilder> builder = std::move(reading_);
  corpus_ = std::make_shared<const Corpus>(builder->finish(validation));
  corpus_key_ = key_->text();
  corpus_info(reply);
}

void LmSession::read_kept(std::string_view kept, double validation, Reply& reply) {
  TG_CHECK(key_.has_value());
  std::optional<Corpus> corpus = read_token_cache(kept, key_->text(), validation);
  reply.json = nullptr;
  if (!corpus) return;
  corpus_ = std::make_shared<const Corpus>(std::move(*corpus));
  corpus_key_ = key_->text();
  corpus_info(reply);
}

void LmSession::tokens(Reply& reply) const {
  TG_CHECK(corpus_ != nullptr);
  reply.json = {{"bytes", reply.array(write_token_cache(*corpus_, corpus_key_))}};
}

void LmSession::corpus_info(Reply& reply) const {
  const Corpus& c = *corpus_;
  const TextBaselines baselines = text_baselines(c, tokenizer_.vocabulary());
  reply.json = {{"bytes", c.bytes()},
                {"tokens", c.size()},
                {"trainingTokens", c.training_tokens()},
                {"validationTokens", c.validation_tokens()},
                {"bytesPerToken", c.bytes_per_token()},
                {"vocabulary", tokenizer_.vocabulary()},
                {"baselines", {{"uniform", baselines.uniform}, {"unigram", baselines.unigram}, {"bigram", baselines.bigram}}}};
}

LmSettings LmSession::settings_from(const Json& patch, bool from_model) const {
  TG_CHECK(patch.is_object());
  std::string preset = "small";
  std::string kind = "gpt";
  if (patch.contains("model") && patch["model"].is_object()) {
    preset = patch["model"].value("name", preset);
    kind = patch["model"].value("kind", kind);
  }
  LmSettings base = default_lm_settings(preset, lm_kind_from(kind));
  base.model.vocabulary = tokenizer_.vocabulary();
  if (from_model) {
    if (!opened_) fail("There is no model: open one first.");
    const std::int64_t batch = base.model.batch;
    base.model = opened_->model.config;
    base.model.batch = batch;
  }
  Json settings = Json::parse(to_json(base));
  settings.merge_patch(patch);
  read_digits(settings);
  LmSettings read = lm_settings_from_json(settings.dump(), "settings");
  if (from_model && lm_parameters(read.model) != lm_parameters(opened_->model.config))
    fail("The sizes of the opened model cannot be changed. Take back the settings that name other sizes.");
  return read;
}

void LmSession::describe(const LmSettings& settings, std::int64_t parameters, const Program& program, Reply& reply) const {
  const StepCost cost = step_cost(program, settings);
  reply.json = {{"settings", with_digits(to_json(settings))},
                {"parameters", parameters},
                {"steps", settings.training.steps},
                {"stepTokens", step_tokens(settings)},
                {"flopsPerStep", cost.flops},
                {"launchesPerStep", cost.launches},
                {"launches", work_json(cost.work)},
                {"peakBytes", memory_use(program).total()},
                {"notices", lm_notices(settings, *corpus_, parameters)}};
}

void LmSession::plan(const Json& patch, bool from_model, const std::string& device, Reply& reply) const {
  if (!corpus_) fail("There is no text yet: open one first.");
  const LmSettings settings = settings_from(patch, from_model);
  corpus_->check_context(settings.model.context);
  const BuiltModel model = lm_entries(settings);
  describe(settings, parameter_count(model.parameters), compile(model.entries, device_caps(options_on(device)), device), reply);
}

void LmSession::train(const Json& patch, bool from_model, const std::string& device, Reply& reply) {
  if (!corpus_) fail("There is no text yet: open one first.");
  const LmSettings settings = settings_from(patch, from_model);
  writing_.reset();
  job_.reset();  // two runs at once may not fit into memory
  job_ = std::make_unique<LmJob>(corpus_, tokenizer_, settings, options_on(device),
                                 from_model ? &opened_->model.weights : nullptr);
  describe(job_->settings(), job_->parameters(), job_->session().program(), reply);
  reply.json["initialHash"] = job_->initial_hash();
}

void LmSession::restore(std::string_view bytes, bool ended, const std::string& device, Reply& reply) {
  const LmCheckpoint saved = parse_lm_checkpoint(bytes, "the saved run");
  TG_CHECK(corpus_ != nullptr);
  writing_.reset();
  job_.reset();
  auto job = std::make_unique<LmJob>(corpus_, tokenizer_, saved.settings, options_on(device));
  job->restore(saved);
  LmTrainer& trainer = job->trainer();
  if (ended && trainer.state().end == EndReason::kNone) {
    trainer.request_stop();
    while (trainer.advance() != LmTrainer::Event::kEnd) {
    }
  }
  job_ = std::move(job);
  describe(job_->settings(), job_->parameters(), job_->session().program(), reply);
}

// Of the steps after `first`, and of all validations.
void LmSession::numbers(std::int64_t first, Reply& reply) const {
  const LmTrainer& trainer = job().trainer();
  const LmTrainerState& s = trainer.state();
  std::vector<float> losses, norms, rates;
  for (std::int64_t step = first; step < s.step; ++step) {
    const auto i = static_cast<std::size_t>(step);
    losses.push_back(static_cast<float>(s.train_loss[i]));
    norms.push_back(static_cast<float>(s.grad_norm[i]));
    rates.push_back(static_cast<float>(trainer.rate_of(step + 1)));
  }
  reply.json = {{"ended", s.end != EndReason::kNone},
                {"end", end_word(s.end)},
                {"message", s.message},
                {"step", s.step},
                {"steps", trainer.config().steps},
                {"validating", trainer.validating()},
                {"firstStep", first},
                {"losses", reply.array(losses)},
                {"gradNorms", reply.array(norms)},
                {"learningRates", reply.array(rates)},
                {"validationStep", s.validation_step},
                {"validationLoss", s.validation_loss},
                {"bestStep", s.best_step}};
}

void LmSession::advance(double milliseconds, Reply& reply) {
  LmTrainer& trainer = job().trainer();
  TG_CHECK(!writing_);
  const auto start = std::chrono::steady_clock::now();
  const std::int64_t first = trainer.state().step;
  while (trainer.advance() != LmTrainer::Event::kEnd && seconds_since(start) * 1e3 < milliseconds) {
  }
  numbers(first, reply);
}

void LmSession::history(Reply& reply) const { numbers(0, reply); }

void LmSession::save(Reply& reply) {
  reply.json = {{"step", job().trainer().state().step}, {"bytes", reply.array(job().checkpoint())}};
}

void LmSession::model_open(const std::string& where, Reply& reply) {
  const Files files = std::exchange(files_, {});
  LmModel model = model_from_files(files, where);
  Session session = make_session(build_lm_generation(model.config).entries, options_);
  for (const auto& [name, value] : model.weights) session.write(name, value);
  writing_.reset();
  opened_ = std::make_unique<Opened>(std::move(model), std::move(session));
  const LmModel& m = opened_->model;
  reply.json = {{"name", where},
                {"model", model_json(m.config)},
                {"parameters", lm_parameter_count(m.config)},
                {"vocabulary", m.tokenizer.vocabulary()}};
}

void LmSession::write(const Json& args, Reply& reply) {
  const Source from = source(args.at("source").get<std::string>());
  const SamplingOptions sampling = sampling_from(args.at("sampling"));
  Generator generator(from.session, from.config, sampling);
  const std::vector<std::int32_t> prompt = from.tokenizer.encode(args.at("prompt").get<std::string>());
  generator.start(prompt);
  writing_.emplace(from.tokenizer, std::move(generator), Utf8Decoder(from.tokenizer),
                   from.tokenizer.added_token(kEndOfText).value_or(-1));
  reply.json = {{"promptTokens", prompt.size()}, {"context", from.config.context}};
}

void LmSession::write_more(double milliseconds, std::int64_t most, Reply& reply) {
  TG_CHECK(writing_.has_value());
  const auto start = std::chrono::steady_clock::now();
  Writing& w = *writing_;
  Json tokens = Json::array();
  std::int64_t written = 0;
  bool end = false;
  while (written < most && !end) {
    const std::int32_t id = w.generator.next();
    end = id == w.end_of_text;
    if (end) break;
    const double total = lse(w.generator.logits());
    const auto probability = [&](std::int32_t token) {
      return std::exp(static_cast<double>(w.generator.logits()[static_cast<std::size_t>(token)]) - total);
    };
    Json candidates = Json::array();
    for (const Candidate& c : w.generator.sampler().likeliest(kAlternatives))
      candidates.push_back(
          {{"text", shown(w.tokenizer, c.token)}, {"probability", probability(c.token)}, {"drawn", c.probability}});
    tokens.push_back({{"text", id < w.tokenizer.vocabulary() ? w.decoder.feed(id) : ""},
                      {"piece", shown(w.tokenizer, id)},
                      {"probability", probability(id)},
                      {"candidates", std::move(candidates)}});
    ++written;
    if (seconds_since(start) * 1e3 >= milliseconds) break;
  }
  const bool last = end || written == most;
  reply.json = {{"tokens", std::move(tokens)}, {"end", end}, {"rest", last ? w.decoder.finish() : ""}};
  if (last) writing_.reset();
}

void LmSession::attention(const std::string& name, const std::string& text, std::int64_t layer, Reply& reply) const {
  const Source from = source(name);
  const LmConfig& config = from.config;
  if (config.recurrent()) fail("Only a GPT has attention to look at.");
  if (layer < 0 || layer >= config.layers) fail("Layer ", layer + 1, " does not exist: the model has ", config.layers, ".");
  std::vector<std::int32_t> ids = from.tokenizer.encode(text);
  if (ids.empty()) fail("The text is empty: give at least one character to look at.");
  const std::size_t count = std::min(ids.size(), static_cast<std::size_t>(config.context));
  Json pieces = Json::array();
  for (std::size_t i = 0; i < count; ++i) pieces.push_back(shown(from.tokenizer, ids[i]));
  ids.resize(static_cast<std::size_t>(config.context), 0);

  Session session = make_session(build_gpt_attention(config, layer).entries, options_);
  for (const std::string& parameter : session.names(BufferRole::kParameter))
    session.write(parameter, from.session.read(parameter));
  session.write("attention.tokens", ids.data(), config.context);
  session.run("attention");
  const HostTensor all = session.read("attention.weights");
  // Of (H,T,T) the part of the text.
  const auto context = static_cast<std::size_t>(config.context), heads = static_cast<std::size_t>(config.heads);
  std::vector<float> weights;
  weights.reserve(heads * count * count);
  for (std::size_t head = 0; head < heads; ++head)
    for (std::size_t row = 0; row < count; ++row) {
      const auto first = all.f32.begin() + static_cast<std::ptrdiff_t>((head * context + row) * context);
      weights.insert(weights.end(), first, first + static_cast<std::ptrdiff_t>(count));
    }
  reply.json = {{"tokens", std::move(pieces)},
                {"layers", config.layers},
                {"heads", config.heads},
                {"weights", reply.array(std::span<const float>(weights))}};
}

void LmSession::download(const std::string& name, Reply& reply) const {
  const LmKind kind = source(name).config.kind;
  const Files files = model_files(name == "run" ? job().model() : opened_->model);
  Json list = Json::array();
  for (const auto& [file, bytes] : files)
    list.push_back({{"name", file}, {"type", "application/octet-stream"}, {"bytes", reply.array(std::string_view(bytes))}});
  reply.json = {{"kind", lm_kind_name(kind)}, {"files", std::move(list)}};
}

}  // namespace tabgrad::wasm
