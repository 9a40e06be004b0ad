// Models train on a GPU as they do on the CPU: gradients of step 1 and losses of every step. Through whatever adapter the machine has,
// which may be a software one.
#include <gtest/gtest.h>

#include <cmath>

#include "engine/engine.h"
#include "models/forecaster.h"
#include "models/gpt.h"
#include "nn/train_step.h"
#include "tensor/philox.h"

namespace tabgrad {
namespace {

constexpr std::uint64_t kSeed = 1;

const SessionOptions kCpu{};
#ifdef TABGRAD_TEST_PAGE  // WebGL is in browsers alone
const char* const kDevices[] = {"webgpu", "webgl"};
#else
const char* const kDevices[] = {"webgpu"};
#endif

// A model's name and a device. Without the device there is nothing to test; the reason is printed.
using Param = std::tuple<const char*, const char*>;
class Parity : public testing::TestWithParam<Param> {
 protected:
  void SetUp() override {
    Graph g;
    const Tensor x = input(g, "x", {4});
    g.outputs = {{"y", (x + x).value}};
    try {
      make_session({{"run", g}}, gpu());
    } catch (const Error& e) {
      GTEST_SKIP() << e.what();
    }
  }
  static const char* model() { return std::get<0>(GetParam()); }
  static SessionOptions gpu() { return {.device = std::get<1>(GetParam())}; }
};
std::string name_of(const testing::TestParamInfo<Param>& info) {
  return str(std::get<0>(info.param), "_", std::get<1>(info.param));
}

void write_inputs(Session& session, int step) {
  std::uint32_t stream = 1000 + 100 * static_cast<std::uint32_t>(step);
  for (const Buffer& b : session.program().buffers) {
    if (b.role != BufferRole::kInput) continue;
    const std::int64_t n = num_elements(b.dims);
    std::vector<float> numbers;
    std::vector<std::int32_t> ids;
    for (std::int64_t i = 0; i < n; ++i) {
      const auto at = static_cast<std::uint64_t>(i);
      if (b.dtype == DType::kI32)
        ids.push_back(static_cast<std::int32_t>(philox_u32(kSeed, stream, at) % 256));
      else
        numbers.push_back(b.name.find("weight") != std::string::npos ? 1.0f : normal(kSeed, stream, at));
    }
    ++stream;
    if (b.dtype == DType::kI32)
      session.write(b.name, ids.data(), n);
    else
      session.write(b.name, numbers.data(), n);
  }
}

std::vector<double> losses(const BuiltModel& model, const OptimizerConfig& optimizer, double rate, int steps,
                           const SessionOptions& options) {
  Session session = make_session(model.entries, options);
  write_initial_values(session, model.parameters, kSeed);
  std::vector<double> result;
  for (int step = 1; step <= steps; ++step) {
    write_inputs(session, step % 8);
    set_step_uniforms(session, optimizer, rate, step);
    session.set_random(kSeed, static_cast<std::uint32_t>(step));
    session.run("train_step");
    result.push_back(static_cast<double>(session.read_scalar("loss")));
  }
  return result;
}

void expect_equal_losses(const BuiltModel& model, const OptimizerConfig& optimizer, double rate, int steps,
                         const SessionOptions& gpu) {
  const std::vector<double> want = losses(model, optimizer, rate, steps, kCpu),
                            got = losses(model, optimizer, rate, steps, gpu);
  double largest = 0, mean = 0;
  for (std::size_t i = 0; i < want.size(); ++i) {
    const double d = std::fabs(got[i] - want[i]) / std::fabs(want[i]);
    largest = std::max(largest, std::isfinite(d) ? d : 1e9);
    mean += d / static_cast<double>(want.size());
  }
  testing::Test::RecordProperty("largest", str(largest));
  testing::Test::RecordProperty("mean", str(mean));
  EXPECT_LE(largest, 1e-4);
  EXPECT_LE(mean, 1e-5);
  EXPECT_LT(got.back(), got.front());
}

class GptParity : public Parity {};

TEST_P(GptParity, GradientsOfStepOne) {
  const BuiltModel built = build_gpt_gradients(gpt_preset(model()));
  std::map<std::string, HostTensor> gradients[2];
  for (const bool on_gpu : {false, true}) {
    Session session = make_session(built.entries, on_gpu ? gpu() : kCpu);
    write_initial_values(session, built.parameters, kSeed);
    write_inputs(session, 1);
    session.run("gradients");
    for (const ParameterSpec& p : built.parameters) gradients[on_gpu][p.name] = session.read("grad." + p.name);
  }
  auto norm = [](const std::vector<float>& a, const std::vector<float>* b) {
    double s = 0;
    for (std::size_t i = 0; i < a.size(); ++i)
      s += std::pow(static_cast<double>(a[i]) - (b ? static_cast<double>((*b)[i]) : 0.0), 2);
    return std::sqrt(s);
  };
  double all = 0;
  for (const auto& [name, g] : gradients[0]) all += std::pow(norm(g.f32, nullptr), 2);
  for (const auto& [name, g] : gradients[0]) {
    const double size = std::max(norm(g.f32, nullptr), 1e-6 * std::sqrt(all));
    EXPECT_LE(norm(gradients[1].at(name).f32, &g.f32) / size, 1e-5) << name;
  }
}

TEST_P(GptParity, Losses) {
  const GptConfig& c = gpt_preset(model());
  expect_equal_losses(build_gpt(c), gpt_optimizer(), kGptLearningRate, c.name == "tiny" ? 200 : 20, gpu());
}
INSTANTIATE_TEST_SUITE_P(Presets, GptParity, testing::Combine(testing::Values("tiny", "small"), testing::ValuesIn(kDevices)),
                         name_of);

class ForecasterParity : public Parity {};

TEST_P(ForecasterParity, Losses) {
  ForecasterConfig c = default_forecaster(forecaster_kind_from(model()));
  c.channels = 5;
  c.future_channels = 4;
  c.window = 24;
  const OptimizerConfig optimizer;
  expect_equal_losses(build_forecaster(c, 32, 32, optimizer, 1.0), optimizer, 1e-3, 200, gpu());
}
// Too wide for weights in registers, and a batch that no group of sequences divides.
TEST_P(ForecasterParity, LossesOfWideLayers) {
  ForecasterConfig c = default_forecaster(forecaster_kind_from(model()));
  c.channels = 5;
  c.window = 9;
  c.units = 96;
  const OptimizerConfig optimizer;
  expect_equal_losses(build_forecaster(c, 7, 7, optimizer, 1.0), optimizer, 1e-3, 20, gpu());
}
INSTANTIATE_TEST_SUITE_P(Kinds, ForecasterParity,
                         testing::Combine(testing::Values("lstm", "gru", "transformer"), testing::ValuesIn(kDevices)), name_of);

}  // namespace
}  // namespace tabgrad
