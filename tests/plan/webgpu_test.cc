// What the planner makes of the models for WebGPU, with no device: launches and memory against budgets.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "engine/engine.h"
#include "models/forecaster.h"
#include "models/gpt.h"
#include "plan/plan.h"

namespace tabgrad {
namespace {

Program compiled(const BuiltModel& model) { return compile(model.entries, device_caps({.device = "webgpu"}), "webgpu"); }

TEST(WebgpuPlan, FlopsAgreeWithTheFormula) {
  for (const GptConfig& c : gpt_presets()) {
    const Program program = compiled(build_gpt(c));
    double flops = 0;
    for (const Launch& l : program.entries.front().launches) flops += l.flops;
    const double formula = gpt_step_flops(c);
    EXPECT_NEAR(flops, formula, 0.02 * formula) << c.name;
  }
}

// A layer: 7 forward, 7 backward. Partial products are summed by norms and along with other launches; from width 384 on, two
// products between that gain by being cut have launches for their sums.
TEST(WebgpuPlan, Launches) {
  for (const GptConfig& c : gpt_presets()) {
    const auto launches = static_cast<std::int64_t>(compiled(build_gpt(c)).entries.front().launches.size());
    EXPECT_LE(launches, (c.width < 384 ? 14 : 16) * c.layers + 12) << c.name;
  }
}

// Elementwise work behind norms' gradients, gathers and the global norm needs launches of its own without Caps::epilogues.
TEST(WebgpuPlan, Epilogues) {
  const GptConfig c = gpt_preset("tiny");
  Caps caps = device_caps({.device = "webgpu"});
  caps.epilogues = false;
  const std::size_t without = compile(build_gpt(c).entries, caps, "webgpu").entries.front().launches.size();
  EXPECT_GE(without, compiled(build_gpt(c)).entries.front().launches.size() + 2 * static_cast<std::size_t>(c.layers) + 2);
}

// Rows are reduced by subgroups where the device has them; otherwise no text mentions them, and the Program loads anywhere.
TEST(WebgpuPlan, Subgroups) {
  const auto count = [](const Program& program, const std::string& what) {
    return std::ranges::count_if(program.kernels,
                                 [&](const Kernel& k) { return k.shader.text.find(what) != std::string::npos; });
  };
  const BuiltModel model = build_gpt(gpt_preset("tiny"));
  const Program without = compiled(model);
  EXPECT_EQ(without.subgroups, 0);
  EXPECT_EQ(count(without, "subgroup"), 0);
  for (const int size : {4, 32, 128}) {
    const Caps caps = device_caps({.device = "webgpu", .features = WebgpuFeatures{.subgroups = size}});
    const Program with = compile(model.entries, caps, "webgpu");
    EXPECT_EQ(with.subgroups, size);
    EXPECT_GE(count(with, "enable subgroups;"), 5) << size;
    EXPECT_EQ(count(with, "enable subgroups;"), count(with, "subgroupShuffleXor")) << size;
    EXPECT_EQ(with.entries.front().launches.size(), without.entries.front().launches.size());
  }
  for (const int odd : {1, 2, 12, 256}) EXPECT_EQ(webgpu_caps({.subgroups = odd}).subgroups, 0) << odd;
}

// Activations as f16: less memory, and nothing else changes its type.
TEST(WebgpuPlan, HalfPrecision) {
  const BuiltModel model = build_gpt(gpt_preset("small"));
  const Program whole = compiled(model);
  SessionOptions options{.device = "webgpu", .features = WebgpuFeatures{.f16 = true}};
  EXPECT_EQ(compile(model.entries, device_caps(options), "webgpu").buffers.size(), whole.buffers.size());
  EXPECT_FALSE(compile(model.entries, device_caps(options), "webgpu").f16) << "it was not asked for";
  options.f16 = true;
  const Program half = compile(model.entries, device_caps(options), "webgpu");
  EXPECT_TRUE(half.f16);
  EXPECT_LE(static_cast<double>(memory_use(half).arena), 0.7 * static_cast<double>(memory_use(whole).arena));
  EXPECT_EQ(memory_use(half).parameters, memory_use(whole).parameters);
  EXPECT_EQ(half.entries.front().launches.size(), whole.entries.front().launches.size());
  const auto count = [&](const Program& p) {
    return std::ranges::count_if(p.buffers, [](const Buffer& b) { return b.dtype == DType::kF16; });
  };
  EXPECT_EQ(count(whole), 0);
  EXPECT_GE(count(half), 5 * gpt_preset("small").layers);
  options.features = WebgpuFeatures{};
  EXPECT_FALSE(compile(model.entries, device_caps(options), "webgpu").f16) << "the device has it not";
}

// Layers of equal shape share their texts: pipelines are dear to make.
TEST(WebgpuPlan, PipelinesDoNotGrowWithLayers) {
  GptConfig c = gpt_preset("small");
  const std::size_t few = compiled(build_gpt(c)).kernels.size();
  c.layers += 4;
  EXPECT_LE(compiled(build_gpt(c)).kernels.size(), few + 4);
}

TEST(WebgpuPlan, PeakMemory) {
  const std::map<std::string, double> megabytes{{"tiny", 7}, {"small", 34}, {"medium", 86}, {"large", 200}, {"xl", 280}};
  for (const auto& [name, budget] : megabytes)
    EXPECT_LE(static_cast<double>(memory_use(compiled(build_gpt(gpt_preset(name)))).total()), budget * 1e6) << name;
}

TEST(WebgpuPlan, ForecasterLaunches) {
  const std::map<ForecasterKind, std::size_t> launches{
      {ForecasterKind::kLstm, 18}, {ForecasterKind::kGru, 18}, {ForecasterKind::kTransformer, 51}};
  for (const auto& [kind, budget] : launches) {
    ForecasterConfig c = default_forecaster(kind);
    c.channels = 13;
    c.future_channels = 11;
    const Program p = compiled(build_forecaster(c, 64, 256, OptimizerConfig{}, 1.0));
    EXPECT_LE(p.entries.front().launches.size(), budget) << forecaster_kind_name(kind);
  }
}

}  // namespace
}  // namespace tabgrad
