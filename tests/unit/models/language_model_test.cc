// LSTM and GRU language models: sizes, that they learn, that carried states compute what the whole text does, and that no kind of
// model computes anything else where activations are computed again.
#include "models/language_model.h"

#include <gtest/gtest.h>

#include <cmath>

#include "engine/engine.h"
#include "graph/recompute.h"
#include "nn/train_step.h"
#include "tensor/philox.h"

namespace tabgrad {
namespace {

LmConfig small_config(LmKind kind) {
  LmConfig c;
  c.kind = kind;
  c.layers = 2;
  c.width = 24;
  c.heads = 3;
  c.context = 16;
  c.batch = 3;
  c.vocabulary = 37;
  return c;
}

std::vector<std::pair<std::string, LmConfig>> variants() {
  std::vector<std::pair<std::string, LmConfig>> all;
  for (const LmKind kind : {LmKind::kLstm, LmKind::kGru}) {
    const std::string name = lm_kind_name(kind);
    all.emplace_back(name, small_config(kind));
    all.emplace_back(name + "_untied_dropout", small_config(kind));
    all.back().second.tied = false;
    all.back().second.dropout = 0.1;
    all.back().second.label_smoothing = 0.1;
    all.emplace_back(name + "_odd", small_config(kind));
    all.back().second.width = 7;
    all.back().second.layers = 1;
  }
  return all;
}

std::int32_t token(const LmConfig& c, std::uint64_t i) {
  return static_cast<std::int32_t>(philox_u32(5, 77, i) % static_cast<std::uint32_t>(c.vocabulary));
}

void write_batch(Session& session, const LmConfig& c, const std::vector<const char*>& prefixes) {
  std::vector<std::int32_t> tokens, targets;
  for (std::int64_t i = 0; i < c.batch * c.context; ++i) {
    tokens.push_back(token(c, static_cast<std::uint64_t>(i)));
    targets.push_back(token(c, static_cast<std::uint64_t>(i) + 1));
  }
  const auto count = static_cast<std::int64_t>(tokens.size());
  for (const char* prefix : prefixes) {
    session.write(str(prefix, "tokens"), tokens.data(), count);
    session.write(str(prefix, "targets"), targets.data(), count);
  }
}

void train_step(Session& session, int step) {
  set_step_uniforms(session, gpt_optimizer(), 1e-2, step);
  session.set_random(1, static_cast<std::uint32_t>(step));
  session.run("train_step");
}

class RecurrentLm : public testing::TestWithParam<std::pair<std::string, LmConfig>> {};

TEST_P(RecurrentLm, LearnsABatch) {
  const LmConfig& c = GetParam().second;
  const BuiltModel model = build_lm(c, gpt_optimizer(), kGptClipNorm, 1);
  EXPECT_EQ(parameter_count(model.parameters), lm_parameter_count(c));
  Session session = make_session(model.entries, {.threads = 2});
  write_initial_values(session, model.parameters, 1);
  write_batch(session, c, {"", "eval."});
  const auto evaluate = [&] {
    session.run("evaluate");
    double sum = 0;
    for (const float nll : session.read("eval.nll").f32) sum += static_cast<double>(nll);
    return sum / static_cast<double>(c.batch);
  };
  const double before = evaluate();
  EXPECT_NEAR(before, std::log(37.0), 0.2);
  for (int step = 1; step <= 60; ++step) train_step(session, step);
  EXPECT_LT(evaluate(), 0.7 * before);
}

// The logits after each token: a whole text at once, against its first few and then a token at a time, on beyond the context.
TEST_P(RecurrentLm, CarriedStatesEqualTheWholeText) {
  const LmConfig& c = GetParam().second;
  LmConfig longer = c;
  longer.context = 40;
  const BuiltModel model = build_lm_generation(c);
  Session session = make_session(model.entries, {.threads = 2}), whole = make_session(build_lm_generation(longer).entries);
  write_initial_values(session, model.parameters, 1);
  write_initial_values(whole, model.parameters, 1);
  std::vector<std::int32_t> tokens;
  for (std::int64_t i = 0; i < longer.context; ++i) tokens.push_back(token(c, static_cast<std::uint64_t>(i)));
  const auto prefill = [&](Session& s, std::int64_t context, std::int32_t length) {
    std::vector<std::int32_t> window(tokens.begin(), tokens.begin() + length);
    window.resize(static_cast<std::size_t>(context), 5);  // what lies behind is of no influence
    const std::int32_t last = length - 1;
    s.write("prefill.tokens", window.data(), context);
    s.write("prefill.last", &last, 1);
    s.run("prefill");
    return s.read("prefill.logits").f32;
  };
  for (const std::int32_t first : {1, 3, 16}) {
    std::vector<float> logits = prefill(session, c.context, first);
    for (std::int32_t length = first;; ++length) {
      const std::vector<float> want = prefill(whole, longer.context, length);
      for (std::size_t v = 0; v < want.size(); ++v)
        ASSERT_NEAR(logits[v], want[v], 2e-6) << "after " << first << " and then up to " << length << " tokens, logit " << v;
      if (length == longer.context) break;
      session.write("decode.token", &tokens[static_cast<std::size_t>(length)], 1);
      session.run("decode");
      logits = session.read("decode.logits").f32;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, RecurrentLm, testing::ValuesIn(variants()), [](const auto& info) { return info.param.first; });

TEST(LanguageModel, RecurrentPresetsHaveAsManyWeightsAsTheBlocks) {
  for (const GptConfig& preset : gpt_presets())
    for (const LmKind kind : {LmKind::kLstm, LmKind::kGru}) {
      const LmConfig c = lm_preset(preset.name, kind);
      const auto gates = kind == LmKind::kLstm ? 4 : 3;
      const auto blocks = static_cast<double>(12 * preset.layers * preset.width * preset.width);
      const auto layers = static_cast<double>(c.layers * 2 * gates * c.width * c.width);
      EXPECT_GE(layers, blocks) << preset.name;
      EXPECT_LE(layers, 1.4 * blocks) << preset.name;  // tiny is rounded up most
    }
  EXPECT_EQ(lm_parameter_count(lm_preset("small", LmKind::kGpt)), 366432);
  const LmConfig lstm = lm_preset("small", LmKind::kLstm);
  EXPECT_EQ(lstm.width, 144);
  EXPECT_EQ(lm_parameter_count(lstm), 256 * 144 + 2 * (8 * 144 * 144 + 4 * 144));
}

TEST(LanguageModel, WordsGoBothWays) {
  for (const char* word : {"gpt", "lstm", "gru"}) EXPECT_STREQ(lm_kind_name(lm_kind_from(word)), word);
  EXPECT_THROW(lm_kind_from("mamba"), Error);
  LmConfig c = small_config(LmKind::kLstm);
  c.heads = 5;  // of no use here, so it need not divide the width
  EXPECT_NO_THROW(check_lm(c));
  c.width = 5000;
  EXPECT_THROW(check_lm(c), Error);
}

// Losses and weights to the last bit, and that the forward pass really runs twice.
TEST(Recompute, SameBitsForLessMemory) {
  std::vector<std::pair<std::string, LmConfig>> models = variants();
  for (const auto& [name, change] : std::vector<std::pair<std::string, std::function<void(LmConfig&)>>>{
           {"gpt", [](LmConfig&) {}},
           {"gpt_dropout", [](LmConfig& c) { c.dropout = 0.2; }},
           {"gpt_llama_like",
            [](LmConfig& c) {
              c.positions = PositionKind::kRope;
              c.norm = NormKind::kRmsNorm;
              c.mlp = MlpKind::kSwiglu;
              c.kv_heads = 1;
              c.tied = false;
            }},
           {"gpt_alibi", [](LmConfig& c) { c.positions = PositionKind::kAlibi; }}}) {
    models.emplace_back(name, small_config(LmKind::kGpt));
    change(models.back().second);
  }
  for (auto& [name, config] : models) {
    config.layers = 4;
    std::vector<std::vector<float>> losses, weights;
    std::vector<std::int64_t> arena;
    for (const bool again : {false, true}) {
      BuiltModel model = build_lm(config, gpt_optimizer(), kGptClipNorm, 1);
      if (again) model.entries[0].graph = recompute(model.entries[0].graph, lm_layer_names(config));
      Session session = make_session({model.entries[0]}, {.threads = 2});
      write_initial_values(session, model.parameters, 1);
      write_batch(session, config, {""});
      losses.emplace_back();
      for (int step = 1; step <= 5; ++step) {
        train_step(session, step);
        losses.back().push_back(session.read_scalar("loss"));
        losses.back().push_back(session.read_scalar("grad_norm"));
      }
      weights.emplace_back();
      for (const ParameterSpec& p : model.parameters)
        for (const float w : session.read(p.name).f32) weights.back().push_back(w);
      arena.push_back(memory_use(session.program()).arena);
    }
    EXPECT_EQ(losses[0], losses[1]) << name;
    EXPECT_EQ(weights[0], weights[1]) << name;
    EXPECT_LT(arena[1], arena[0]) << name;
  }
}

}  // namespace
}  // namespace tabgrad
