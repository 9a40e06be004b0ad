#include "train/judge/metrics.h"

#include <cmath>
#include <limits>

#include "base/error.h"

namespace tabgrad {
namespace {

double standard_deviation(std::span<const double> values) {
  const double n = static_cast<double>(values.size());
  double mean = 0, variance = 0;
  for (double v : values) mean += v / n;
  for (double v : values) variance += (v - mean) * (v - mean) / n;
  return std::sqrt(variance);
}

}  // namespace

Metrics point_metrics(std::span<const double> truth, std::span<const double> forecast, double naive_mae) {
  TG_CHECK(truth.size() == forecast.size() && !truth.empty());
  const double n = static_cast<double>(truth.size());
  double squares = 0, absolutes = 0, symmetric = 0;
  for (std::size_t i = 0; i < truth.size(); ++i) {
    const double error = std::fabs(truth[i] - forecast[i]);
    const double size = std::fabs(truth[i]) + std::fabs(forecast[i]);
    squares += error * error;
    absolutes += error;
    symmetric += size == 0 ? 0 : 2 * error / size;
  }
  Metrics m;
  m.rmse = std::sqrt(squares / n);
  m.mae = absolutes / n;
  m.smape = 100 * symmetric / n;
  m.mase = naive_mae > 0 ? m.mae / naive_mae : std::numeric_limits<double>::quiet_NaN();
  return m;
}

double in_sample_naive_mae(std::span<const double> training, std::int64_t season) {
  TG_CHECK(season >= 1);
  const std::size_t lag = static_cast<std::size_t>(season);
  if (training.size() <= lag) return std::numeric_limits<double>::quiet_NaN();
  double sum = 0;
  for (std::size_t t = lag; t < training.size(); ++t) sum += std::fabs(training[t] - training[t - lag]);
  return sum / static_cast<double>(training.size() - lag);
}

double pinball_loss(std::span<const double> truth, std::span<const double> forecast, double quantile) {
  TG_CHECK(truth.size() == forecast.size() && !truth.empty() && quantile > 0 && quantile < 1);
  double sum = 0;
  for (std::size_t i = 0; i < truth.size(); ++i) {
    const double over = truth[i] - forecast[i];
    sum += over >= 0 ? quantile * over : (quantile - 1) * over;
  }
  return sum / static_cast<double>(truth.size());
}

double coverage(std::span<const double> truth, std::span<const double> low, std::span<const double> high) {
  TG_CHECK(truth.size() == low.size() && truth.size() == high.size() && !truth.empty());
  std::size_t inside = 0;
  for (std::size_t i = 0; i < truth.size(); ++i) inside += truth[i] >= low[i] && truth[i] <= high[i] ? 1 : 0;
  return static_cast<double>(inside) / static_cast<double>(truth.size());
}

bool is_flat(std::span<const double> truth, std::span<const double> forecast) {
  TG_CHECK(truth.size() == forecast.size() && !truth.empty());
  const double spread = standard_deviation(truth);
  return spread > 0 && standard_deviation(forecast) < kFlatRatio * spread;
}

}  // namespace tabgrad
