// Schedules against their closed forms, worked by hand.
#include <gtest/gtest.h>

#include <cmath>

#include "base/error.h"
#include "train/schedule.h"

namespace tabgrad {
namespace {

TEST(Schedule, ConstantIsThePeakAfterALinearWarmUp) {
  const Schedule s{.kind = ScheduleKind::kConstant, .peak = 0.5, .warmup_steps = 4};
  EXPECT_DOUBLE_EQ(learning_rate(s, 1), 0.125);
  EXPECT_DOUBLE_EQ(learning_rate(s, 3), 0.375);
  EXPECT_DOUBLE_EQ(learning_rate(s, 4), 0.5);
  EXPECT_DOUBLE_EQ(learning_rate(s, 1000000), 0.5);
}

TEST(Schedule, WithoutWarmUpTheFirstStepHasThePeak) {
  const Schedule s{.kind = ScheduleKind::kConstant, .peak = 0.5};
  EXPECT_DOUBLE_EQ(learning_rate(s, 1), 0.5);
}

TEST(Schedule, CosineFallsFromThePeakToZero) {
  const Schedule s{.kind = ScheduleKind::kCosine, .peak = 2, .warmup_steps = 10, .total_steps = 110};
  EXPECT_DOUBLE_EQ(learning_rate(s, 5), 1.0);
  EXPECT_DOUBLE_EQ(learning_rate(s, 10), 2.0);
  EXPECT_NEAR(learning_rate(s, 35), 1 + std::sqrt(0.5), 1e-12);  // p = 1/4: cos 45°
  EXPECT_NEAR(learning_rate(s, 60), 1.0, 1e-12);                 // half way
  EXPECT_NEAR(learning_rate(s, 110), 0.0, 1e-12);
  EXPECT_NEAR(learning_rate(s, 500), 0.0, 1e-12);  // stays there
}

TEST(Schedule, LinearFallsFromThePeakToItsFloor) {
  Schedule s{.kind = ScheduleKind::kLinear, .peak = 2, .warmup_steps = 10, .total_steps = 110};
  EXPECT_DOUBLE_EQ(learning_rate(s, 5), 1.0);
  EXPECT_DOUBLE_EQ(learning_rate(s, 10), 2.0);
  EXPECT_DOUBLE_EQ(learning_rate(s, 35), 1.5);
  EXPECT_DOUBLE_EQ(learning_rate(s, 110), 0.0);
  s.floor = 0.1;
  EXPECT_DOUBLE_EQ(learning_rate(s, 10), 2.0);
  EXPECT_NEAR(learning_rate(s, 60), 1.1, 1e-12);
  EXPECT_NEAR(learning_rate(s, 110), 0.2, 1e-12);
  EXPECT_NEAR(learning_rate(s, 500), 0.2, 1e-12);  // stays there
}

TEST(Schedule, CosineEndsAtItsFloor) {
  const Schedule s = make_schedule(ScheduleKind::kCosine, 2, 0.1, 100, 0.25);
  EXPECT_DOUBLE_EQ(learning_rate(s, 10), 2.0);
  EXPECT_NEAR(learning_rate(s, 55), 1.25, 1e-12);  // half way between 2 and 0.5
  EXPECT_NEAR(learning_rate(s, 100), 0.5, 1e-12);
}

TEST(Schedule, StepDropsByItsFactor) {
  const Schedule s{.kind = ScheduleKind::kStep, .peak = 1, .warmup_steps = 2, .drop_every = 10, .drop_factor = 0.1};
  EXPECT_DOUBLE_EQ(learning_rate(s, 1), 0.5);
  EXPECT_DOUBLE_EQ(learning_rate(s, 11), 1.0);
  EXPECT_NEAR(learning_rate(s, 12), 0.1, 1e-15);
  EXPECT_NEAR(learning_rate(s, 31), 0.01, 1e-15);
}

TEST(Schedule, WarmUpLongerThanTheRunIsHarmless) {
  const Schedule s{.kind = ScheduleKind::kCosine, .peak = 1, .warmup_steps = 10, .total_steps = 10};
  EXPECT_DOUBLE_EQ(learning_rate(s, 10), 1.0);
  EXPECT_NEAR(learning_rate(s, 11), 0.0, 1e-15);
}

TEST(Schedule, NamesGoBothWays) {
  for (const char* word : {"constant", "linear", "cosine", "step"})
    EXPECT_STREQ(schedule_kind_name(schedule_kind_from(word)), word);
  EXPECT_THROW(schedule_kind_from("exponential"), Error);
}

}  // namespace
}  // namespace tabgrad
