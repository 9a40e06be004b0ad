// What is foretold: a calibration that tells small presets' steps about right, and the size that is recommended.
#include "bench/foretell.h"

#include <gtest/gtest.h>

#include "bench/run_timer.h"
#include "bench/statistics.h"
#include "models/gpt.h"
#include "nn/train_step.h"

namespace tabgrad::bench {
namespace {

TEST(Recommend, TakesTheLargestSizeOnItsFastestDevice) {
  const std::vector<Foretold> list{{"a", "cpu", 10}, {"a", "gpu", 20},  {"b", "cpu", 100},
                                   {"b", "gpu", 30}, {"c", "cpu", 500}, {"c", "gpu", 90}};
  const Recommended r = recommend(list, 1000, 60);
  EXPECT_EQ(r.preset, "b");
  EXPECT_EQ(r.device, "gpu");
  EXPECT_DOUBLE_EQ(r.seconds, 30);
  EXPECT_EQ(recommend(list, 1000, 90).preset, "c");
  EXPECT_EQ(recommend(list, 1000, 5).preset, "");
  EXPECT_EQ(recommend({}, 1000, 5).preset, "");
}

TEST(Foretell, HasEveryPresetOnEveryDeviceAndGrowsWithSize) {
  const std::map<std::string, CostModel> devices{{"cpu", {1e-5, 1e11, 1e10, 1e6}}, {"webgpu", {2e-6, 1e13, 1e12, 1e8}}};
  const auto list = foretell(devices, {"tiny", "small"});
  ASSERT_EQ(list.size(), 4u);
  EXPECT_EQ(list[0].device, "cpu");
  EXPECT_GT(list[2].ms, 2 * list[0].ms);
  EXPECT_LT(list[3].ms, list[2].ms);
}

// Machines that run tests are busy, so only the size of the answer is looked at.
TEST(Calibrate, TellsATinyStepWithinAFactorOfThree) {
  const SessionOptions options;
  const CostModel cost = calibrate(options, 1.0);
  const BuiltModel model = build_gpt(gpt_preset("tiny"));
  Session session = make_session(model.entries, options);
  write_initial_values(session, model.parameters, 1);
  set_step_uniforms(session, gpt_optimizer(), kGptLearningRate, 1);
  const double measured = median(time_runs(session, "train_step", "loss", 0.1)),
               told = predict(cost, work_of(session.program())).seconds;
  EXPECT_LT(told, 3 * measured);
  EXPECT_GT(told, measured / 3);
}

}  // namespace
}  // namespace tabgrad::bench
