// Recurrent nets and an MLP trained for ten steps on the CPU against PyTorch in float64: losses, gradient norms before clipping,
// final weights. Covers gradients, clipping and each optimizer together.
#include <gtest/gtest.h>

#include "engine/engine.h"
#include "golden/golden.h"
#include "nn/module.h"
#include "nn/train_step.h"

namespace tabgrad {
namespace {

enum class Net { kMlp, kLstm, kGruAfter, kGruBefore };
struct Curve {
  const char* name;
  Net net;
  OptimizerConfig::Kind optimizer;
  double lr;
};

constexpr std::int64_t kTime = 7, kBatch = 8, kFeatures = 5, kHidden = 6;
constexpr int kSteps = 10;

OptimizerConfig optimizer_of(const Curve& curve) {
  OptimizerConfig c;
  c.kind = curve.optimizer;
  const bool adamw = curve.optimizer == OptimizerConfig::Kind::kAdamW;
  c.beta2 = adamw ? 0.95 : 0.999;
  c.weight_decay = adamw ? 0.1 : 0.0;
  c.momentum = 0.9;
  return c;
}

// x (T,B,F) → (B,1), in the words of tests/golden/README.md.
Tensor build_net(Builder& b, Net net, Tensor x) {
  const auto param = [&](const char* name, Dims dims) {
    const bool matrix = dims.size() >= 2;
    return b.param(name, std::move(dims), Init::zeros(), matrix);
  };
  const auto last = [](Tensor seq) { return reshape(slice(seq, 0, kTime - 1, kTime), {kBatch, seq.dim(2)}); };
  if (net == Net::kMlp) {
    const Tensor hidden = tanh(linear(last(x), param("w1", {kFeatures, kHidden}), param("b1", {kHidden})));
    return linear(hidden, param("w2", {kHidden, 1}), param("b2", {1}));
  }
  const std::int64_t gates = (net == Net::kLstm ? 4 : 3) * kHidden;
  const Tensor wx = param("wx", {kFeatures, gates}), wh = param("wh", {kHidden, gates});
  Tensor h;
  if (net == Net::kLstm) {
    h = lstm_sequence(linear(x, wx, param("b", {gates})), wh);
  } else {
    h = gru_sequence(linear(x, wx, param("bx", {gates})), wh, param("bh", {gates}), net == Net::kGruAfter);
  }
  return linear(last(h), param("head.w", {kHidden, 1}), param("head.b", {1}));
}

class CurveGolden : public testing::TestWithParam<Curve> {};

TEST_P(CurveGolden, TenSteps) {
  const Curve curve = GetParam();
  const Safetensors file = golden::read("curves");
  const std::string prefix = str(curve.name, "/");
  Graph g;
  Builder b(g, true);
  const Tensor y = build_net(b, curve.net, input(g, "x", {kTime, kBatch, kFeatures}));
  const Tensor loss = mean(mse_loss(y, input(g, "y", {kBatch, 1})), {0, 1});
  g.outputs.push_back({"loss", loss.value});
  const std::vector<ParameterSpec> parameters = b.parameters();
  add_training(g, loss, parameters, optimizer_of(curve), 1.0);
  Session session = make_session({{"train_step", g}});
  for (const ParameterSpec& p : parameters) session.write(p.name, golden::tensor(file, prefix + "init." + p.name));
  const HostTensor& x = golden::tensor(file, "batches/x");
  const HostTensor& target = golden::tensor(file, "batches/y");
  const HostTensor& losses = golden::tensor(file, prefix + "losses");
  const HostTensor& norms = golden::tensor(file, prefix + "norms");
  for (int step = 0; step < kSteps; ++step) {
    session.write("x", x.f32.data() + step * kTime * kBatch * kFeatures, kTime * kBatch * kFeatures);
    session.write("y", target.f32.data() + step * kBatch, kBatch);
    set_step_uniforms(session, optimizer_of(curve), curve.lr, step + 1);
    session.run("train_step");
    const auto i = static_cast<std::size_t>(step);
    EXPECT_NEAR(session.read_scalar("loss"), losses.f32[i], 1e-5f * losses.f32[i]) << "step " << step;
    EXPECT_NEAR(session.read_scalar("grad_norm"), norms.f32[i], 2e-5f * norms.f32[i]) << "step " << step;
  }
  for (const ParameterSpec& p : parameters) {
    const std::vector<float>& want = golden::tensor(file, prefix + "final." + p.name).f32;
    EXPECT_LE(golden::distance(session.read(p.name).f32, want), 2e-5 * std::max(1.0, golden::norm(want))) << p.name;
  }
}

INSTANTIATE_TEST_SUITE_P(Nets, CurveGolden,
                         testing::Values(Curve{"mlp_adamw", Net::kMlp, OptimizerConfig::Kind::kAdamW, 0.02},
                                         Curve{"mlp_adam", Net::kMlp, OptimizerConfig::Kind::kAdam, 0.02},
                                         Curve{"mlp_sgd", Net::kMlp, OptimizerConfig::Kind::kSgd, 0.05},
                                         Curve{"lstm_adamw", Net::kLstm, OptimizerConfig::Kind::kAdamW, 0.02},
                                         Curve{"gru_after_adamw", Net::kGruAfter, OptimizerConfig::Kind::kAdamW, 0.02},
                                         Curve{"gru_before_adamw", Net::kGruBefore, OptimizerConfig::Kind::kAdamW, 0.02}),
                         [](const auto& test) { return std::string(test.param.name); });

}  // namespace
}  // namespace tabgrad
