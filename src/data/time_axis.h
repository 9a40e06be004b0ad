// The spacing of a time axis: which step its times take, and where each lies on the grid of that step.
//
// Does: recognises seconds (days, hours, …), calendar months and years, and weekdays (Monday to Friday). Does not: read
// cells (data/time.h), fill gaps (data/series.h).
//
// Invariant: times given here are finite and strictly rising.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace tabgrad {

struct TimeStep {
  enum class Unit {
    kCounter,   // no dates: size is the distance of the numbers (1 without a time column)
    kSeconds,   // size seconds, a day being 86400
    kWeekdays,  // Monday to Friday, one day each
    kMonths,    // size calendar months: 1, 3 for quarters, 12 for years
  };
  Unit unit = Unit::kCounter;
  double size = 1;
  bool month_end = false;  // kMonths: each time is the last day of its month

  bool has_calendar() const { return unit != Unit::kCounter; }
};

// "1 day", "15 minutes", "1 month", "1 weekday", "1 row".
std::string to_string(const TimeStep& step);
// The time `steps` steps after `time`.
double advance(double time, const TimeStep& step, std::int64_t steps);
// A point of the axis for messages: a date, or the plain number when the step has no calendar.
std::string format_point(double time, const TimeStep& step);

// The median difference, as calendar months when every time is on the same day of its month (or the last), as weekdays
// when days skip all Saturdays and Sundays and most weekdays are there. counter: the times are plain numbers. One time alone gives size 1.
TimeStep detect_step(const std::vector<double>& times, bool counter);

struct Grid {
  std::vector<std::int64_t> positions;  // of each time, from 0; strictly rising, a difference of 1 being one step
  std::int64_t irregular = 0;  // differences more than kGridTolerance of a step away from a whole number of steps
  std::int64_t first_irregular = -1;  // index of the later time of the first of them
};
inline constexpr double kGridTolerance = 0.1;  // of a step: forgives jitter and a day of 23 or 25 hours
Grid place_on_grid(const std::vector<double>& times, const TimeStep& step);

}  // namespace tabgrad
