// The season of a series: the period of its strongest repetition, found by autocorrelation.
#pragma once

#include <cstdint>
#include <span>

#include "data/series.h"

namespace tabgrad {

// Steps in a season, 1 if there is none that fits. Give the training part only. max_season: the longest of use, which is
// the window (a seasonal value outside it cannot be seen).
//
// Method: autocorrelation of the first differences (which removes level and trend, and leaves a random walk white); among
// local maxima between its first zero and lag min(n/3, max_season, kMaxSeasonLag) the highest that is significant; the shortest of those nearly
// as high, so that multiples lose. Periods natural to the step (7 days, 24 hours, 12 months, …) need less height.
std::int64_t detect_season(std::span<const double> training, const TimeStep& step, std::int64_t max_season);

inline constexpr std::int64_t kMaxSeasonLag = 2000;

}  // namespace tabgrad
