// Language-model runs: they learn, they go on where they were cut off with the same bits, their files come back whole.
#include "lm/lm_job.h"

#include <gtest/gtest.h>

#include <cmath>

#include "data/tokenizer/bpe_trainer.h"
#include "unit/data/error_of.h"

namespace tabgrad {
namespace {

std::string text() {
  std::string t;
  for (int i = 0; i < 300; ++i) t += "the whale number " + std::to_string(i * i % 97) + " swam by; ";
  return t;
}

LmSettings settings() {
  LmSettings s = default_lm_settings("tiny");
  s.model.layers = 1;
  s.model.width = 16;
  s.model.heads = 2;
  s.model.context = 12;
  s.model.batch = 4;
  s.training.steps = 60;
  s.training.eval_every = 20;
  s.training.eval_batches = 3;
  s.training.learning_rate = 1e-2;
  return s;
}

Corpus corpus(double validation = 0.1) {
  CorpusBuilder builder(Tokenizer::bytes());
  builder.feed(text());
  builder.end_text();
  return builder.finish(validation);
}

LmJob job(const LmSettings& s = settings()) { return LmJob(corpus(s.validation), Tokenizer::bytes(), s, {.threads = 2}); }

void run_to_end(LmJob& j) {
  while (j.trainer().advance() != LmTrainer::Event::kEnd) {
  }
}

TEST(Corpus, TheValidationPartIsTheEndAndNoWindowCrosses) {
  const Corpus c = corpus();
  EXPECT_EQ(c.size(), static_cast<std::int64_t>(text().size()));
  EXPECT_EQ(c.training_tokens() + c.validation_tokens(), c.size());
  EXPECT_NEAR(static_cast<double>(c.validation_tokens()), 0.1 * static_cast<double>(c.size()), 1);
  std::vector<std::int32_t> tokens(12), targets(12);
  const std::string all = text();
  const std::string training = all.substr(0, static_cast<std::size_t>(c.training_tokens()));
  std::vector<bool> starts(training.size());
  for (std::int64_t n = 0; n < 3000; ++n) {
    c.training_window(1, n, tokens, targets);
    std::string window(tokens.begin(), tokens.end());
    window += static_cast<char>(targets.back());
    EXPECT_NE(training.find(window), std::string::npos);
    for (std::size_t i = 0; i + 1 < tokens.size(); ++i) EXPECT_EQ(targets[i], tokens[i + 1]);
  }
  std::string validation;
  for (std::int64_t n = 0; n < c.validation_windows(12); ++n) {
    c.validation_window(n, tokens, targets);
    validation.append(tokens.begin(), tokens.end());
  }
  EXPECT_EQ(validation, all.substr(training.size(), validation.size()));
  EXPECT_GE(validation.size() + 12, all.size() - training.size() - 1);
}

TEST(Corpus, WindowsAreSpreadEvenly) {
  const Corpus c = corpus(0);
  std::vector<std::int32_t> tokens(12), targets(12);
  // Windows begin everywhere: each tenth of the text gets its tenth. A window's place is found by its text, which repeats
  // too often here, so the mean of the byte values stands in for it.
  double sum = 0, all = 0;
  for (std::int64_t n = 0; n < 20000; ++n) {
    c.training_window(5, n, tokens, targets);
    sum += tokens[0];
  }
  const std::string t = text();
  for (const char byte : t) all += byte;
  EXPECT_NEAR(sum / 20000, all / static_cast<double>(t.size()), 1.0);
}

TEST(Corpus, TooShortATextIsRefusedWithAdvice) {
  CorpusBuilder builder(Tokenizer::bytes());
  builder.feed("short");
  builder.end_text();
  const Corpus c = builder.finish(0.1);
  const std::string message = error_of([&] { c.check_context(64); });
  EXPECT_NE(message.find("context of 64"), std::string::npos) << message;
  CorpusBuilder empty(Tokenizer::bytes());
  EXPECT_THROW(empty.finish(0.1), Error);
}

TEST(LmJob, LearnsAndValidatesAtTheInterval) {
  LmJob j = job();
  run_to_end(j);
  const LmTrainerState& s = j.trainer().state();
  EXPECT_EQ(s.end, EndReason::kEpochs);
  EXPECT_EQ(s.validation_step, (std::vector<std::int64_t>{0, 20, 40, 60}));
  EXPECT_NEAR(s.validation_loss.front(), std::log(256.0), 0.2);
  EXPECT_LT(s.validation_loss.back(), 3.2);
  EXPECT_EQ(s.train_loss.size(), 60u);
  EXPECT_NEAR(j.trainer().validate_all(), s.best_loss, 0.1);  // the session holds the best weights
}

TEST(LmJob, ResumedAtAnyPointGivesTheSameBits) {
  LmJob whole = job();
  run_to_end(whole);
  for (const int pieces : {1, 7, 25, 33, 71}) {
    LmJob first = job();
    for (int i = 0; i < pieces; ++i) first.trainer().advance();
    const LmCheckpoint saved = parse_lm_checkpoint(first.checkpoint(), "checkpoint");
    LmJob second = job(saved.settings);
    second.restore(saved);
    run_to_end(second);
    EXPECT_EQ(second.trainer().state().train_loss, whole.trainer().state().train_loss) << pieces;
    EXPECT_EQ(second.trainer().state().validation_loss, whole.trainer().state().validation_loss) << pieces;
    EXPECT_EQ(hash_values(second.model().weights), hash_values(whole.model().weights)) << pieces;
  }
}

TEST(LmJob, SamplingOnTheWayChangesNothing) {
  LmJob plain = job(), sampled = job();
  run_to_end(plain);
  int pieces = 0;
  while (sampled.trainer().advance() != LmTrainer::Event::kEnd)
    if (++pieces % 10 == 0) EXPECT_GT(sampled.sample("the ", 20, {}).size(), 0u);
  EXPECT_EQ(sampled.trainer().state().train_loss, plain.trainer().state().train_loss);
}

// Two batches of 4 in one step see what one batch of 8 sees, in the same order.
TEST(LmJob, AccumulationEqualsTheLargerBatch) {
  LmSettings s = settings();
  s.training.steps = 10;
  s.training.accumulate = 2;
  LmJob pieces = job(s);
  run_to_end(pieces);
  s.training.accumulate = 1;
  s.model.batch = 8;
  LmJob whole = job(s);
  run_to_end(whole);
  ASSERT_EQ(pieces.trainer().state().step, 10);
  for (std::size_t i = 0; i < 10; ++i)
    EXPECT_NEAR(pieces.trainer().state().train_loss[i], whole.trainer().state().train_loss[i], 1e-5) << i;
  EXPECT_NEAR(pieces.step_flops(), whole.step_flops(), 1e-9 * whole.step_flops());
}

TEST(LmJob, EveryOptimizerLearns) {
  using Kind = OptimizerConfig::Kind;
  for (const auto& [kind, rate] : {std::pair{Kind::kSgd, 0.5}, {Kind::kAdam, 1e-2}, {Kind::kLion, 5e-3}, {Kind::kMuon, 1e-2}}) {
    LmSettings s = settings();
    s.training.optimizer.kind = kind;
    if (kind == Kind::kSgd) s.training.optimizer.weight_decay = 0;
    s.training.learning_rate = rate;
    LmJob j = job(s);
    run_to_end(j);
    EXPECT_LT(j.trainer().state().validation_loss.back(), 3.6) << static_cast<int>(kind);
  }
}

TEST(LmJob, RecurrentRunsResumeWithTheSameBits) {
  for (const LmKind kind : {LmKind::kLstm, LmKind::kGru}) {
    LmSettings s = settings();
    s.model.kind = kind;
    s.model.dropout = 0.1;
    LmJob whole = job(s), first = job(s);
    run_to_end(whole);
    for (int i = 0; i < 33; ++i) first.trainer().advance();
    const LmCheckpoint saved = parse_lm_checkpoint(first.checkpoint(), "checkpoint");
    LmJob second = job(saved.settings);
    second.restore(saved);
    run_to_end(second);
    EXPECT_EQ(second.trainer().state().train_loss, whole.trainer().state().train_loss) << lm_kind_name(kind);
    EXPECT_EQ(hash_values(second.model().weights), hash_values(whole.model().weights)) << lm_kind_name(kind);
  }
}

TEST(LmJob, ARunOnOtherTextIsRefused) {
  LmJob first = job();
  first.trainer().advance();
  CorpusBuilder builder(Tokenizer::bytes());
  builder.feed(text() + "more");
  builder.end_text();
  LmJob other(builder.finish(0.1), Tokenizer::bytes(), settings(), {.threads = 1});
  EXPECT_NE(error_of([&] { other.restore(parse_lm_checkpoint(first.checkpoint(), "c")); }).find("text has changed"),
            std::string::npos);
  EXPECT_NE(error_of([&] { parse_lm_checkpoint("damaged", "c.safetensors"); }).find("c.safetensors"), std::string::npos);
}

TEST(LmJob, DivergenceIsToldAndKeepsTheBest) {
  LmSettings s = settings();
  s.training.learning_rate = 1e6;
  s.training.warmup = 0;
  s.clip = 0;
  s.training.optimizer = {.kind = OptimizerConfig::Kind::kSgd};
  LmJob j = job(s);
  run_to_end(j);
  EXPECT_EQ(j.trainer().state().end, EndReason::kDiverged);
  EXPECT_NE(j.trainer().state().message.find("step"), std::string::npos);
  for (const auto& [name, tensor] : j.model().weights)
    for (const float v : tensor.f32) ASSERT_TRUE(std::isfinite(v)) << name;
}

TEST(LmJob, FilesComeBack) {
  for (const char* kind : {"gpt2", "rope", "lstm", "gru"}) {
    LmSettings s = settings();
    if (kind == std::string("rope")) {
      s.model.positions = PositionKind::kRope;
    } else if (kind != std::string("gpt2")) {
      s.model.kind = lm_kind_from(kind);
    }
    BpeTrainer trainer;
    trainer.feed(text());
    const Tokenizer tokenizer = trainer.train({.vocabulary = 300, .special_tokens = {kEndOfText}});
    CorpusBuilder builder(tokenizer);
    builder.feed(text());
    builder.end_text();
    LmJob j(builder.finish(0.1), tokenizer, s, {.threads = 2});
    for (int i = 0; i < 10; ++i) j.trainer().advance();
    const LmModel model = j.model();
    Files files = model_files(model);
    const LmModel back = model_from_files(files, "folder");
    EXPECT_EQ(hash_values(back.weights), hash_values(model.weights));
    EXPECT_EQ(back.tokenizer.to_json(), tokenizer.to_json());
    EXPECT_EQ(lm_parameters(back.config), lm_parameters(model.config));
    const Files whole = files;
    files.erase(kTokenizerFile);
    EXPECT_NE(error_of([&] { model_from_files(files, "folder"); }).find(kTokenizerFile), std::string::npos);
    files = whole;
    files[kModelWeightsFile].resize(100);
    EXPECT_NE(error_of([&] { model_from_files(files, "folder"); }).find(kModelWeightsFile), std::string::npos);
    files = whole;
    files[kConfigFile] = "{\"model_type\": \"mamba\"}";
    EXPECT_NE(error_of([&] { model_from_files(files, "folder"); }).find("mamba"), std::string::npos);
  }
}

// The cache against recomputing the kept text at every token, through several refills of the context.
TEST(Generator, EqualsFullRecomputation) {
  LmJob j = job();
  run_to_end(j);
  Session& session = j.session();
  const std::int64_t context = settings().model.context;
  std::vector<std::int32_t> kept = j.tokenizer().encode("the whale");
  Generator generator(session, j.settings().model, {.temperature = 0});
  generator.start(kept);
  std::vector<std::int32_t> fast;
  for (int i = 0; i < 256; ++i) fast.push_back(generator.next());
  for (std::size_t i = 0; i < fast.size(); ++i) {
    if (static_cast<std::int64_t>(kept.size()) > context) kept.erase(kept.begin(), kept.end() - context / 2);
    std::vector<std::int32_t> window = kept;
    window.resize(static_cast<std::size_t>(context));
    const auto last = static_cast<std::int32_t>(kept.size() - 1);
    session.write("prefill.tokens", window.data(), context);
    session.write("prefill.last", &last, 1);
    session.run("prefill");
    const std::vector<float> logits = session.read("prefill.logits").f32;
    const auto best = static_cast<std::int32_t>(std::max_element(logits.begin(), logits.end()) - logits.begin());
    ASSERT_EQ(fast[i], best) << "token " << i;
    kept.push_back(best);
  }
}

// A recurrent model's state, carried past the context, against reading the whole text anew at every token.
TEST(Generator, CarriedStateEqualsFullRecomputation) {
  for (const LmKind kind : {LmKind::kLstm, LmKind::kGru}) {
    LmSettings s = settings();
    s.model.kind = kind;
    LmJob j = job(s);
    run_to_end(j);
    EXPECT_LT(j.trainer().state().validation_loss.back(), 3.6);
    std::vector<std::int32_t> text = j.tokenizer().encode("the whale");
    Generator generator(j.session(), s.model, {.temperature = 0});
    generator.start(text);
    LmConfig longer = s.model;
    longer.context = 300;
    Session whole = make_session(build_lm_generation(longer).entries, {.threads = 2});
    for (const auto& [name, value] : j.model().weights) whole.write(name, value);
    for (int i = 0; i < 256; ++i) {
      std::vector<std::int32_t> window = text;
      window.resize(static_cast<std::size_t>(longer.context));
      const auto last = static_cast<std::int32_t>(text.size() - 1);
      whole.write("prefill.tokens", window.data(), longer.context);
      whole.write("prefill.last", &last, 1);
      whole.run("prefill");
      const std::vector<float> logits = whole.read("prefill.logits").f32;
      const auto best = static_cast<std::int32_t>(std::max_element(logits.begin(), logits.end()) - logits.begin());
      ASSERT_EQ(generator.next(), best) << lm_kind_name(kind) << ", token " << i;
      text.push_back(best);
    }
  }
}

TEST(Generator, BadPromptsAreNamed) {
  LmJob j = job();
  Generator generator(j.session(), j.settings().model, {});
  EXPECT_THROW(generator.start({}), Error);
  EXPECT_THROW(generator.start({256}), Error);
  generator.start(std::vector<std::int32_t>(40, 65));  // longer than the context: its end counts
  EXPECT_GE(generator.next(), 0);
}

}  // namespace
}  // namespace tabgrad
