// Windows against values worked by hand, and back.
#include <gtest/gtest.h>

#include "base/error.h"
#include "train/normalise.h"
#include "unit/train/small_run.h"

namespace tabgrad {
namespace {

Series counting(std::vector<double> target) {
  Series s;
  s.source = "count.csv";
  s.target_name = "y";
  for (std::size_t i = 0; i < target.size(); ++i) s.times.push_back(static_cast<double>(i));
  s.target = std::move(target);
  return s;
}

WindowRecipe by_hand() {
  WindowRecipe r;
  r.window = 4;
  r.horizon = 3;
  r.season = 2;
  r.least_spread = 1e-9;
  r.target_size = 0.5;
  return r;
}

TEST(WindowMaker, InputsAreTheWindowsOwnScaleAndItsSeasonalDifference) {
  const Series s = counting({1, 2, 3, 6, 5, 4, 9});  // window 1 2 3 6: mean 3, variance (4+1+0+9)/4 = 3.5
  const WindowMaker maker(s, by_hand());
  std::vector<float> x(8);
  maker.inputs(4, x.data(), nullptr);
  const double sd = std::sqrt(3.5);
  const std::vector<double> expected{-2 / sd, 0, -1 / sd, 0, 0, 2 / sd, 3 / sd, 4 / sd};
  for (std::size_t i = 0; i < x.size(); ++i) EXPECT_NEAR(static_cast<double>(x[i]), expected[i], 1e-6) << i;
}

TEST(WindowMaker, TargetsAreResidualsFromTheLatestValueOfTheSamePhase) {
  const Series s = counting({1, 2, 3, 6, 5, 4, 9});
  const WindowMaker maker(s, by_hand());
  std::vector<float> y(3);
  maker.targets(4, y.data());
  const double unit = std::sqrt(3.5) * 0.5;
  EXPECT_NEAR(static_cast<double>(y[0]), (5 - 3) / unit, 1e-6);
  EXPECT_NEAR(static_cast<double>(y[1]), (4 - 6) / unit, 1e-6);
  EXPECT_NEAR(static_cast<double>(y[2]), (9 - 3) / unit, 1e-6);  // two seasons back, since one lies ahead of the origin
  std::vector<double> back(3);
  maker.values(4, 1, y.data(), back.data());
  EXPECT_NEAR(back[0], 5, 1e-6);
  EXPECT_NEAR(back[1], 4, 1e-6);
  EXPECT_NEAR(back[2], 9, 1e-6);
}

TEST(WindowMaker, EveryNormalisationAndTargetInverts) {
  const Series s = testing::small_series();
  for (Normalise normalise : {Normalise::kWindow, Normalise::kStandard, Normalise::kMinMax, Normalise::kNone}) {
    for (Predict predict : {Predict::kDifference, Predict::kValue}) {
      std::vector<std::string> notices;
      const RecipeChoices choices{14, 3, 7, normalise, predict, {}};
      const WindowMaker maker(s, fit_recipe(s, 160, choices, &notices));
      std::vector<float> y(3);
      std::vector<double> back(3);
      maker.targets(100, y.data());
      maker.values(100, 1, y.data(), back.data());
      for (std::size_t h = 0; h < 3; ++h) EXPECT_NEAR(back[h], s.target[100 + h], 1e-3) << normalise_name(normalise);
    }
  }
}

TEST(Recipe, IsFittedOnTheTrainingPartAlone) {
  Series s = testing::small_series();
  std::vector<std::string> notices;
  const RecipeChoices choices{14, 3, 0, Normalise::kWindow, Predict::kDifference, {}};
  const WindowRecipe before = fit_recipe(s, 160, choices, &notices);
  EXPECT_EQ(before.season, 7);
  for (std::size_t t = 160; t < s.target.size(); ++t) {
    s.target[t] = 1e6;
    s.features[0].values[t] = -1e6;
  }
  const WindowRecipe after = fit_recipe(s, 160, choices, &notices);
  EXPECT_EQ(after.target_size, before.target_size);
  EXPECT_EQ(after.least_spread, before.least_spread);
  EXPECT_EQ(after.features[0].scaler.offset, before.features[0].scaler.offset);
}

TEST(Recipe, MakesTargetsOfUnitSize) {
  const Series s = testing::small_series();
  std::vector<std::string> notices;
  const WindowMaker maker(s, fit_recipe(s, 160, {14, 3, 0, Normalise::kWindow, Predict::kDifference, {}}, &notices));
  double squares = 0;
  std::vector<float> y(3);
  for (std::int64_t t = 14; t + 3 <= 160; ++t) {
    maker.targets(t, y.data());
    for (float v : y) squares += static_cast<double>(v) * static_cast<double>(v);
  }
  EXPECT_NEAR(squares / (3 * (160 - 3 - 14 + 1)), 1, 1e-5);
}

TEST(Recipe, AConstantSeriesStaysFinite) {
  Series s = testing::small_series();
  for (double& v : s.target) v = 42;
  for (Normalise normalise : {Normalise::kWindow, Normalise::kStandard, Normalise::kMinMax}) {
    std::vector<std::string> notices;
    const WindowMaker maker(s, fit_recipe(s, 160, {14, 3, 0, normalise, Predict::kDifference, {}}, &notices));
    EXPECT_FALSE(notices.empty());
    std::vector<float> x(14 * 3), y(3);
    maker.inputs(100, x.data(), nullptr);
    maker.targets(100, y.data());
    for (float v : x) EXPECT_TRUE(std::isfinite(v));
    for (float v : y) EXPECT_EQ(v, 0.0f);
  }
}

TEST(Recipe, CalendarColumnsAreThoseOfTheStepToCome) {
  const Series s = testing::small_series();  // starts on Thursday 1 January 1970
  std::vector<std::string> notices;
  RecipeChoices choices{14, 3, 7, Normalise::kWindow, Predict::kDifference, {CalendarFeature::kDayOfWeekOneHot}};
  const WindowMaker maker(s, fit_recipe(s, 160, choices, &notices));
  ASSERT_EQ(maker.recipe().channels(), 2 + 1 + 7);
  std::vector<float> x(14 * 10), future(3 * 7);
  maker.inputs(240, x.data(), future.data());  // the end of the series: days beyond it are known
  const auto weekday = [](const float* one_hot) { return std::max_element(one_hot, one_hot + 7) - one_hot; };
  for (std::int64_t i = 0; i < 14; ++i) EXPECT_EQ(weekday(x.data() + i * 10 + 3), (3 + 226 + i + 1) % 7);
  for (std::int64_t h = 0; h < 3; ++h) EXPECT_EQ(weekday(future.data() + h * 7), (3 + 240 + h) % 7);
}

TEST(Recipe, ASeasonBeyondTheWindowIsRefused) {
  const Series s = testing::small_series();
  std::vector<std::string> notices;
  EXPECT_THROW(fit_recipe(s, 160, {14, 3, 15, Normalise::kWindow, Predict::kDifference, {}}, &notices), Error);
  EXPECT_THROW(fit_recipe(s, 10, {14, 3, 7, Normalise::kWindow, Predict::kDifference, {}}, &notices), Error);
}

}  // namespace
}  // namespace tabgrad
