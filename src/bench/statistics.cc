#include "bench/statistics.h"

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "base/error.h"

namespace tabgrad::bench {

double quantile(std::vector<double> values, double q) {
  TG_CHECK(!values.empty());
  std::sort(values.begin(), values.end());
  const double at = q * static_cast<double>(values.size() - 1);
  const auto low = static_cast<std::size_t>(std::floor(at)), high = std::min(low + 1, values.size() - 1);
  return values[low] + (at - static_cast<double>(low)) * (values[high] - values[low]);
}

RatioInterval ratio_interval(const std::vector<double>& a, const std::vector<double>& b) {
  constexpr int kDraws = 2000;
  std::uint32_t state = 1;  // the multiplier and increment of "Numerical Recipes"
  const auto redrawn = [&](const std::vector<double>& values) {
    std::vector<double> drawn;
    for (std::size_t i = 0; i < values.size(); ++i) {
      state = state * 1664525u + 1013904223u;
      drawn.push_back(values[static_cast<std::size_t>(state / 4294967296.0 * static_cast<double>(values.size()))]);
    }
    return median(drawn);
  };
  std::vector<double> ratios;
  for (int i = 0; i < kDraws; ++i) {
    const double above = redrawn(a);
    ratios.push_back(above / redrawn(b));
  }
  return {median(a) / median(b), quantile(ratios, 0.025), quantile(ratios, 0.975)};
}

}  // namespace tabgrad::bench
