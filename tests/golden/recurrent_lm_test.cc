// LSTM and GRU language models on the CPU against PyTorch in float64: gradients of step 1, ten losses, and the weights they end at.
#include <gtest/gtest.h>

#include "engine/engine.h"
#include "golden/golden.h"
#include "golden/lm_batch.h"
#include "models/language_model.h"
#include "nn/train_step.h"

namespace tabgrad {
namespace {

class RecurrentLmGolden : public testing::TestWithParam<LmKind> {
 protected:
  LmConfig config() const {
    LmConfig c;
    c.kind = GetParam();
    c.layers = 2;
    c.width = 24;
    c.context = 20;
    c.batch = 4;
    return c;
  }
  Safetensors golden() const { return golden::read(str("lm_", lm_kind_name(GetParam()))); }
};

void start(Session& session, const BuiltModel& model, const Safetensors& file) {
  for (const ParameterSpec& p : model.parameters) session.write(p.name, golden::tensor(file, "init." + p.name));
}

void write(Session& session, const golden::LmBatch& batch) {
  session.write("tokens", batch.tokens);
  session.write("targets", batch.targets);
}

TEST_P(RecurrentLmGolden, GradientsOfStepOne) {
  const Safetensors file = golden();
  const BuiltModel model = build_lm_gradients(config());
  Session session = make_session(model.entries);
  start(session, model, file);
  write(session, golden::lm_batch(config(), 0));
  session.run("gradients");
  for (const ParameterSpec& p : model.parameters) {
    const std::vector<float>& want = golden::tensor(file, "grad." + p.name).f32;
    EXPECT_LE(golden::distance(session.read("grad." + p.name).f32, want) / golden::norm(want), 1e-5) << p.name;
  }
}

TEST_P(RecurrentLmGolden, TenSteps) {
  const Safetensors file = golden();
  const BuiltModel model = build_lm(config(), gpt_optimizer(), kGptClipNorm, 1);
  Session session = make_session(model.entries);
  start(session, model, file);
  const std::vector<float>& losses = golden::tensor(file, "losses").f32;
  const std::vector<float>& norms = golden::tensor(file, "norms").f32;
  for (std::size_t step = 0; step < losses.size(); ++step) {
    write(session, golden::lm_batch(config(), static_cast<int>(step)));
    set_step_uniforms(session, gpt_optimizer(), 3e-3, static_cast<std::int64_t>(step) + 1);
    session.run("train_step");
    EXPECT_NEAR(session.read_scalar("loss"), losses[step], 1e-5f * losses[step]) << "step " << step;
    EXPECT_NEAR(session.read_scalar("grad_norm"), norms[step], 1e-4f * norms[step]) << "step " << step;
  }
  for (const ParameterSpec& p : model.parameters) {
    double sum = 0;
    for (const float w : session.read(p.name).f32) sum += static_cast<double>(std::abs(w));
    const auto want = static_cast<double>(golden::tensor(file, "final_sum." + p.name).f32[0]);
    EXPECT_NEAR(sum, want, 1e-4 * want) << p.name;
  }
}

INSTANTIATE_TEST_SUITE_P(Kinds, RecurrentLmGolden, testing::Values(LmKind::kLstm, LmKind::kGru),
                         [](const auto& test) { return std::string(lm_kind_name(test.param)); });

}  // namespace
}  // namespace tabgrad
