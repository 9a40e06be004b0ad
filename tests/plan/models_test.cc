// What the planner makes of the models: FLOPs against the usual formula, launches and peak memory against budgets. A budget that
// is broken is a finding: either a fusion was lost, or the number here is to be changed with its reason.
#include <gtest/gtest.h>

#include <map>

#include "engine/engine.h"
#include "graph/recompute.h"
#include "models/forecaster.h"
#include "models/language_model.h"
#include "plan/plan.h"

namespace tabgrad {
namespace {

struct Cost {
  std::int64_t launches = 0, peak_bytes = 0;
  double flops = 0;
};

Cost cost_of(const BuiltModel& model) {
  const Program program = compile(model.entries, device_caps({}), "cpu");
  Cost cost;
  EXPECT_EQ(program.entries.front().name, "train_step");
  for (const Launch& l : program.entries.front().launches) {
    ++cost.launches;
    cost.flops += l.flops;
  }
  cost.peak_bytes = memory_use(program).total();
  return cost;
}

TEST(GptPlan, FlopsAgreeWithTheFormula) {
  for (const GptConfig& c : gpt_presets()) {
    const double flops = cost_of(build_gpt(c)).flops, formula = gpt_step_flops(c);
    EXPECT_NEAR(flops, formula, 0.02 * formula) << c.name;
  }
}

// A layer on the CPU: 12 matrix products (4 forward, 8 backward), attention 2, layer norm 4, bias gradients 4, and 2 elementwise
// kernels that no product took in. The rest is embedding, head, loss, clipping and the optimizer.
TEST(GptPlan, Launches) {
  for (const GptConfig& c : gpt_presets()) EXPECT_LE(cost_of(build_gpt(c)).launches, 24 * c.layers + 17) << c.name;
}

TEST(GptPlan, PeakMemory) {
  const std::map<std::string, double> megabytes{{"tiny", 5.4}, {"small", 27.5}, {"medium", 68.5}, {"large", 159},
                                                {"xl", 224.5}, {"huge", 546},   {"massive", 680}, {"mega", 681}};
  for (const GptConfig& c : gpt_presets())
    EXPECT_LE(static_cast<double>(cost_of(build_gpt(c)).peak_bytes), megabytes.at(c.name) * 1e6) << c.name;
}

// Activations computed again: what is left is a layer's own and every layer's input, for at most one more forward pass of work.
TEST(LmPlan, RecomputingSavesActivations) {
  for (const char* preset : {"medium", "large", "xl", "huge"})
    for (const LmKind kind : {LmKind::kGpt, LmKind::kLstm, LmKind::kGru}) {
      LmConfig c = lm_preset(preset, kind);
      if (c.recurrent()) c.layers = 4;
      std::int64_t arena[2];
      double flops[2];
      for (const bool again : {false, true}) {
        BuiltModel model = build_lm(c, gpt_optimizer(), kGptClipNorm, 1);
        if (again) model.entries[0].graph = recompute(model.entries[0].graph, lm_layer_names(c));
        const Program program = compile({model.entries[0]}, device_caps({}), "cpu");
        arena[again] = memory_use(program).arena;
        flops[again] = 0;
        for (const Launch& l : program.entries.front().launches) flops[again] += l.flops;
      }
      const std::string name = str(preset, " ", lm_kind_name(kind));
      // Gradients of all weights stay, and those of recurrent nets are many for their activations.
      EXPECT_LT(static_cast<double>(arena[1]), (c.recurrent() ? 0.75 : 0.5) * static_cast<double>(arena[0])) << name;
      EXPECT_GT(flops[1], flops[0]) << name;
      EXPECT_LT(flops[1], 1.34 * flops[0]) << name;
    }
}

// The defaults with calendar columns: batch 64, evaluation in batches of 256.
TEST(ForecasterPlan, Budgets) {
  struct Budget {
    ForecasterKind kind;
    std::int64_t parameters, launches;
    double megabytes;
  };
  for (const Budget& budget : {Budget{ForecasterKind::kLstm, 24897, 26, 33.3}, Budget{ForecasterKind::kGru, 20097, 26, 26.8},
                               Budget{ForecasterKind::kTransformer, 30337, 80, 13.1}}) {
    ForecasterConfig c = default_forecaster(budget.kind);
    c.channels = 13;
    c.future_channels = 11;
    const BuiltModel model = build_forecaster(c, 64, 256, OptimizerConfig{}, 1.0);
    const Cost cost = cost_of(model);
    const char* name = forecaster_kind_name(budget.kind);
    EXPECT_EQ(parameter_count(model.parameters), budget.parameters) << name;
    EXPECT_LE(cost.launches, budget.launches) << name;
    EXPECT_LE(static_cast<double>(cost.peak_bytes), budget.megabytes * 1e6) << name;
  }
}

}  // namespace
}  // namespace tabgrad
