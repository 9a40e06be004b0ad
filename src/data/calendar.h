// Calendar columns made from a time axis: known for every step to come, so they may feed the target's steps too.
//
// Does: sine/cosine pairs and one-hot weekdays by civil-date arithmetic. Does not: know holidays or time zones.
//
// Invariant: values lie in [-1, 1] and are not scaled again.
#pragma once

#include <string>
#include <vector>

#include "data/series.h"

namespace tabgrad {

enum class CalendarFeature {
  kHourOfDay,        // sin, cos of the time of day
  kDayOfWeek,        // sin, cos
  kDayOfWeekOneHot,  // 7 columns, Monday first
  kDayOfMonth,       // sin, cos; the period is that month's length
  kDayOfYear,        // sin, cos; the period is that year's length
  kMonth,            // sin, cos of the month's number
};

// What suits the step: below a day: hour, one-hot weekday, day of year; days and weekdays: one-hot weekday, day of month,
// day of year; up to four weeks: day of year; months: month (none for whole years).
std::vector<CalendarFeature> default_calendar(const TimeStep& step);
// "auto" or a comma list of hour, weekday, weekday_onehot, monthday, yearday, month. Throws Error on another word, and
// when the step has no calendar.
std::vector<CalendarFeature> calendar_from(const std::string& list, const TimeStep& step);

// Columns for these times, all known_future.
std::vector<FeatureColumn> calendar_columns(const std::vector<double>& times, const std::vector<CalendarFeature>& features);

}  // namespace tabgrad
