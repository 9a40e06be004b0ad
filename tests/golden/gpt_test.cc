// GPT on the CPU against PyTorch in float64: gradients of step 1, ten losses, and the weights they end at. Also that weights and
// batches start from the same bits, without which the rest says nothing.
#include <gtest/gtest.h>

#include <bit>

#include "engine/engine.h"
#include "golden/golden.h"
#include "golden/lm_batch.h"
#include "models/gpt.h"
#include "nn/train_step.h"

namespace tabgrad {
namespace {

constexpr std::uint64_t kSeed = golden::kLmSeed;
constexpr int kSteps = 10;

class GptGolden : public testing::TestWithParam<const char*> {
 protected:
  const GptConfig& config() const { return gpt_preset(GetParam()); }
  Safetensors golden() const { return golden::read(str("gpt_", GetParam())); }
};

TEST_P(GptGolden, WeightsAndTokensStartEqual) {
  const Safetensors file = golden();
  const std::vector<ParameterSpec> parameters = build_gpt(config()).parameters;
  EXPECT_EQ(std::to_string(parameter_count(parameters)), file.metadata.at("parameters"));
  EXPECT_EQ(hash_text(hash_values(initial_values(parameters, kSeed))), file.metadata.at("weights_fnv1a64"));
  NamedTensors tokens;  // the hash is over bits, so ids are shown to it as floats of the same bits
  for (int step = 0; step < kSteps; ++step) {
    const golden::LmBatch batch = golden::lm_batch(config(), step);
    for (const HostTensor* ids : {&batch.tokens, &batch.targets}) {
      std::vector<float> bits;
      for (const std::int32_t id : ids->i32) bits.push_back(std::bit_cast<float>(id));
      tokens.emplace_back("", HostTensor::of(ids->dims, bits));
    }
  }
  EXPECT_EQ(hash_text(hash_values(tokens)), file.metadata.at("tokens_fnv1a64"));
}

TEST_P(GptGolden, GradientsOfStepOne) {
  const Safetensors file = golden();
  const BuiltModel model = build_gpt_gradients(config());
  Session session = make_session(model.entries);
  write_initial_values(session, model.parameters, kSeed);
  const golden::LmBatch batch = golden::lm_batch(config(), 0);
  session.write("tokens", batch.tokens);
  session.write("targets", batch.targets);
  session.run("gradients");
  double total = 0;
  for (const ParameterSpec& p : model.parameters)
    total += std::pow(golden::norm(golden::tensor(file, "grad." + p.name).f32), 2);
  total = std::sqrt(total);
  for (const ParameterSpec& p : model.parameters) {
    const std::vector<float>& want = golden::tensor(file, "grad." + p.name).f32;
    const std::vector<float> got = session.read("grad." + p.name).f32;
    ASSERT_EQ(got.size(), want.size());
    // A key projection's bias has zero gradient in exact arithmetic; so nothing is divided by less than 1e-6 of the whole.
    EXPECT_LE(golden::distance(got, want) / std::max(golden::norm(want), 1e-6 * total), 1e-5) << p.name;
  }
}

TEST_P(GptGolden, TenSteps) {
  const Safetensors file = golden();
  const BuiltModel model = build_gpt(config());
  Session session = make_session(model.entries);
  write_initial_values(session, model.parameters, kSeed);
  const std::vector<float>& losses = golden::tensor(file, "losses").f32;
  const std::vector<float>& norms = golden::tensor(file, "norms").f32;
  for (int step = 0; step < kSteps; ++step) {
    const golden::LmBatch batch = golden::lm_batch(config(), step);
    session.write("tokens", batch.tokens);
    session.write("targets", batch.targets);
    set_step_uniforms(session, gpt_optimizer(), kGptLearningRate, step + 1);
    session.run("train_step");
    const auto i = static_cast<std::size_t>(step);
    EXPECT_NEAR(session.read_scalar("loss"), losses[i], 1e-5f * losses[i]) << "step " << step;
    EXPECT_NEAR(session.read_scalar("grad_norm"), norms[i], 1e-4f * norms[i]) << "step " << step;
  }
  for (const ParameterSpec& p : model.parameters) {
    if (p.name.ends_with("attn.qkv.b")) continue;  // Adam turns the rounding of its key part into steps of full size
    double sum = 0;
    for (const float w : session.read(p.name).f32) sum += static_cast<double>(std::abs(w));
    const auto want = static_cast<double>(golden::tensor(file, "final_sum." + p.name).f32[0]);
    EXPECT_NEAR(sum, want, 1e-4 * want) << p.name;
  }
}

INSTANTIATE_TEST_SUITE_P(Presets, GptGolden, testing::Values("tiny", "small"),
                         [](const auto& test) { return std::string(test.param); });

}  // namespace
}  // namespace tabgrad
