// Guessers' losses against values worked out by hand.
#include "lm/baselines.h"

#include <gtest/gtest.h>

#include <cmath>

namespace tabgrad {
namespace {

TEST(Baselines, AreWhatCountingGives) {
  // Training 0 1 0 1 0 1 0 1, validation 0 1. One of two tokens each; 0 is always followed by 1.
  const TextBaselines b = text_baselines(Corpus({0, 1, 0, 1, 0, 1, 0, 1, 0, 1}, 10, 0.2), 3);
  EXPECT_DOUBLE_EQ(b.uniform, std::log(3.0));
  const double p = 5.0 / 11;  // four times of eight, plus one of three
  EXPECT_NEAR(b.unigram, -std::log(p), 1e-12);
  EXPECT_NEAR(b.bigram, -(std::log(p) + std::log((4 + 1 * p) / (4 + 1))) / 2, 1e-12);
}

TEST(Baselines, ATextWithoutAValidationPartIsJudgedOnItself) {
  const TextBaselines b = text_baselines(Corpus({0, 0, 0, 0}, 4, 0), 2);
  EXPECT_NEAR(b.unigram, -std::log(5.0 / 6), 1e-12);
}

TEST(Baselines, ATokenThatNothingFollowedFallsBackToItsFrequency) {
  const TextBaselines b = text_baselines(Corpus({0, 0, 0, 0, 1, 0}, 6, 0.34), 2);  // 1 is only in the validation part
  const double zero = 5.0 / 6, one = 1.0 / 6;
  EXPECT_NEAR(b.unigram, -(std::log(one) + std::log(zero)) / 2, 1e-12);
  EXPECT_NEAR(b.bigram, b.unigram, 1e-12);
}

}  // namespace
}  // namespace tabgrad
