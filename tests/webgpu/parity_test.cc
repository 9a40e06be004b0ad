// Models train on a GPU as they do on the CPU: gradients of step 1 and losses of every step. Through whatever adapter the machine has,
// which may be a software one.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>

#include "engine/engine.h"
#include "engine/self_test.h"
#include "graph/evaluate.h"
#include "graph/rewrite.h"
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
const char* const kDevices[] = {"webgpu", "wgpu"};  // the second: wgpu-native, by the library that TABGRAD_WGPU names
#endif

// A model's name and a device. Without the device there is nothing to test; the reason is printed.
using Param = std::tuple<const char*, const char*>;
class Parity : public testing::TestWithParam<Param> {
 protected:
  void SetUp() override {
    if (on_wgpu() && !std::getenv("TABGRAD_WGPU")) GTEST_SKIP() << "TABGRAD_WGPU names no library of wgpu-native";
    Graph g;
    const Tensor x = input(g, "x", {4});
    g.outputs = {{"y", (x + x).value}};
    try {
      make_session({{"run", g}}, gpu());
    } catch (const Error& e) {
      if (on_wgpu()) throw;  // it was asked for
      GTEST_SKIP() << e.what();
    }
  }
  static const char* model() { return std::get<0>(GetParam()); }
  static bool on_wgpu() { return std::get<1>(GetParam()) == std::string("wgpu"); }
  static SessionOptions gpu() {
    if (on_wgpu()) return {.device = "webgpu", .webgpu = std::getenv("TABGRAD_WGPU")};
    return {.device = std::get<1>(GetParam())};
  }
};
std::string name_of(const testing::TestParamInfo<Param>& info) {
  return str(std::get<0>(info.param), "_", std::get<1>(info.param));
}

// What a step reads besides parameters and state: ids below 256, weights of 1, normal numbers.
NamedTensors inputs_of(const Graph& graph, int step) {
  NamedTensors inputs;
  std::uint32_t stream = 1000 + 100 * static_cast<std::uint32_t>(step);
  for (const Node& node : graph.nodes) {
    if (node.op != Op::kInput || node.role != Role::kInput || node.literal >= 0) continue;
    const TensorType& type = node.outputs[0];
    std::vector<float> numbers;
    std::vector<std::int32_t> ids;
    for (std::int64_t i = 0; i < num_elements(type.dims); ++i) {
      const auto at = static_cast<std::uint64_t>(i);
      if (type.dtype == DType::kI32)
        ids.push_back(static_cast<std::int32_t>(philox_u32(kSeed, stream, at) % 256));
      else
        numbers.push_back(node.name.find("weight") != std::string::npos ? 1.0f : normal(kSeed, stream, at));
    }
    ++stream;
    inputs.emplace_back(node.name, type.dtype == DType::kI32 ? HostTensor::of_ids(type.dims, std::move(ids))
                                                             : HostTensor::of(type.dims, std::move(numbers)));
  }
  return inputs;
}

// ---- gradients of step 1, against the double-precision oracle ----

Graph gradients_of_train_step(const BuiltModel& model) {
  Graph g = model.entries.at(0).graph;
  const Graph::Output loss = g.outputs.at(0);
  g.outputs = {loss};
  g.updates.clear();
  add_gradient_outputs(g, {&g, loss.value}, model.parameters);
  return without_dead_nodes(g);
}

double norm(const std::vector<double>& x) {
  double s = 0;
  for (const double v : x) s += v * v;
  return std::sqrt(s);
}

// ‖Δ‖ / max(‖g‖, 1e-6·‖g of all parameters‖): a key projection's bias has no gradient in exact arithmetic.
void expect_equal_gradients(const BuiltModel& model, const SessionOptions& gpu, double most = 1e-5) {
  const Graph g = gradients_of_train_step(model);
  NamedTensors values = initial_values(model.parameters, kSeed);
  for (auto& [name, value] : inputs_of(g, 1)) values.emplace_back(name, value);
  EvaluateInputs in;
  in.seed = kSeed;
  in.step = 1;
  Session session = make_session({{"gradients", g}}, gpu);
  session.set_random(kSeed, 1);
  for (const auto& [name, value] : values) {
    session.write(name, value);
    in.values[name] = value.dtype == DType::kI32 ? std::vector<double>(value.i32.begin(), value.i32.end())
                                                 : std::vector<double>(value.f32.begin(), value.f32.end());
  }
  const Evaluation want = evaluate(g, in);
  session.run("gradients");
  double all = 0, largest = 0;
  for (const ParameterSpec& p : model.parameters) all = std::hypot(all, norm(want.outputs.at("grad." + p.name)));
  for (const ParameterSpec& p : model.parameters) {
    std::vector<double> d = want.outputs.at("grad." + p.name);
    const double size = std::max(norm(d), 1e-6 * all);
    const HostTensor got = session.read("grad." + p.name);
    for (std::size_t i = 0; i < d.size(); ++i) d[i] -= static_cast<double>(got.f32[i]);
    EXPECT_LE(norm(d) / size, most) << p.name;
    largest = std::max(largest, norm(d) / size);
  }
  std::printf("gradients: largest difference %.1e\n", largest);
}

// ---- losses of many steps, against the CPU's ----

std::vector<double> losses(const BuiltModel& model, const OptimizerConfig& optimizer, double rate, int steps,
                           const SessionOptions& options) {
  Session session = make_session(model.entries, options);
  write_initial_values(session, model.parameters, kSeed);
  std::vector<double> result;
  for (int step = 1; step <= steps; ++step) {
    for (const auto& [name, value] : inputs_of(model.entries.at(0).graph, step % 8)) session.write(name, value);
    set_step_uniforms(session, optimizer, rate, step);
    session.set_random(kSeed, static_cast<std::uint32_t>(step));
    session.run("train_step");
    result.push_back(static_cast<double>(session.read_scalar("loss")));
  }
  return result;
}

void expect_equal_losses(const BuiltModel& model, const OptimizerConfig& optimizer, double rate, int steps,
                         const SessionOptions& gpu, double slack = 1) {
  const std::vector<double> want = losses(model, optimizer, rate, steps, kCpu),
                            got = losses(model, optimizer, rate, steps, gpu);
  double largest = 0, mean = 0;
  for (std::size_t i = 0; i < want.size(); ++i) {
    const double d = std::fabs(got[i] - want[i]) / std::fabs(want[i]);
    largest = std::max(largest, std::isfinite(d) ? d : 1e9);
    mean += d / static_cast<double>(want.size());
  }
  std::printf("losses of %d steps: largest difference %.1e, mean %.1e\n", steps, largest, mean);
  EXPECT_LE(largest, slack * 1e-4);
  EXPECT_LE(mean, slack * 1e-5);
  EXPECT_LT(got.back(), got.front());
}

class GptParity : public Parity {};

TEST_P(GptParity, GradientsOfStepOne) { expect_equal_gradients(build_gpt(gpt_preset(model())), gpu()); }

TEST_P(GptParity, Losses) {
  expect_equal_losses(build_gpt(gpt_preset(model())), gpt_optimizer(), kGptLearningRate, 200, gpu());
}
INSTANTIATE_TEST_SUITE_P(Presets, GptParity, testing::Combine(testing::Values("tiny", "small"), testing::ValuesIn(kDevices)),
                         name_of);

// Activations stored as f16, each off by up to 2^-11 = 4.9e-4 of itself, which a gradient sums up over layers: ten of those. Losses are
// means over all tokens, where that averages out: ten times the bounds of f32.
TEST_P(GptParity, GradientsInF16) {
  SessionOptions options = gpu();
  if (options.device != "webgpu" || !f16_refusal(options).empty()) GTEST_SKIP() << "no f16 here";
  options.f16 = true;
  expect_equal_gradients(build_gpt(gpt_preset(model())), options, 10 * 0x1p-11);
}
TEST_P(GptParity, LossesInF16) {
  SessionOptions options = gpu();
  if (options.device != "webgpu" || !f16_refusal(options).empty()) GTEST_SKIP() << "no f16 here";
  options.f16 = true;
  expect_equal_losses(build_gpt(gpt_preset(model())), gpt_optimizer(), kGptLearningRate, 200, options, 10);
}

class ForecasterParity : public Parity {
 protected:
  static ForecasterConfig config() {
    ForecasterConfig c = default_forecaster(forecaster_kind_from(model()));
    c.channels = 5;
    c.future_channels = 4;
    c.window = 24;
    return c;
  }
};

TEST_P(ForecasterParity, GradientsOfStepOne) {
  expect_equal_gradients(build_forecaster(config(), 32, 32, OptimizerConfig{}, 1.0), gpu());
}

TEST_P(ForecasterParity, Losses) {
  const OptimizerConfig optimizer;
  expect_equal_losses(build_forecaster(config(), 32, 32, optimizer, 1.0), optimizer, 1e-3, 200, gpu());
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
