// The honest baselines: last value, seasonal naive, and a linear autoregression; and the sentence that compares a model
// with them.
//
// Does: forecasts the same windows as the model, direct multi-step, from the target's own past, in double precision.
// Does not: use feature columns or scale anything.
//
// Invariant: forecasts are (count, H) row-major in the order of the windows' origins, and use values before the origin only.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "data/windows.h"
#include "train/judge/metrics.h"

namespace tabgrad {

// The truth of those windows, in the same layout.
std::vector<double> window_truth(std::span<const double> target, WindowRange range, std::int64_t horizon);

// ŷ_{t+h} = y_{t-1}
std::vector<double> last_value_forecast(std::span<const double> target, WindowRange range, std::int64_t horizon);
// ŷ_{t+h} = y_{t+h-k·season}, k the smallest that reaches before t. season ≥ 1; needs season ≤ origin.
std::vector<double> seasonal_naive_forecast(std::span<const double> target, WindowRange range, std::int64_t horizon,
                                            std::int64_t season);

// ŷ_{t+h} = intercept_h + Σ_j coefficients[h, j]·y_{t-W+j}, fitted by least squares for each h.
struct LinearAr {
  std::int64_t window = 0, horizon = 0;
  std::vector<double> coefficients;  // (H, W)
  std::vector<double> intercepts;    // (H)
  std::string notice;                // set when the windows were collinear and a tiny ridge was added

  std::vector<double> forecast(std::span<const double> target, WindowRange range) const;
};
// Normal equations of the centred and scaled target, by Cholesky; sums are carried along the diagonals of the Gram matrix
// (neighbouring windows share all but one point), so the cost is O(n·(W+H) + W³). Needs one window at least.
LinearAr fit_linear_ar(std::span<const double> target, WindowRange training, std::int64_t window, std::int64_t horizon);

struct NamedMetrics {
  std::string name;
  Metrics metrics;
};
// One or two plain sentences: whether the model beats the baselines by RMSE and by how much, and whether it is flat.
std::string compare_with_baselines(const NamedMetrics& model, const std::vector<NamedMetrics>& baselines, bool flat);

}  // namespace tabgrad
