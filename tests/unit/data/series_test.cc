// From a table to windows: time axis, missing values, splits, scalers, windows, season.
#include "data/series.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "base/error.h"
#include "data/atomic_file.h"
#include "data/calendar.h"
#include "data/season.h"
#include "data/time.h"
#include "data/windows.h"
#include "unit/data/error_of.h"

namespace tabgrad {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

Series series_of(const std::string& text, const SeriesOptions& options = {.target = "y"}) {
  return make_series(read_csv(text, {.name = "f.csv"}), options);
}

std::string refusal(const std::string& text, const SeriesOptions& options = {.target = "y"}) {
  return error_of([&] { series_of(text, options); });
}

std::string notices(const Series& series) { return testing::PrintToString(series.notices); }

// "t,y" rows of consecutive days from 2020-01-01; a NaN leaves the row out.
std::string days_csv(const std::vector<double>& values) {
  std::string text = "t,y\n";
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (!std::isnan(values[i]))
      text += str(format_time(seconds_from_civil(2020, 1, 1) + 86400.0 * static_cast<double>(i)), ",", values[i], "\n");
  }
  return text;
}

TEST(Series, FindsItsColumns) {
  const Series s = series_of("day,y,note\n2020-01-01,1,a\n2020-01-02,2,b\n2020-01-03,3,c\n", {});
  EXPECT_EQ(s.target_name, "y");
  EXPECT_EQ(s.time_name, "day");
  EXPECT_EQ(to_string(s.step), "1 day");
  EXPECT_THAT(s.target, ElementsAre(1, 2, 3));
  EXPECT_THAT(s.notices, IsEmpty());
  EXPECT_EQ(format_time(s.future_times(2)[1]), "2020-01-05");

  EXPECT_EQ(series_of("timestamp,y\n1577836800,1\n1577836860,2\n").time_name, "timestamp");
  EXPECT_EQ(series_of("year,y\n1990,1\n1991,2\n1992,3\n").step.unit, TimeStep::Unit::kMonths);
  EXPECT_EQ(series_of("note,day,y\nMay 2020,2020-01-01,1\nx,2020-01-02,2\n").time_name, "day");
  EXPECT_EQ(to_string(series_of("year,month,day,y\n2020,1,31,1\n2020,2,1,2\n2020,2,2,3\n").step), "1 day");
  EXPECT_EQ(to_string(series_of("Year,Month,y\n2020,11,1\n2020,12,2\n2021,1,3\n").step), "1 month");
  EXPECT_EQ(series_of("year,month,y\n2020,11,1\n2021,13,2\n").time_name, "year");
  EXPECT_EQ(series_of("id,y\n5,1\n6,2\n").time_name, "");
  const Series counted = series_of("t,y\n10,1\n30,3\n20,2\n", {.target = "y", .time = "t"});
  EXPECT_THAT(counted.target, ElementsAre(1, 2, 3));
  EXPECT_THAT(counted.future_times(1), ElementsAre(40));
  EXPECT_EQ(series_of("day,y\n2020-01-01,1\n2020-01-02,2\n", {.target = "y", .time = "none"}).time_name, "");
}

TEST(Series, RefusesWrongColumns) {
  const std::string text = "day,y,z,w\n2020-01-01,1,4,a\n2020-01-02,2,5,b\n";
  EXPECT_THAT(refusal(text, {}), HasSubstr("several number columns. Name the target: y, z"));
  EXPECT_THAT(refusal(text, {.target = "q"}), HasSubstr("there is no column 'q'"));
  EXPECT_THAT(refusal(text, {.target = "w"}), HasSubstr("row 2, column 'w': 'a' is not a number"));
  EXPECT_THAT(refusal(text, {.target = "day"}), HasSubstr("holds times"));
  EXPECT_THAT(refusal(text, {.target = "y", .features = {"y"}}), HasSubstr("named twice"));
  EXPECT_THAT(refusal(text, {.target = "y", .time = "w"}), HasSubstr("row 2, column 'w'"));
  EXPECT_THAT(refusal(text, {.target = "y", .time = "z", .features = {"z"}}), HasSubstr("is the time column"));
  EXPECT_THAT(refusal("a,b\nx,y\nz,w\n", {}), HasSubstr("no number column"));
  EXPECT_THAT(refusal("t,y\n2020-01-01,1\n,2\n"), HasSubstr("row 3, column 't': the time is missing"));
  EXPECT_THAT(refusal("t,y\n2020-01-01,1\nsoon,2\n"), HasSubstr("row 3, column 't': 'soon' is not a date"));
}

TEST(Series, SortsAndDropsRepeatedTimes) {
  const Series s = series_of("t,y\n2020-01-03,3\n2020-01-01,1\n2020-01-02,2\n2020-01-03,33\n");
  EXPECT_THAT(s.target, ElementsAre(1, 2, 33));
  EXPECT_THAT(notices(s), HasSubstr("not in time order (first at 2020-01-01 (row 3))"));
  EXPECT_THAT(notices(s), HasSubstr("repeat a time: 1 (first 2020-01-03 (row 5))"));
}

TEST(Series, SeveralSeriesInOneFileAreRefused) {
  EXPECT_THAT(
      refusal("shop,day,y\na,2020-01-01,1\nb,2020-01-01,2\nc,2020-01-01,2\na,2020-01-02,1\nb,2020-01-02,2\nc,2020-01-02,3\n"),
      HasSubstr("most rows repeat a time of column 'day' (first 2020-01-01 (row 3))"));
}

TEST(Series, FillsShortGapsAndSaysWhere) {
  const double gap = NAN;
  const std::string text = days_csv({1, 2, gap, gap, 5, 6, 7, gap, 9});
  Series s = series_of(text);
  EXPECT_THAT(s.target, ElementsAre(1, 2, 3, 4, 5, 6, 7, 8, 9));
  EXPECT_EQ(format_time(s.times[3]), "2020-01-04");
  EXPECT_THAT(notices(s), HasSubstr("3 missing values in 2 gaps were filled on a straight line: 2020-01-03 ×2, 2020-01-08."));
  s = series_of(text, {.target = "y", .fill = FillMethod::kPrevious});
  EXPECT_THAT(s.target, ElementsAre(1, 2, 2, 2, 5, 6, 7, 7, 9));
  s = series_of(text, {.target = "y", .fill = FillMethod::kDrop});
  EXPECT_THAT(s.target, ElementsAre(1, 2, 5, 6, 7, 9));
  EXPECT_THAT(notices(s), HasSubstr("Steps of 1 day without a row: 3"));
  EXPECT_THAT(refusal(text, {.target = "y", .fill = FillMethod::kError}),
              HasSubstr("column 'y' lacks 3 values: 2020-01-03 ×2, 2020-01-08"));

  EXPECT_THAT(series_of("t,y\n2020-01-01,1\n2020-01-02,NA\n2020-01-03,3\n").target, ElementsAre(1, 2, 3));
  EXPECT_THAT(refusal("t,y\n2020-01-01,1\n2020-01-02,NA\n2020-01-03,3\n", {.target = "y", .fill = FillMethod::kError}),
              HasSubstr("2020-01-02 (row 3)"));
  EXPECT_THAT(series_of("y\n1\n\n3\n").target, ElementsAre(1, 2, 3));
}

TEST(Series, LongGapsNeedAWord) {
  std::vector<double> values(60);
  std::iota(values.begin(), values.end(), 0.0);
  std::fill(values.begin() + 20, values.begin() + 31, NAN);
  const std::string message = refusal(days_csv(values));
  EXPECT_THAT(message, HasSubstr("The longest gap is 11 steps, from 2020-01-21"));
  EXPECT_THAT(message, HasSubstr("'linear', 'previous', or 'drop'"));
  EXPECT_DOUBLE_EQ(series_of(days_csv(values), {.target = "y", .fill = FillMethod::kLinear}).target[25], 25);
}

TEST(Series, MostlyMissingIsRefused) {
  EXPECT_THAT(refusal("t,y\n2020-01-01,1\n2020-01-02,\n2020-01-03,\n2020-01-04,\n2020-01-05,2\n"),
              HasSubstr("lacks 60 % of its values"));
  EXPECT_THAT(refusal("t,y\n2020-01-01,1\n2020-01-02,2\n2020-01-03,3\n2021-01-01,4\n"),
              HasSubstr("cover only 1 % of the steps"));
  EXPECT_THAT(refusal("t,y\n0001-01-01T00:00:00,1\n0001-01-01T00:00:01,2\n9999-01-01T00:00:01,3\n"),
              HasSubstr("cover only 0 %"));
}

TEST(Series, EndsWithoutValuesAreLeftOut) {
  const Series s =
      series_of("t,y,z\n2020-01-01,,1\n2020-01-02,2,\n2020-01-03,3,3\n2020-01-04,4,4\n2020-01-05,5,\n2020-01-06,,6\n",
                {.target = "y", .features = {"z"}});
  EXPECT_THAT(s.target, ElementsAre(2, 3, 4, 5));
  EXPECT_THAT(s.features[0].values, ElementsAre(2, 3, 4, 5));
  EXPECT_THAT(notices(s), HasSubstr("Rows left out at the end, where 'y' is missing: 1."));
}

TEST(Series, IrregularSamplingIsReported) {
  const Series uneven =
      series_of("t,y\n2020-01-01T00:00,1\n2020-01-01T00:07,2\n2020-01-01T00:10,3\n2020-01-01T00:31,4\n2020-01-01T00:42,5\n");
  EXPECT_EQ(uneven.num_steps(), 5);
  EXPECT_THAT(notices(uneven), HasSubstr("Irregular sampling: 2 of 4 steps"));
  EXPECT_THAT(notices(uneven), HasSubstr("taken as equally spaced"));
}

TEST(Series, ADayOfOtherLengthIsStillADay) {  // summer time begins
  const Series s = series_of(
      "t,y\n2020-03-27T00:00+01:00,1\n2020-03-28T00:00+01:00,2\n2020-03-29T00:00+01:00,3\n2020-03-30T00:00+02:00,4\n"
      "2020-03-31T00:00+02:00,5\n");
  EXPECT_EQ(to_string(s.step), "1 day");
  EXPECT_THAT(s.target, ElementsAre(1, 2, 3, 4, 5));
  EXPECT_THAT(notices(s), Not(HasSubstr("Irregular")));
}

TEST(Split, PartsFollowEachOther) {
  EXPECT_THROW(split_series(1), Error);
  for (std::int64_t n = 2; n < 300; ++n) {
    const Split s = split_series(n, {});
    ASSERT_TRUE(1 <= s.train_end && s.train_end <= s.validation_end && s.validation_end <= s.test_end && s.test_end == n) << n;
    if (n % 10 == 0) {
      ASSERT_EQ(s.train_end, n / 10 * 7);
      ASSERT_EQ(s.validation_end, n / 10 * 8);
    }
  }
  const Split births = split_series(7305);
  EXPECT_EQ(births.train_end, 5113);
  EXPECT_EQ(births.validation_end, 5844);
  EXPECT_EQ(split_series(10, {.train = 0.8, .validation = 0, .test = 0.2}).train_end, 8);
  EXPECT_THROW(split_series(10, {.train = 0.8, .validation = 0.3, .test = 0.2}), Error);
  EXPECT_THROW(split_series(10, {.train = 0, .validation = 0.8, .test = 0.2}), Error);
  EXPECT_THROW(split_series(10, {.train = NAN, .validation = 0.8, .test = 0.2}), Error);
}

TEST(Split, RollingOriginCoversTheTestPart) {
  const std::vector<Split> folds = rolling_origin_folds(1003, 4);
  ASSERT_EQ(folds.size(), 4u);
  const Split whole = split_series(1003);
  EXPECT_EQ(folds[0].validation_end, whole.validation_end);
  EXPECT_EQ(folds[0].train_end, whole.train_end);
  EXPECT_EQ(folds[3].test_end, 1003);
  for (std::size_t k = 1; k < folds.size(); ++k) EXPECT_EQ(folds[k].validation_end, folds[k - 1].test_end);
  EXPECT_THAT(error_of([] { rolling_origin_folds(10, 3); }), HasSubstr("from 1 to 2"));
  EXPECT_THROW(rolling_origin_folds(100, 0), Error);
}

TEST(Scaler, InvertsAndStandsConstants) {
  std::mt19937 random(1);
  std::normal_distribution<double> normal(50, 7);
  std::vector<double> x(500);
  for (double& v : x) v = normal(random);
  for (ScalerKind kind : {ScalerKind::kNone, ScalerKind::kStandard, ScalerKind::kMinMax}) {
    const Scaler s = fit_scaler(kind, x);
    double sum = 0, squares = 0;
    for (double v : x) {
      const double z = s.apply(v);
      ASSERT_NEAR(s.invert(z), v, 1e-10);
      sum += z;
      squares += z * z;
      if (kind == ScalerKind::kMinMax) ASSERT_TRUE(z >= 0 && z <= 1);
    }
    if (kind == ScalerKind::kStandard) {
      EXPECT_NEAR(sum / 500, 0, 1e-12);
      EXPECT_NEAR(squares / 500, 1, 1e-12);
    }
    EXPECT_EQ(scaler_kind_from(scaler_kind_name(kind)), kind);
  }
  for (ScalerKind kind : {ScalerKind::kStandard, ScalerKind::kMinMax}) {
    for (double value : {0.0, 0.1, -3e200}) {
      const Scaler s = fit_scaler(kind, std::vector<double>{value, value, value});
      EXPECT_TRUE(s.constant());
      EXPECT_EQ(s.apply(99), 0);
      EXPECT_EQ(s.invert(s.apply(value)), value);
    }
    EXPECT_THROW(fit_scaler(kind, std::vector<double>{-1e308, 1e308}), Error);
  }
  EXPECT_THROW(scaler_kind_from("log"), Error);
}

Series counting_series(int n) {
  Series s;
  s.source = "f.csv";
  s.target_name = "y";
  FeatureColumn twice{"twice", {}, false}, known{"known", {}, true};
  for (int i = 0; i < n; ++i) {
    s.times.push_back(i);
    s.target.push_back(i);
    twice.values.push_back(2 * i);
    known.values.push_back(-i);
  }
  s.features = {twice, known};
  return s;
}

TEST(Windows, HoldTheRightRowsAndNeverLeak) {
  const Series series = counting_series(100);
  std::vector<std::string> said;
  const ScaledSeries scaled = scale_series(series, fit_channels(series, ScalerKind::kNone, 70, &said));
  EXPECT_EQ(scaled.num_channels(), 3);
  EXPECT_EQ(scaled.num_known_future(), 1);
  const std::int64_t window = 8, horizon = 3;
  const Split split = split_series(100);
  const WindowRanges ranges = window_ranges(split, window, horizon);
  EXPECT_EQ(ranges.train.first, 8);
  EXPECT_EQ(ranges.train.first + ranges.train.count - 1 + horizon, split.train_end);
  EXPECT_EQ(ranges.validation.first, split.train_end);
  EXPECT_EQ(ranges.validation.first + ranges.validation.count - 1 + horizon, split.validation_end);
  EXPECT_EQ(ranges.test.first, split.validation_end);
  EXPECT_EQ(ranges.test.first + ranges.test.count - 1 + horizon, 100);

  const std::vector<std::int64_t> origins = {8, 50, 97};
  std::vector<float> x(3 * 8 * 3), y(3 * 3), known(3 * 3 * 1);
  copy_inputs(scaled, origins, window, x.data());
  copy_targets(scaled, origins, horizon, y.data());
  copy_known_future(scaled, origins, horizon, known.data());
  for (std::size_t b = 0; b < 3; ++b) {
    for (std::size_t w = 0; w < 8; ++w) {
      const float row = static_cast<float>(origins[b]) - 8.0f + static_cast<float>(w);
      EXPECT_EQ(x[(b * 8 + w) * 3], row);
      EXPECT_EQ(x[(b * 8 + w) * 3 + 1], 2 * row);
      EXPECT_EQ(x[(b * 8 + w) * 3 + 2], -row);
    }
    for (std::size_t h = 0; h < 3; ++h) {
      EXPECT_EQ(y[b * 3 + h], static_cast<float>(origins[b]) + static_cast<float>(h));
      EXPECT_EQ(known[b * 3 + h], -y[b * 3 + h]);
    }
  }
  EXPECT_THROW(copy_inputs(scaled, std::vector<std::int64_t>{7}, window, x.data()), InternalError);
  EXPECT_THROW(copy_targets(scaled, std::vector<std::int64_t>{98}, horizon, y.data()), InternalError);
}

TEST(Windows, ScalersSeeTheTrainingPartOnly) {
  Series a = counting_series(100), b = counting_series(100);
  for (std::size_t i = 70; i < 100; ++i) b.target[i] = 1e6;
  std::vector<std::string> said;
  const Channel from_a = fit_channels(a, ScalerKind::kStandard, 70, &said)[0];
  const Channel from_b = fit_channels(b, ScalerKind::kStandard, 70, &said)[0];
  EXPECT_EQ(from_a.scaler.offset, from_b.scaler.offset);
  EXPECT_EQ(from_a.scaler.scale, from_b.scaler.scale);

  for (std::size_t i = 0; i < 70; ++i) a.features[0].values[i] = 5;
  const std::vector<Channel> channels = fit_channels(a, ScalerKind::kMinMax, 70, &said);
  ASSERT_EQ(said.size(), 1u);
  EXPECT_THAT(said[0], HasSubstr("Column 'twice' is constant (5)"));
  for (float v : scale_series(a, channels).values) EXPECT_TRUE(std::isfinite(v));
  a.features.clear();
  EXPECT_THAT(error_of([&] { scale_series(a, channels); }), HasSubstr("the model needs column 'twice'"));
  b.target[80] = 1e60;
  EXPECT_THAT(error_of([&] { scale_series(b, channels); }), HasSubstr("too large"));
}

TEST(Windows, TooShortASeriesIsRefusedWithTheNumbers) {
  EXPECT_THAT(
      error_of([] { window_ranges(split_series(50), 48, 12); }),
      HasSubstr(
          "The training part has 35 of the series' 50 points, and needs 60 for window 48 and horizon 12. Lower the window"));
  EXPECT_THAT(error_of([] { window_ranges(split_series(100), 48, 12); }), HasSubstr("The validation part has 10"));
  EXPECT_THAT(error_of([] { window_ranges(split_series(100, {.train = 0.9, .validation = 0, .test = 0.1}), 48, 12); }),
              HasSubstr("The test part has 10"));
  EXPECT_THROW(window_ranges(split_series(100), 0, 1), Error);
  EXPECT_NO_THROW(window_ranges(split_series(100, {.train = 0.8, .validation = 0, .test = 0.2}), 48, 12));
}

std::int64_t season_of(const std::string& file, const std::string& target, std::int64_t max_season) {
  const Series s = make_series(read_csv_file("examples/data/" + file), {.target = target});
  const std::span<const double> y(s.target);
  return detect_season(y.first(static_cast<std::size_t>(split_series(s.num_steps()).train_end)), s.step, max_season);
}

TEST(Season, OfRealSeries) {
  EXPECT_EQ(season_of("us-births-1969-1988.csv", "births", 48), 7);
  EXPECT_EQ(season_of("us-births-1969-1988.csv", "births", 2000), 7);
  EXPECT_EQ(season_of("us-births-1969-1988.csv", "births", 6), 1);
  EXPECT_EQ(season_of("co2-concentration.csv", "CO2", 48), 12);
  EXPECT_EQ(season_of("co2-concentration.csv", "adjusted CO2", 48), 1);
  EXPECT_EQ(season_of("seattle-weather.csv", "temp_max", 48), 1);
}

TEST(Season, OfMadeSeries) {
  std::mt19937 random(5);
  std::normal_distribution<double> normal;
  const TimeStep hour{TimeStep::Unit::kSeconds, 3600, false};
  int walks_with_season = 0;
  for (int trial = 0; trial < 50; ++trial) {
    std::vector<double> walk(1000), noise(1000);
    double level = 0;
    for (std::size_t i = 0; i < walk.size(); ++i) {
      walk[i] = level += normal(random);
      noise[i] = normal(random);
    }
    walks_with_season += (detect_season(walk, hour, 200) != 1) + (detect_season(noise, hour, 200) != 1);
  }
  EXPECT_EQ(walks_with_season, 0);
  for (std::int64_t period : {5, 12, 24, 37, 168}) {
    std::vector<double> y(1200);
    for (std::size_t i = 0; i < y.size(); ++i) {
      const double phase = 2 * M_PI * static_cast<double>(i) / static_cast<double>(period);
      y[i] = 0.05 * static_cast<double>(i) + 10 * std::sin(phase) + 4 * std::cos(2 * phase) + 0.1 * normal(random);
    }
    EXPECT_EQ(detect_season(y, hour, 400), period);
  }
  EXPECT_EQ(detect_season(std::vector<double>(100, 3.0), hour, 48), 1);
  EXPECT_EQ(detect_season(std::vector<double>{}, hour, 48), 1);
  EXPECT_EQ(detect_season(std::vector<double>{1, 2, 3}, hour, 48), 1);
}

}  // namespace
}  // namespace tabgrad
