#include "data/time_axis.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "data/time.h"

namespace tabgrad {
namespace {

constexpr double kDay = 86400;

// Weekdays since Monday 1969-12-29, for a time from Monday to Friday.
std::int64_t weekday_number(double time) {
  const std::int64_t day = static_cast<std::int64_t>(std::floor(time / kDay)) + 3;
  const std::int64_t week = (day >= 0 ? day : day - 6) / 7;
  return week * 5 + std::min<std::int64_t>(day - week * 7, 4);
}

std::int64_t month_number(double time) {
  const CivilTime t = civil_from_seconds(time);
  return t.year * std::int64_t{12} + t.month - 1;
}

double median_difference(const std::vector<double>& values) {
  std::vector<double> steps(values.size() - 1);
  for (std::size_t i = 0; i < steps.size(); ++i) steps[i] = values[i + 1] - values[i];
  const auto middle = steps.begin() + static_cast<std::ptrdiff_t>((steps.size() - 1) / 2);
  std::nth_element(steps.begin(), middle, steps.end());
  return *middle;
}

bool same_time_of_day(const std::vector<double>& times) {
  const double first = times[0] - std::floor(times[0] / kDay) * kDay;
  return std::all_of(times.begin(), times.end(), [&](double t) { return t - std::floor(t / kDay) * kDay == first; });
}

}  // namespace

std::string to_string(const TimeStep& step) {
  const auto many = [](double count, const char* unit) { return str(count, " ", unit, count == 1 ? "" : "s"); };
  const double size = step.size;
  switch (step.unit) {
    case TimeStep::Unit::kCounter: return size == 1 ? "1 row" : str(size);
    case TimeStep::Unit::kWeekdays: return many(size, "weekday");
    case TimeStep::Unit::kMonths: return std::fmod(size, 12) == 0 ? many(size / 12, "year") : many(size, "month");
    case TimeStep::Unit::kSeconds:
      if (std::fmod(size, 7 * kDay) == 0) return many(size / (7 * kDay), "week");
      if (std::fmod(size, kDay) == 0) return many(size / kDay, "day");
      if (std::fmod(size, 3600) == 0) return many(size / 3600, "hour");
      if (std::fmod(size, 60) == 0) return many(size / 60, "minute");
      return many(size, "second");
  }
  TG_CHECK(false);
}

double advance(double time, const TimeStep& step, std::int64_t steps) {
  switch (step.unit) {
    case TimeStep::Unit::kCounter:
    case TimeStep::Unit::kSeconds: return time + static_cast<double>(steps) * step.size;
    case TimeStep::Unit::kWeekdays: {
      const std::int64_t number = weekday_number(time) + steps;
      const std::int64_t week = (number >= 0 ? number : number - 4) / 5;
      const std::int64_t day = week * 7 + (number - week * 5) - 3;
      return static_cast<double>(day) * kDay + (time - std::floor(time / kDay) * kDay);
    }
    case TimeStep::Unit::kMonths: {
      const double later = add_months(time, steps * static_cast<std::int64_t>(step.size));
      const CivilTime t = civil_from_seconds(later);
      return step.month_end ? later + kDay * (days_in_month(t.year, t.month) - t.day) : later;
    }
  }
  TG_CHECK(false);
}

std::string format_point(double time, const TimeStep& step) { return step.has_calendar() ? format_time(time) : str(time); }

TimeStep detect_step(const std::vector<double>& times, bool counter) {
  TimeStep step;
  if (!counter) step.unit = TimeStep::Unit::kSeconds;
  if (times.size() < 2) return step;
  step.size = median_difference(times);
  if (counter || !same_time_of_day(times)) return step;

  if (step.size >= 28 * kDay) {
    const int first_day = civil_from_seconds(times[0]).day;
    bool same_day = true, month_end = true;
    std::vector<double> months;
    for (double time : times) {
      const CivilTime t = civil_from_seconds(time);
      same_day = same_day && t.day == first_day;
      month_end = month_end && t.day == days_in_month(t.year, t.month);
      months.push_back(static_cast<double>(month_number(time)));
    }
    if (same_day || month_end) {
      step.unit = TimeStep::Unit::kMonths;
      step.size = median_difference(months);
      step.month_end = month_end && !same_day;
    }
  } else if (step.size == kDay && times.back() - times.front() >= 10 * kDay &&  // they hold two weekend days at least
             std::all_of(times.begin(), times.end(), [](double t) { return civil_from_seconds(t).weekday < 5; }) &&
             weekday_number(times.back()) - weekday_number(times.front()) < 2 * static_cast<std::int64_t>(times.size())) {
    step.unit = TimeStep::Unit::kWeekdays;
    step.size = 1;
  }
  return step;
}

Grid place_on_grid(const std::vector<double>& times, const TimeStep& step) {
  Grid grid;
  grid.positions.resize(times.size());
  for (std::size_t i = 1; i < times.size(); ++i) {
    double difference = times[i] - times[i - 1];
    if (step.unit == TimeStep::Unit::kWeekdays) {
      difference = static_cast<double>(weekday_number(times[i]) - weekday_number(times[i - 1]));
    } else if (step.unit == TimeStep::Unit::kMonths) {
      difference = static_cast<double>(month_number(times[i]) - month_number(times[i - 1]));
    }
    // Differences are taken one by one, so that jitter does not add up. 2^53 keeps wild numbers inside an int64.
    const double steps = std::min(difference / step.size, 0x1p53);
    const double whole = std::max(1.0, std::round(steps));
    if (std::fabs(steps - whole) > kGridTolerance) {
      if (grid.irregular++ == 0) grid.first_irregular = static_cast<std::int64_t>(i);
    }
    const double position = static_cast<double>(grid.positions[i - 1]) + whole;
    grid.positions[i] = static_cast<std::int64_t>(std::min(position, 0x1p62));
  }
  return grid;
}

}  // namespace tabgrad
