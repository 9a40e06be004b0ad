#include "data/season.h"

#include <algorithm>
#include <cmath>
#include <vector>

namespace tabgrad {
namespace {

constexpr std::size_t kMaxPoints = 20000;       // the newest ones; bounds the cost to kMaxSeasonLag·kMaxPoints products
constexpr double kMinCorrelation = 0.3;         // for any lag
constexpr double kMinNaturalCorrelation = 0.1;  // for periods that the step suggests
constexpr double kSignificance = 4;             // standard errors of white noise, 1/sqrt(n); 4 since many lags are tried
constexpr double kNearlyAsHigh = 0.9;

bool is_natural(std::int64_t lag, const TimeStep& step) {
  constexpr double kDay = 86400;
  const double steps = static_cast<double>(lag);
  switch (step.unit) {
    case TimeStep::Unit::kCounter: return false;
    case TimeStep::Unit::kWeekdays: return lag == 5;
    case TimeStep::Unit::kMonths: return steps * step.size == 12;
    case TimeStep::Unit::kSeconds:
      return steps * step.size == kDay || steps * step.size == 7 * kDay || (step.size == kDay && lag == 365) ||
             (step.size == 7 * kDay && lag == 52);
  }
  return false;
}

// Autocorrelation at lags 0 … max_lag; empty for a constant series.
std::vector<double> autocorrelation(const std::vector<double>& x, std::int64_t max_lag) {
  double mean = 0;
  for (double v : x) mean += v / static_cast<double>(x.size());
  std::vector<double> r;
  for (std::size_t lag = 0; lag <= static_cast<std::size_t>(max_lag); ++lag) {
    double sum = 0;
    for (std::size_t i = lag; i < x.size(); ++i) sum += (x[i] - mean) * (x[i - lag] - mean);
    r.push_back(sum);
    if (r[0] <= 0) return {};
  }
  for (std::size_t lag = r.size(); lag-- > 0;) r[lag] /= r[0];
  return r;
}

}  // namespace

std::int64_t detect_season(std::span<const double> training, const TimeStep& step, std::int64_t max_season) {
  if (training.size() > kMaxPoints) training = training.last(kMaxPoints);
  const std::int64_t n = static_cast<std::int64_t>(training.size());
  const std::int64_t last = std::min({n / 3, max_season, kMaxSeasonLag});
  if (last < 2) return 1;
  double magnitude = 0;
  for (double v : training) magnitude = std::max(magnitude, std::fabs(v));
  if (magnitude == 0) return 1;
  std::vector<double> differences;
  for (std::size_t i = 1; i < training.size(); ++i)
    differences.push_back(training[i] / magnitude - training[i - 1] / magnitude);
  const std::vector<double> r = autocorrelation(differences, last + 1);
  if (r.empty()) return 1;

  const auto correlation = [&](std::int64_t lag) { return r[static_cast<std::size_t>(lag)]; };
  std::int64_t first = 1;  // a slow wave resembles itself at the shortest lags too: the season lies past the first zero
  while (first <= last && correlation(first) > 0) ++first;
  std::vector<std::int64_t> candidates;
  double best = 0;
  for (std::int64_t lag = first + 1; lag <= last; ++lag) {
    const double needed = std::max(is_natural(lag, step) ? kMinNaturalCorrelation : kMinCorrelation,
                                   kSignificance / std::sqrt(static_cast<double>(n)));
    if (correlation(lag) < needed || correlation(lag) < correlation(lag - 1) || correlation(lag) < correlation(lag + 1))
      continue;
    candidates.push_back(lag);
    best = std::max(best, correlation(lag));
  }
  std::int64_t chosen = 1;
  for (std::int64_t lag : candidates) {
    // The shortest that is nearly as high as the best, and then the top of its own peak, which noise may make ragged.
    const bool on_its_peak = chosen > 1 && lag <= chosen + chosen / 4;
    if (chosen == 1 ? correlation(lag) >= kNearlyAsHigh * best : on_its_peak && correlation(lag) > correlation(chosen))
      chosen = lag;
  }
  for (std::int64_t lag = chosen - chosen / 20; lag <= std::min(last, chosen + chosen / 20); ++lag) {
    if (is_natural(lag, step) && correlation(lag) >= kNearlyAsHigh * correlation(chosen)) return lag;
  }
  return chosen;
}

}  // namespace tabgrad
