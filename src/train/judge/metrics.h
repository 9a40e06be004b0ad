// Forecast errors over held-out points, in the series' own unit.
//
// Does: point errors (Hyndman & Koehler, "Another look at measures of forecast accuracy", Int. J. Forecasting 22, 2006),
// quantile errors (Koenker & Bassett, "Regression quantiles", Econometrica 46, 1978), a flat-forecast check.
// Does not: scale back (give values in the series' unit).
//
// Invariant: truth and forecast are matched element by element, flat over (windows, horizon); sums are in double, in order.
#pragma once

#include <cstdint>
#include <span>
#include <string>

namespace tabgrad {

struct Metrics {
  double rmse = 0;   // sqrt(mean (y-ŷ)²)
  double mae = 0;    // mean |y-ŷ|
  double smape = 0;  // percent: 100·mean(2|y-ŷ| / (|y|+|ŷ|)), a term being 0 where both are 0; in [0, 200]
  double mase = 0;   // MAE / in-sample MAE of the seasonal naive; NaN when that is 0
};

// naive_mae: in_sample_naive_mae of the training part.
Metrics point_metrics(std::span<const double> truth, std::span<const double> forecast, double naive_mae);

// mean |y_t - y_{t-season}| over the training part: the scale of MASE. NaN when the part is not longer than the season.
double in_sample_naive_mae(std::span<const double> training, std::int64_t season);

// mean max(q·(y-ŷ), (q-1)·(y-ŷ)) for 0 < q < 1.
double pinball_loss(std::span<const double> truth, std::span<const double> forecast, double quantile);

// Fraction of points in [low, high]: 0.8 is right for a P10–P90 band.
double coverage(std::span<const double> truth, std::span<const double> low, std::span<const double> high);

// Whether the forecast hardly moves where the truth does: its standard deviation is below kFlatRatio of the truth's.
inline constexpr double kFlatRatio = 0.1;
bool is_flat(std::span<const double> truth, std::span<const double> forecast);

}  // namespace tabgrad
