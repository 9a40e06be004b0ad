#include "data/calendar.h"

#include <array>
#include <cmath>
#include <numbers>
#include <string_view>
#include <utility>

#include "base/error.h"
#include "data/csv_dialect.h"

namespace tabgrad {
namespace {

constexpr double kDay = 86400;

constexpr std::array<std::pair<std::string_view, CalendarFeature>, 6> kWords = {{
    {"hour", CalendarFeature::kHourOfDay},
    {"weekday", CalendarFeature::kDayOfWeek},
    {"weekday_onehot", CalendarFeature::kDayOfWeekOneHot},
    {"monthday", CalendarFeature::kDayOfMonth},
    {"yearday", CalendarFeature::kDayOfYear},
    {"month", CalendarFeature::kMonth},
}};

CalendarFeature feature_from(std::string_view word) {
  for (const auto& [name, feature] : kWords) {
    if (name == word) return feature;
  }
  fail("Calendar: ", csv::excerpt(word),
       " is not a calendar feature. Choose from auto, hour, weekday, weekday_onehot, monthday, yearday, month.");
}

// Position in the period, in [0, 1).
double phase(const CivilTime& t, CalendarFeature feature) {
  const double day_fraction = (t.hour * 3600.0 + t.minute * 60.0 + t.second) / kDay;
  switch (feature) {
    case CalendarFeature::kHourOfDay: return day_fraction;
    case CalendarFeature::kDayOfWeek:
    case CalendarFeature::kDayOfWeekOneHot: return t.weekday / 7.0;
    case CalendarFeature::kDayOfMonth: return (t.day - 1.0) / days_in_month(t.year, t.month);
    case CalendarFeature::kDayOfYear: return t.day_of_year / (days_in_month(t.year, 2) == 29 ? 366.0 : 365.0);
    case CalendarFeature::kMonth: return (t.month - 1.0) / 12;
  }
  TG_CHECK(false);
}

std::string_view word_of(CalendarFeature feature) {
  for (const auto& [name, f] : kWords) {
    if (f == feature) return name;
  }
  TG_CHECK(false);
}

}  // namespace

std::vector<CalendarFeature> default_calendar(const TimeStep& step) {
  using enum CalendarFeature;
  switch (step.unit) {
    case TimeStep::Unit::kCounter: return {};
    case TimeStep::Unit::kWeekdays: return {kDayOfWeekOneHot, kDayOfMonth, kDayOfYear};
    case TimeStep::Unit::kMonths:
      if (std::fmod(step.size, 12) == 0) return {};
      return {kMonth};
    case TimeStep::Unit::kSeconds:
      if (step.size < kDay) return {kHourOfDay, kDayOfWeekOneHot, kDayOfYear};
      if (step.size == kDay) return {kDayOfWeekOneHot, kDayOfMonth, kDayOfYear};
      return {kDayOfYear};
  }
  TG_CHECK(false);
}

std::vector<CalendarFeature> calendar_from(const std::string& list, const TimeStep& step) {
  if (!step.has_calendar()) fail("Calendar features need a time column with dates. Name it, or leave the calendar out.");
  if (list == "auto") return default_calendar(step);
  std::vector<CalendarFeature> features;
  std::string_view rest = list;
  while (true) {
    const std::size_t comma = rest.find(',');
    features.push_back(feature_from(csv::trim(rest.substr(0, comma))));
    if (comma == std::string_view::npos) return features;
    rest.remove_prefix(comma + 1);
  }
}

std::vector<FeatureColumn> calendar_columns(const std::vector<double>& times, const std::vector<CalendarFeature>& features) {
  std::vector<FeatureColumn> columns;
  const auto add = [&](std::string name, auto value) {
    FeatureColumn column{std::move(name), {}, true};
    column.values.reserve(times.size());
    for (double time : times) column.values.push_back(value(civil_from_seconds(time)));
    columns.push_back(std::move(column));
  };
  for (CalendarFeature feature : features) {
    const std::string word(word_of(feature));
    if (feature == CalendarFeature::kDayOfWeekOneHot) {
      static constexpr std::array<const char*, 7> kDays = {"mon", "tue", "wed", "thu", "fri", "sat", "sun"};
      for (int day = 0; day < 7; ++day) {
        add(str("calendar.weekday.", kDays[static_cast<std::size_t>(day)]),
            [=](const CivilTime& t) { return t.weekday == day ? 1.0 : 0.0; });
      }
      continue;
    }
    add("calendar." + word + ".sin", [=](const CivilTime& t) { return std::sin(2 * std::numbers::pi * phase(t, feature)); });
    add("calendar." + word + ".cos", [=](const CivilTime& t) { return std::cos(2 * std::numbers::pi * phase(t, feature)); });
  }
  return columns;
}

}  // namespace tabgrad
