// Order statistics and bootstrap intervals of measured times; the same numbers as packages/tabgrad/src/bench/stats.ts.
#pragma once

#include <vector>

namespace tabgrad::bench {

// q = 0 … 1, linear between the two nearest. values: at least one.
double quantile(std::vector<double> values, double q);
inline double median(const std::vector<double>& values) { return quantile(values, 0.5); }

struct RatioInterval {
  double ratio = 0, low = 0, high = 0;
};
// 95 % interval of median(a) / median(b): both samples redrawn with replacement, the 2.5th and 97.5th percentile of 2000 ratios. The
// stream of draws is fixed, so that an interval can be made again from its samples.
RatioInterval ratio_interval(const std::vector<double>& a, const std::vector<double>& b);

}  // namespace tabgrad::bench
