// GPT's options: that each builds, learns, and that generation with a key/value cache computes what the whole text does.
#include <gtest/gtest.h>

#include <cmath>

#include "engine/engine.h"
#include "models/gpt.h"
#include "nn/train_step.h"
#include "tensor/philox.h"

namespace tabgrad {
namespace {

GptConfig small_config() {
  return {.name = "test", .layers = 2, .width = 24, .heads = 3, .context = 16, .batch = 3, .vocabulary = 37};
}

std::vector<std::pair<std::string, GptConfig>> variants() {
  std::vector<std::pair<std::string, GptConfig>> all;
  const auto add = [&](const char* name, auto change) {
    all.emplace_back(name, small_config());
    change(all.back().second);
  };
  add("plain", [](GptConfig&) {});
  add("sinusoidal", [](GptConfig& c) { c.positions = PositionKind::kSinusoidal; });
  add("rope", [](GptConfig& c) { c.positions = PositionKind::kRope; });
  add("alibi", [](GptConfig& c) { c.positions = PositionKind::kAlibi; });
  add("grouped_alibi", [](GptConfig& c) {
    c.positions = PositionKind::kAlibi;
    c.kv_heads = 1;
  });
  add("no_positions", [](GptConfig& c) { c.positions = PositionKind::kNone; });
  add("llama_like", [](GptConfig& c) {
    c.positions = PositionKind::kRope;
    c.norm = NormKind::kRmsNorm;
    c.mlp = MlpKind::kSwiglu;
    c.mlp_width = 40;
    c.kv_heads = 1;
    c.tied = false;
  });
  add("gelu_tanh", [](GptConfig& c) { c.mlp = MlpKind::kGeluTanh; });
  add("relu2_qk_norm", [](GptConfig& c) {
    c.mlp = MlpKind::kRelu2;
    c.qk_norm = true;
  });
  add("dropout_smoothing", [](GptConfig& c) {
    c.dropout = 0.1;
    c.label_smoothing = 0.1;
  });
  return all;
}

class GptOptions : public testing::TestWithParam<std::pair<std::string, GptConfig>> {};

std::int32_t token(const GptConfig& c, std::uint64_t i) {
  return static_cast<std::int32_t>(philox_u32(5, 77, i) % static_cast<std::uint32_t>(c.vocabulary));
}

// Twenty steps on one batch: it must be learned by heart, to well below what guessing gives.
TEST_P(GptOptions, LearnsABatch) {
  const GptConfig& c = GetParam().second;
  const BuiltModel model = build_gpt(c);
  EXPECT_EQ(parameter_count(model.parameters), gpt_parameter_count(c));
  Session session = make_session(model.entries, {.threads = 2});
  write_initial_values(session, model.parameters, 1);
  std::vector<std::int32_t> tokens, targets;
  for (std::int64_t i = 0; i < c.batch * c.context; ++i) {
    tokens.push_back(token(c, static_cast<std::uint64_t>(i)));
    targets.push_back(token(c, static_cast<std::uint64_t>(i) + 1));
  }
  const auto evaluate = [&] {
    session.run("evaluate");
    double sum = 0;
    for (const float nll : session.read("eval.nll").f32) sum += static_cast<double>(nll);
    return sum / static_cast<double>(c.batch);
  };
  const auto count = static_cast<std::int64_t>(tokens.size());
  for (const char* prefix : {"", "eval."}) {
    session.write(str(prefix, "tokens"), tokens.data(), count);
    session.write(str(prefix, "targets"), targets.data(), count);
  }
  const double before = evaluate();
  EXPECT_NEAR(before, std::log(37.0), 0.2);
  for (int step = 1; step <= 20; ++step) {
    set_step_uniforms(session, gpt_optimizer(), 1e-2, step);
    session.set_random(1, static_cast<std::uint32_t>(step));
    session.run("train_step");
  }
  EXPECT_LT(evaluate(), 0.6 * before);
}

// The logits after each token: prefill of the text so far, against prefill of the first few and then a token at a time.
TEST_P(GptOptions, CacheEqualsTheWholeText) {
  const GptConfig& c = GetParam().second;
  const BuiltModel model = build_gpt_generation(c);
  Session session = make_session(model.entries, {.threads = 2});
  write_initial_values(session, model.parameters, 1);
  const auto prefill = [&](std::int64_t length) {
    std::vector<std::int32_t> tokens;
    for (std::int64_t i = 0; i < c.context; ++i) tokens.push_back(i < length ? token(c, static_cast<std::uint64_t>(i)) : 0);
    const auto last = static_cast<std::int32_t>(length - 1);
    session.write("prefill.tokens", tokens.data(), c.context);
    session.write("prefill.last", &last, 1);
    session.run("prefill");
    return session.read("prefill.logits").f32;
  };
  std::vector<std::vector<float>> whole;
  for (std::int64_t length = 1; length <= c.context; ++length) whole.push_back(prefill(length));
  prefill(3);
  for (std::int64_t length = 4; length <= c.context; ++length) {
    const std::int32_t next = token(c, static_cast<std::uint64_t>(length - 1)), at = static_cast<std::int32_t>(length - 1);
    session.write("decode.token", &next, 1);
    session.write("decode.position", &at, 1);
    session.run("decode");
    const std::vector<float> logits = session.read("decode.logits").f32;
    for (std::size_t v = 0; v < logits.size(); ++v)
      ASSERT_NEAR(logits[v], whole[static_cast<std::size_t>(at)][v], 2e-6) << "after " << length << " tokens, logit " << v;
  }
}

INSTANTIATE_TEST_SUITE_P(All, GptOptions, testing::ValuesIn(variants()), [](const auto& info) { return info.param.first; });

TEST(GptOptions, BadSizesAreNamed) {
  const auto message = [](auto change) {
    GptConfig c = small_config();
    change(c);
    try {
      check_gpt(c);
    } catch (const Error& e) {
      return std::string(e.what());
    }
    return std::string();
  };
  EXPECT_NE(message([](GptConfig& c) { c.heads = 5; }).find("--heads 5"), std::string::npos);
  EXPECT_NE(message([](GptConfig& c) { c.kv_heads = 2; }).find("--kv-heads 2"), std::string::npos);
  EXPECT_NE(message([](GptConfig& c) { c.width = 27, c.heads = 3, c.positions = PositionKind::kRope; }).find("rope"),
            std::string::npos);
  EXPECT_NE(message([](GptConfig& c) { c.dropout = 1; }).find("--dropout"), std::string::npos);
  EXPECT_EQ(message([](GptConfig&) {}), "");
  EXPECT_THROW(mlp_kind_from("swish"), Error);
  EXPECT_EQ(mlp_kind_name(mlp_kind_from("swiglu")), std::string("swiglu"));
}

}  // namespace
}  // namespace tabgrad
