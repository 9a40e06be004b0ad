// Quantiles and bootstrap intervals; gradient distances.
#include "bench/statistics.h"

#include <gtest/gtest.h>

#include <cmath>

#include "bench/train_bench.h"

namespace tabgrad::bench {
namespace {

TEST(BenchStatistics, QuantilesLieBetweenNeighbours) {
  const std::vector<double> values{4, 1, 3, 2};
  EXPECT_DOUBLE_EQ(quantile(values, 0), 1);
  EXPECT_DOUBLE_EQ(median(values), 2.5);
  EXPECT_DOUBLE_EQ(quantile(values, 1), 4);
  EXPECT_DOUBLE_EQ(quantile({7}, 0.9), 7);
}

TEST(BenchStatistics, RatioIntervalHoldsTheRatioAndNarrowsWithCertainty) {
  std::vector<double> wide, narrow, base;
  for (int i = 0; i < 60; ++i) {
    base.push_back(2.0);
    wide.push_back(1.0 + 0.01 * (i % 20));
    narrow.push_back(1.0 + 0.0001 * (i % 20));
  }
  const RatioInterval a = ratio_interval(base, wide), b = ratio_interval(base, narrow);
  EXPECT_LT(a.low, a.ratio);
  EXPECT_GT(a.high, a.ratio);
  EXPECT_LT(b.high - b.low, 0.1 * (a.high - a.low));
  EXPECT_NEAR(b.ratio, 2.0, 0.01);
  EXPECT_EQ(ratio_interval(base, wide).low, a.low) << "an interval can be made again";
}

TEST(BenchGradients, DistanceIsOfTheWorstParameterAndKeepsNaN) {
  const Gradients exact{{3, 4}, {1e-9}};
  EXPECT_DOUBLE_EQ(gradient_distance(exact, exact), 0);
  EXPECT_NEAR(gradient_distance({{3, 4.5}, {1e-9}}, exact), 0.1, 1e-12);
  // A gradient that is zero in exact arithmetic is held against the size of all.
  EXPECT_NEAR(gradient_distance({{3, 4}, {2e-9}}, exact), 1e-9 / 5e-6, 1e-9);
  EXPECT_TRUE(std::isnan(gradient_distance({{3, NAN}, {1e-9}}, exact)));
}

}  // namespace
}  // namespace tabgrad::bench
