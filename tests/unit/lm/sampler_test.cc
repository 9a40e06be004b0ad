// Drawing tokens: each option alone, the distribution, and that a draw can be repeated.
#include "lm/sampler.h"

#include <gtest/gtest.h>

#include <cmath>

#include "base/error.h"

namespace tabgrad {
namespace {

const std::vector<float> kLogits{1.0f, 3.0f, -2.0f, 2.0f};

TEST(Sampler, ZeroTemperatureTakesTheLikeliest) {
  Sampler s({.temperature = 0});
  for (int i = 0; i < 5; ++i) EXPECT_EQ(s.pick(kLogits, {}, i), 1);
}

TEST(Sampler, DrawsAsOftenAsTheProbabilitySays) {
  Sampler s({.temperature = 0.5, .seed = 3});
  std::vector<int> counts(4);
  constexpr int kDraws = 20000;
  for (int i = 0; i < kDraws; ++i) ++counts[static_cast<std::size_t>(s.pick(kLogits, {}, i))];
  double total = 0;
  for (const float x : kLogits) total += std::exp(static_cast<double>(x) / 0.5);
  for (std::size_t i = 0; i < 4; ++i) {
    const double p = std::exp(static_cast<double>(kLogits[i]) / 0.5) / total;
    EXPECT_NEAR(counts[i], p * kDraws, 5 * std::sqrt(p * kDraws) + 1) << i;
  }
}

TEST(Sampler, ADrawDependsOnSeedAndNumberAlone) {
  Sampler a({.temperature = 2, .seed = 9}), b({.temperature = 2, .seed = 9}), c({.temperature = 2, .seed = 10});
  int same = 0;
  for (int i = 0; i < 100; ++i) {
    const std::int32_t x = a.pick(kLogits, {}, i);
    EXPECT_EQ(b.pick(kLogits, {}, i), x);
    same += c.pick(kLogits, {}, i) == x;
  }
  EXPECT_LT(same, 90);
}

TEST(Sampler, TopKAndTopPLeaveOutTheRest) {
  Sampler k({.temperature = 1, .top_k = 2});
  k.pick(kLogits, {}, 0);
  ASSERT_EQ(k.candidates().size(), 2u);
  EXPECT_EQ(k.candidates()[0].token, 1);
  EXPECT_EQ(k.candidates()[1].token, 3);
  EXPECT_NEAR(k.candidates()[0].probability, 1 / (1 + std::exp(-1.0)), 1e-6);
  Sampler p({.temperature = 1, .top_p = 0.6});  // the likeliest has 0.66
  for (int i = 0; i < 20; ++i) EXPECT_EQ(p.pick(kLogits, {}, i), 1);
  Sampler all({.temperature = 1});
  all.pick(kLogits, {}, 0);
  EXPECT_EQ(all.candidates().size(), 4u);
}

TEST(Sampler, RepetitionPenaltyWeakensBothSigns) {
  const std::vector<std::int32_t> recent{1, 2, 1, 1};
  Sampler s({.temperature = 0, .repetition_penalty = 2});
  EXPECT_EQ(s.pick(kLogits, recent, 0), 3);  // 3/2 < 2
  Sampler drawn({.temperature = 1, .repetition_penalty = 2});
  drawn.pick(kLogits, recent, 0);
  EXPECT_EQ(drawn.candidates().back().token, 2);  // −4
}

TEST(Sampler, BadOptionsAndBadLogitsAreNamed) {
  EXPECT_THROW(Sampler({.temperature = -1}), Error);
  EXPECT_THROW(Sampler({.top_p = 0}), Error);
  EXPECT_THROW(Sampler({.top_k = -1}), Error);
  EXPECT_THROW(Sampler({.repetition_penalty = 0.5}), Error);
  Sampler s({});
  EXPECT_THROW(s.pick(std::vector<float>{1, NAN}, {}, 0), Error);
}

}  // namespace
}  // namespace tabgrad
