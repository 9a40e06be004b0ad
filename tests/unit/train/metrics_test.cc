// Forecast errors by hand-worked numbers, and the baselines: definitions, least squares against a direct solution, and the
// figures of the real series.
#include "train/judge/metrics.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <string>
#include <vector>

#include "data/atomic_file.h"
#include "train/judge/baselines.h"

namespace tabgrad {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TEST(Metrics, ByHand) {
  const std::vector<double> truth = {2, 0, -4, 0}, forecast = {1, 0, -2, 3};
  const Metrics m = point_metrics(truth, forecast, 3);
  EXPECT_DOUBLE_EQ(m.rmse, std::sqrt((1 + 0 + 4 + 9) / 4.0));
  EXPECT_DOUBLE_EQ(m.mae, 1.5);
  EXPECT_DOUBLE_EQ(m.smape, 100 * (2.0 / 3 + 0 + 4.0 / 6 + 2) / 4);
  EXPECT_DOUBLE_EQ(m.mase, 0.5);
  EXPECT_TRUE(std::isnan(point_metrics(truth, forecast, 0).mase));
  EXPECT_TRUE(std::isnan(point_metrics(truth, forecast, NAN).mase));
  EXPECT_EQ(point_metrics(truth, truth, 1).rmse, 0);

  EXPECT_DOUBLE_EQ(in_sample_naive_mae(std::vector<double>{1, 2, 4, 7}, 1), 2);
  EXPECT_DOUBLE_EQ(in_sample_naive_mae(std::vector<double>{1, 2, 4, 7}, 2), 4);
  EXPECT_TRUE(std::isnan(in_sample_naive_mae(std::vector<double>{1, 2}, 2)));

  EXPECT_DOUBLE_EQ(pinball_loss(std::vector<double>{10, 10}, std::vector<double>{8, 13}, 0.9), (0.9 * 2 + 0.1 * 3) / 2);
  EXPECT_DOUBLE_EQ(coverage(std::vector<double>{1, 2, 3, 4}, std::vector<double>{1, 3, 0, 0}, std::vector<double>{1, 4, 9, 3}),
                   0.5);
}

TEST(Metrics, PinballIsLeastAtTheQuantile) {
  std::mt19937 random(2);
  std::normal_distribution<double> normal;
  std::vector<double> y(20000);
  for (double& v : y) v = normal(random);
  const auto loss = [&](double q, double level) { return pinball_loss(y, std::vector<double>(y.size(), level), q); };
  for (auto [q, level] : {std::pair(0.1, -1.2816), std::pair(0.5, 0.0), std::pair(0.9, 1.2816)}) {
    EXPECT_LT(loss(q, level), loss(q, level - 0.15));
    EXPECT_LT(loss(q, level), loss(q, level + 0.15));
  }
}

TEST(Metrics, FlatForecast) {
  const std::vector<double> truth = {0, 10, 0, 10, 0, 10};
  EXPECT_TRUE(is_flat(truth, std::vector<double>{5, 5.1, 5, 5.1, 5, 5}));
  EXPECT_FALSE(is_flat(truth, std::vector<double>{2, 8, 2, 8, 2, 8}));
  EXPECT_FALSE(is_flat(std::vector<double>{3, 3, 3}, std::vector<double>{3, 3, 3}));
}

TEST(Baselines, Naive) {
  const std::vector<double> y = {0, 1, 2, 3, 4, 5, 6, 7};
  EXPECT_THAT(last_value_forecast(y, {3, 2}, 3), ElementsAre(2, 2, 2, 3, 3, 3));
  EXPECT_THAT(seasonal_naive_forecast(y, {3, 2}, 3, 2), ElementsAre(1, 2, 1, 2, 3, 2));
  EXPECT_THAT(seasonal_naive_forecast(y, {4, 1}, 4, 4), ElementsAre(0, 1, 2, 3));
  EXPECT_THAT(window_truth(y, {3, 2}, 3), ElementsAre(3, 4, 5, 4, 5, 6));
}

// Least squares by Householder QR of the plain window matrix: slow and independent of the code under test.
std::vector<double> least_squares(std::vector<std::vector<double>> a, std::vector<double> b) {
  const std::size_t rows = a.size(), n = a[0].size();
  for (std::size_t k = 0; k < n; ++k) {
    double norm = 0;
    for (std::size_t i = k; i < rows; ++i) norm += a[i][k] * a[i][k];
    const double alpha = a[k][k] > 0 ? -std::sqrt(norm) : std::sqrt(norm);
    std::vector<double> v(rows);
    for (std::size_t i = k; i < rows; ++i) v[i] = a[i][k];
    v[k] -= alpha;
    double vv = 0;
    for (double x : v) vv += x * x;
    const auto reflect = [&](auto get) {
      double dot = 0;
      for (std::size_t i = k; i < rows; ++i) dot += v[i] * get(i);
      for (std::size_t i = k; i < rows; ++i) get(i) -= 2 * dot / vv * v[i];
    };
    for (std::size_t j = k; j < n; ++j) reflect([&](std::size_t i) -> double& { return a[i][j]; });
    reflect([&](std::size_t i) -> double& { return b[i]; });
  }
  std::vector<double> x(n);
  for (std::size_t k = n; k-- > 0;) {
    double sum = b[k];
    for (std::size_t j = k + 1; j < n; ++j) sum -= a[k][j] * x[j];
    x[k] = sum / a[k][k];
  }
  return x;
}

TEST(LinearAr, IsTheLeastSquaresSolution) {
  std::mt19937 random(4);
  std::normal_distribution<double> normal;
  std::vector<double> y = {1000, 1001};  // a level far from zero strains the sums
  for (std::size_t i = 2; i < 300; ++i) y.push_back(1000 + 0.5 * (y[i - 1] - 1000) - 0.3 * (y[i - 2] - 1000) + normal(random));
  const std::int64_t window = 6, horizon = 3;
  const WindowRange training = window_range(10, 250, window, horizon);
  const LinearAr ar = fit_linear_ar(y, training, window, horizon);
  EXPECT_EQ(ar.notice, "");
  for (std::int64_t h = 0; h < horizon; ++h) {
    std::vector<std::vector<double>> a;
    std::vector<double> b;
    for (std::int64_t t = training.first; t < training.first + training.count; ++t) {
      a.emplace_back(y.begin() + t - window, y.begin() + t);
      a.back().push_back(1);
      b.push_back(y[static_cast<std::size_t>(t + h)]);
    }
    const std::vector<double> x = least_squares(a, b);
    for (std::int64_t j = 0; j < window; ++j) {
      EXPECT_NEAR(ar.coefficients[static_cast<std::size_t>(h * window + j)], x[static_cast<std::size_t>(j)], 1e-8);
    }
    EXPECT_NEAR(ar.intercepts[static_cast<std::size_t>(h)], x.back(), 1e-5);
  }
}

TEST(LinearAr, StandsCollinearWindows) {
  std::vector<double> line, sine, constant(200, 7.0);
  for (int i = 0; i < 200; ++i) {
    line.push_back(3 * i + 5);
    sine.push_back(std::sin(0.3 * i));
  }
  for (const auto& y : {line, sine, constant}) {
    const LinearAr ar = fit_linear_ar(y, window_range(0, 150, 12, 2), 12, 2);
    EXPECT_THAT(ar.notice, HasSubstr("ridge"));
    const WindowRange test = window_range(150, 200, 12, 2);
    EXPECT_LT(point_metrics(window_truth(y, test, 2), ar.forecast(y, test), 1).rmse, 0.05);
  }
  EXPECT_NO_THROW(fit_linear_ar(line, {12, 1}, 12, 2));  // fewer windows than coefficients
}

struct Figures {
  double last, seasonal, ar;
};

Figures figures(const char* file, const char* target, std::int64_t season) {
  const Series s = make_series(read_csv_file(file), {.target = target});
  const std::span<const double> y(s.target);
  const WindowRanges ranges = window_ranges(split_series(s.num_steps()), 48, 1);
  const std::vector<double> truth = window_truth(y, ranges.test, 1);
  const auto rmse = [&](const std::vector<double>& forecast) { return point_metrics(truth, forecast, 1).rmse; };
  return {rmse(last_value_forecast(y, ranges.test, 1)), rmse(seasonal_naive_forecast(y, ranges.test, 1, season)),
          rmse(fit_linear_ar(y, ranges.train, 48, 1).forecast(y, ranges.test))};
}

TEST(Baselines, FiguresOfRealSeries) {
  const Figures births = figures("examples/data/us-births-1969-1988.csv", "births", 7);
  EXPECT_NEAR(births.last, 1270.6, 0.05);
  EXPECT_NEAR(births.seasonal, 532.6, 0.05);
  EXPECT_NEAR(births.ar, 395.6, 0.05);
  EXPECT_NEAR(figures("examples/data/seattle-weather.csv", "temp_max", 1).last, 3.0626, 5e-5);
}

TEST(Baselines, TheSentenceIsPlain) {
  const auto named = [](const char* name, double rmse) { return NamedMetrics{name, {.rmse = rmse}}; };
  const std::vector<NamedMetrics> baselines = {named("last value", 10), named("linear autoregression", 8)};
  EXPECT_EQ(compare_with_baselines(named("LSTM", 6), baselines, false),
            "The LSTM beats every baseline: its RMSE of 6 is 25.0 % below that of the best one, linear autoregression (8).");
  EXPECT_EQ(compare_with_baselines(named("LSTM", 9), baselines, false),
            "The LSTM does not beat linear autoregression: its RMSE is 9, that of linear autoregression is 8; it beats last "
            "value. For "
            "this series, prefer linear autoregression.");
  EXPECT_THAT(compare_with_baselines(named("LSTM", 12), baselines, true),
              HasSubstr("does not beat last value, linear autoregression"));
  EXPECT_THAT(compare_with_baselines(named("LSTM", 12), baselines, true), HasSubstr("nearly flat"));
  EXPECT_THAT(compare_with_baselines(named("LSTM", NAN), baselines, false), HasSubstr("does not beat"));
}

}  // namespace
}  // namespace tabgrad
