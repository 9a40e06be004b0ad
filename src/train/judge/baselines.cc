#include "train/judge/baselines.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "base/error.h"

namespace tabgrad {
namespace {

// Calls value(origin, h) for each window and step.
template <typename F>
std::vector<double> for_windows(std::span<const double> target, WindowRange range, std::int64_t horizon, F value) {
  TG_CHECK(range.first >= 0 && range.first + range.count - 1 + horizon <= static_cast<std::int64_t>(target.size()));
  std::vector<double> out;
  out.reserve(static_cast<std::size_t>(range.count * horizon));
  for (std::int64_t origin = range.first; origin < range.first + range.count; ++origin) {
    for (std::int64_t h = 0; h < horizon; ++h) out.push_back(value(origin, h));
  }
  return out;
}

double at(std::span<const double> values, std::int64_t i) { return values[static_cast<std::size_t>(i)]; }

// A square matrix, row-major.
struct Matrix {
  std::int64_t size;
  std::vector<double> values;
  explicit Matrix(std::int64_t n) : size(n), values(static_cast<std::size_t>(n * n)) {}
  double& operator()(std::int64_t i, std::int64_t j) { return values[static_cast<std::size_t>(i * size + j)]; }
  double operator()(std::int64_t i, std::int64_t j) const { return values[static_cast<std::size_t>(i * size + j)]; }
};

// Lower Cholesky factor of the leading n×n block plus ridge on its diagonal, in place of `factor`'s lower triangle.
// False when a pivot falls below rounding.
bool cholesky(const Matrix& a, std::int64_t n, double ridge, Matrix* factor) {
  double largest = 0;
  for (std::int64_t i = 0; i < n; ++i) largest = std::max(largest, a(i, i));
  const double smallest_pivot = largest * static_cast<double>(n) * 1e-14;
  for (std::int64_t i = 0; i < n; ++i) {
    for (std::int64_t j = 0; j <= i; ++j) {
      double sum = a(i, j) + (i == j ? ridge : 0);
      for (std::int64_t k = 0; k < j; ++k) sum -= (*factor)(i, k) * (*factor)(j, k);
      if (i != j) {
        (*factor)(i, j) = sum / (*factor)(j, j);
      } else if (sum > smallest_pivot) {
        (*factor)(i, i) = std::sqrt(sum);
      } else {
        return false;
      }
    }
  }
  return true;
}

// Centred Gram matrix of the `size` lagged columns x_j(i) = x[start+i+j], i < count: sums run down each diagonal, since
// G[j+1, k+1] is G[j, k] with one term more at the end and one less at the start.
Matrix lagged_gram(std::span<const double> x, std::int64_t start, std::int64_t count, std::int64_t size,
                   std::vector<double>* means) {
  Matrix gram(size);
  means->assign(static_cast<std::size_t>(size), 0);
  double sum = 0;
  for (std::int64_t i = 0; i < count; ++i) sum += at(x, start + i);
  for (std::int64_t j = 0; j < size; ++j) {
    (*means)[static_cast<std::size_t>(j)] = sum / static_cast<double>(count);
    if (j + 1 < size) sum += at(x, start + count + j) - at(x, start + j);
  }
  for (std::int64_t lag = 0; lag < size; ++lag) {
    double product = 0;
    for (std::int64_t i = 0; i < count; ++i) product += at(x, start + i) * at(x, start + i + lag);
    for (std::int64_t j = 0; j + lag < size; ++j) {
      const double centred = product - static_cast<double>(count) * at(*means, j) * at(*means, j + lag);
      gram(j, j + lag) = gram(j + lag, j) = centred;
      if (j + lag + 1 == size) break;
      product += at(x, start + count + j) * at(x, start + count + j + lag) - at(x, start + j) * at(x, start + j + lag);
    }
  }
  return gram;
}

std::string percent(double ratio) {
  char text[32];
  std::snprintf(text, sizeof text, "%.1f %%", 100 * ratio);
  return text;
}

std::string number(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.4g", value);
  return text;
}

}  // namespace

std::vector<double> window_truth(std::span<const double> target, WindowRange range, std::int64_t horizon) {
  return for_windows(target, range, horizon, [&](std::int64_t t, std::int64_t h) { return at(target, t + h); });
}

std::vector<double> last_value_forecast(std::span<const double> target, WindowRange range, std::int64_t horizon) {
  return seasonal_naive_forecast(target, range, horizon, 1);
}

std::vector<double> seasonal_naive_forecast(std::span<const double> target, WindowRange range, std::int64_t horizon,
                                            std::int64_t season) {
  TG_CHECK(season >= 1 && (range.count == 0 || range.first >= season));
  return for_windows(target, range, horizon,
                     [&](std::int64_t t, std::int64_t h) { return at(target, t + h - (h / season + 1) * season); });
}

LinearAr fit_linear_ar(std::span<const double> target, WindowRange training, std::int64_t window, std::int64_t horizon) {
  TG_CHECK(window >= 1 && horizon >= 1 && training.count >= 1 && training.first >= window);
  const std::int64_t start = training.first - window, size = window + horizon;
  TG_CHECK(start + training.count - 1 + size <= static_cast<std::int64_t>(target.size()));

  // The values that the windows touch, centred and scaled as a whole so that sums of squares keep their digits.
  const std::span<const double> used =
      target.subspan(static_cast<std::size_t>(start), static_cast<std::size_t>(training.count - 1 + size));
  const Scaler scaler = fit_scaler(ScalerKind::kStandard, used);
  std::vector<double> x(used.size());
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = scaler.apply(used[i]);

  std::vector<double> means;
  const Matrix gram = lagged_gram(x, 0, training.count, size, &means);
  LinearAr ar{window, horizon, {}, {}, ""};
  Matrix factor(window);
  double ridge = 0;
  while (!cholesky(gram, window, ridge, &factor)) {
    // Starts at 1e-10 of a column's sum of squares: far below any coefficient that matters.
    ridge = std::max(ridge * 100, 1e-10 * static_cast<double>(training.count));
    ar.notice = "The windows of the linear autoregression are linearly dependent; a tiny ridge was added to fit it.";
  }
  for (std::int64_t h = 0; h < horizon; ++h) {
    std::vector<double> b(static_cast<std::size_t>(window));
    for (std::int64_t i = 0; i < window; ++i) {
      double sum = gram(i, window + h);
      for (std::int64_t k = 0; k < i; ++k) sum -= factor(i, k) * at(b, k);
      b[static_cast<std::size_t>(i)] = sum / factor(i, i);
    }
    for (std::int64_t i = window; i-- > 0;) {
      double sum = at(b, i);
      for (std::int64_t k = i + 1; k < window; ++k) sum -= factor(k, i) * at(b, k);
      b[static_cast<std::size_t>(i)] = sum / factor(i, i);
    }
    double scaled_intercept = at(means, window + h), total = 0;
    for (std::int64_t j = 0; j < window; ++j) {
      scaled_intercept -= at(b, j) * at(means, j);
      total += at(b, j);
    }
    ar.intercepts.push_back(scaler.invert(scaled_intercept) - total * scaler.offset);
    ar.coefficients.insert(ar.coefficients.end(), b.begin(), b.end());
  }
  return ar;
}

std::vector<double> LinearAr::forecast(std::span<const double> target, WindowRange range) const {
  TG_CHECK(range.count == 0 || range.first >= window);
  return for_windows(target, range, horizon, [&](std::int64_t t, std::int64_t h) {
    double sum = at(intercepts, h);
    for (std::int64_t j = 0; j < window; ++j) sum += at(coefficients, h * window + j) * at(target, t - window + j);
    return sum;
  });
}

std::string compare_with_baselines(const NamedMetrics& model, const std::vector<NamedMetrics>& baselines, bool flat) {
  TG_CHECK(!baselines.empty());
  const auto less = [](const NamedMetrics& a, const NamedMetrics& b) { return a.metrics.rmse < b.metrics.rmse; };
  const NamedMetrics& best = *std::min_element(baselines.begin(), baselines.end(), less);
  const double ours = model.metrics.rmse, theirs = best.metrics.rmse;
  std::string beaten, unbeaten;
  for (const NamedMetrics& baseline : baselines) {
    std::string& list = ours < baseline.metrics.rmse ? beaten : unbeaten;
    list += (list.empty() ? "" : ", ") + baseline.name;
  }
  std::string text;
  if (ours < theirs) {
    text = str("The ", model.name, " beats every baseline: its RMSE of ", number(ours), " is ", percent(1 - ours / theirs),
               " below that of the best one, ", best.name, " (", number(theirs), ").");
  } else {
    text = str("The ", model.name, " does not beat ", unbeaten, ": its RMSE is ", number(ours), ", that of ", best.name, " is ",
               number(theirs), beaten.empty() ? "." : str("; it beats ", beaten, "."), " For this series, prefer ", best.name,
               ".");
  }
  if (flat)
    text += " Its forecast is nearly flat: it hardly moves where the series does, so it has learned little more than a level.";
  return text;
}

}  // namespace tabgrad
