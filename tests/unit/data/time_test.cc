// Civil dates against a second method, written forms of times, steps of axes, calendar columns.
#include "data/time.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "data/calendar.h"
#include "data/time_axis.h"

namespace tabgrad {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr double kDay = 86400;

TEST(CivilTime, EveryDayFollowsTheOneBefore) {
  int year = 1, month = 1, day = 1, weekday = 0;  // 0001-01-01 is a Monday
  const std::int64_t first = days_from_civil(1, 1, 1);
  for (std::int64_t n = first; year <= 2400; ++n) {
    const CivilTime t = civil_from_seconds(static_cast<double>(n) * kDay + 3661.5);
    ASSERT_EQ(days_from_civil(year, month, day), n);
    ASSERT_TRUE(t.year == year && t.month == month && t.day == day && t.weekday == weekday) << n;
    ASSERT_EQ(t.hour, 1);
    ASSERT_EQ(t.minute, 1);
    ASSERT_EQ(t.second, 1.5);
    weekday = (weekday + 1) % 7;
    if (++day > days_in_month(year, month)) {
      day = 1;
      if (++month > 12) {
        month = 1;
        ++year;
      }
    }
  }
  EXPECT_EQ(days_from_civil(1970, 1, 1), 0);
  EXPECT_EQ(days_from_civil(2000, 3, 1), 11017);
  EXPECT_EQ(civil_from_seconds(seconds_from_civil(2020, 12, 31)).day_of_year, 365);
}

TEST(CivilTime, MonthsAreAddedWithinTheMonth) {
  EXPECT_EQ(format_time(add_months(seconds_from_civil(2020, 1, 31, 6), 1)), "2020-02-29 06:00");
  EXPECT_EQ(format_time(add_months(seconds_from_civil(2020, 1, 31), -2)), "2019-11-30");
  EXPECT_EQ(format_time(add_months(seconds_from_civil(2020, 1, 15), 25)), "2022-02-15");
  EXPECT_EQ(format_time(seconds_from_civil(2020, 1, 15, 1, 2, 3.25)), "2020-01-15 01:02:03.25");
}

std::string parse(const std::string& cell, std::optional<bool> day_first = std::nullopt) {
  TimeColumnParser parser(day_first);
  if (!parser.add(cell)) return "refused";
  std::vector<std::string> notices;
  return format_time(parser.finish("t", &notices)[0]);
}

TEST(TimeCell, WrittenForms) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"2020-01-31", "2020-01-31"},
      {"2020/1/5", "2020-01-05"},
      {"2020.01.31", "2020-01-31"},
      {"2020-01-31T12:30", "2020-01-31 12:30"},
      {"2020-01-31 12:30:15", "2020-01-31 12:30:15"},
      {"2020-01-31T12:30:15.250Z", "2020-01-31 12:30:15.25"},
      {"2020-01-31T12:30:15,5+05:30", "2020-01-31 12:30:15.5"},
      {"2020-01-31T12+02", "2020-01-31 12:00"},
      {"20200131T1230", "2020-01-31 12:30"},
      {"20200131T123015Z", "2020-01-31 12:30:15"},
      {"2020-01-31 24:00", "2020-02-01"},
      {"2020-01-31 12:30 UTC", "2020-01-31 12:30"},
      {"2020-01", "2020-01-01"},
      {"2020M03", "2020-03-01"},
      {"2020-Q2", "2020-04-01"},
      {"2020Q4", "2020-10-01"},
      {"03/2020", "2020-03-01"},
      {"31.01.2020", "2020-01-31"},
      {"31.1.20", "2020-01-31"},
      {"31/01/1999 8:05 PM", "1999-01-31 20:05"},
      {"01/31/2020 12:00 AM", "2020-01-31"},
      {"31-01-2020 07:00", "2020-01-31 07:00"},
      {"Jan 1 2000", "2000-01-01"},
      {"January 1, 2000", "2000-01-01"},
      {"Sept 3rd, 2001", "2001-09-03"},
      {"1 Jan 2000 13:45", "2000-01-01 13:45"},
      {"01-Jan-2000", "2000-01-01"},
      {"1-Jan-99", "1999-01-01"},
      {"Jan 2000", "2000-01-01"},
      {"Sat, 1 Jan 2000 00:00:01 GMT", "2000-01-01 00:00:01"},
      {"Sat Jan 01 2000 02:00:00 GMT+0200 (Central European Summer Time)", "2000-01-01 02:00"},
      {"", "refused"},
      {"abc", "refused"},
      {"2020", "refused"},
      {"2020-13-01", "refused"},
      {"2021-02-29", "refused"},
      {"2020-01-31 25:00", "refused"},
      {"2020-01-31 12:60", "refused"},
      {"2020-01-31x", "refused"},
      {"2020-01-31 12:30 EST", "refused"},
      {"32/01/2020", "refused"},
      {"13/13/2020", "refused"},
      {"0000-01-01", "refused"},
      {"Jan 32 2000", "refused"},
      {"Foo 1 2000", "refused"},
      {"10:30", "refused"},
      {"1.2.3.4", "refused"},
  };
  for (const auto& [cell, expected] : cases) EXPECT_EQ(parse(cell), expected) << cell;
}

std::vector<std::string> parse_column(const std::vector<std::string>& cells, std::vector<std::string>* notices) {
  TimeColumnParser parser;
  for (const std::string& cell : cells) EXPECT_TRUE(parser.add(cell)) << cell;
  std::vector<std::string> out;
  for (double t : parser.finish("d", notices)) out.push_back(format_time(t));
  return out;
}

TEST(TimeColumn, DayAndMonthAreDecidedByTheWholeColumn) {
  std::vector<std::string> notices;
  EXPECT_THAT(parse_column({"01/02/2020", "03/02/2020", "13/02/2020"}, &notices),
              ElementsAre("2020-02-01", "2020-02-03", "2020-02-13"));
  EXPECT_THAT(parse_column({"01/02/2020", "02/13/2020"}, &notices), ElementsAre("2020-01-02", "2020-02-13"));
  EXPECT_THAT(parse_column({"01.02.2020", "03.04.2020"}, &notices), ElementsAre("2020-02-01", "2020-04-03"));
  EXPECT_TRUE(notices.empty());

  // Two years of first days of months: only one order makes them even.
  std::vector<std::string> month_first, day_first;
  for (int year : {2020, 2021}) {
    for (int month = 1; month <= 12; ++month) {
      month_first.push_back(str(month, "/1/", year));
      day_first.push_back(str("1/", month, "/", year));
    }
  }
  EXPECT_EQ(parse_column(month_first, &notices)[13], "2021-02-01");
  EXPECT_EQ(parse_column(day_first, &notices)[13], "2021-02-01");
  ASSERT_EQ(notices.size(), 2u);
  EXPECT_THAT(notices[0], HasSubstr("month-first (12/31/2020), which is the more even"));
  EXPECT_THAT(notices[1], HasSubstr("day-first (31/12/2020), which is the more even"));
}

TEST(TimeColumn, ZonesGoToTheFirstOne) {
  std::vector<std::string> notices;
  EXPECT_THAT(parse_column({"2020-03-29T00:00+01:00", "2020-03-30T00:00+02:00"}, &notices),
              ElementsAre("2020-03-29", "2020-03-29 23:00"));
  ASSERT_EQ(notices.size(), 1u);
  EXPECT_THAT(notices[0], HasSubstr("UTC+1 h"));
}

TEST(TimeNumbers, AreToldApartBySize) {
  const auto first = [](std::vector<double> values) {
    const TimeFormat format = guess_number_format(values);
    const double t = numbers_to_seconds(values, format)[0];
    return format == TimeFormat::kCounter ? "counter" : format_time(t);
  };
  EXPECT_EQ(first({1958, 1959}), "1958-01-01");
  EXPECT_EQ(first({20200131, 20200201}), "2020-01-31");
  EXPECT_EQ(first({1577836800, 1577836860}), "2020-01-01");
  EXPECT_EQ(first({1577836800123, 1577836860123}), "2020-01-01 00:00:00.123");
  EXPECT_EQ(first({1577836800e6}), "2020-01-01");
  EXPECT_EQ(first({1577836800e9}), "2020-01-01");
  EXPECT_EQ(first({0, 1, 2}), "counter");
  EXPECT_EQ(first({1958.5, 1959}), "counter");
  EXPECT_EQ(first({20201301, 20200201}), "counter");
  EXPECT_THROW(numbers_to_seconds({12}, TimeFormat::kCompactDate), Error);
  EXPECT_THROW(numbers_to_seconds({1e300, 1577836800}, TimeFormat::kEpoch), Error);
}

std::vector<double> days(const std::vector<std::string>& dates) {
  TimeColumnParser parser;
  for (const std::string& date : dates) EXPECT_TRUE(parser.add(date));
  std::vector<std::string> notices;
  return parser.finish("d", &notices);
}

TEST(TimeStep, IsRecognised) {
  const auto step = [](const std::vector<double>& times) { return to_string(detect_step(times, false)); };
  EXPECT_EQ(step(days({"2020-01-01", "2020-01-02", "2020-01-03"})), "1 day");
  EXPECT_EQ(step(days({"2020-01-01", "2020-01-15", "2020-02-12", "2020-02-26"})), "2 weeks");
  EXPECT_EQ(step(days({"2020-01-01", "2020-02-01", "2020-03-01", "2020-04-01"})), "1 month");
  EXPECT_EQ(step(days({"2020-01-31", "2020-02-29", "2020-03-31"})), "1 month");
  EXPECT_EQ(step(days({"2020-01-01", "2020-04-01", "2020-07-01"})), "3 months");
  EXPECT_EQ(step(days({"2018-01-01", "2019-01-01", "2020-01-01", "2021-01-01"})), "1 year");
  EXPECT_EQ(step(days({"2020-01-01T00:00", "2020-01-01T00:15", "2020-01-01T00:30"})), "15 minutes");
  EXPECT_EQ(step(days({"2020-01-02", "2020-01-03", "2020-01-06", "2020-01-07", "2020-01-08", "2020-01-09", "2020-01-10",
                       "2020-01-13"})),
            "1 weekday");
  EXPECT_EQ(to_string(detect_step({1, 3, 5}, true)), "2");
  EXPECT_EQ(to_string(detect_step({5}, true)), "1 row");
}

TEST(TimeStep, AdvancesAndPlaces) {
  const auto later = [](const std::vector<double>& times, int steps) {
    return format_time(advance(times[0], detect_step(times, false), steps));
  };
  EXPECT_EQ(later(days({"2020-02-29", "2020-03-31", "2020-04-30"}), 1), "2020-03-31");
  EXPECT_EQ(later(days({"2020-01-15", "2020-02-15", "2020-03-15"}), 13), "2021-02-15");
  const std::vector<double> week =
      days({"2020-01-02", "2020-01-03", "2020-01-06", "2020-01-07", "2020-01-08", "2020-01-10", "2020-01-13"});
  EXPECT_EQ(later(week, 1), "2020-01-03");
  EXPECT_EQ(later(week, 2), "2020-01-06");
  EXPECT_EQ(later(week, -4), "2019-12-27");
  EXPECT_EQ(later(week, 5000), "2039-03-03");
  const Grid grid = place_on_grid(week, detect_step(week, false));
  EXPECT_THAT(grid.positions, ElementsAre(0, 1, 2, 3, 4, 6, 7));
  EXPECT_EQ(grid.irregular, 0);

  const std::vector<double> jittered = {0, 60.5, 119.8, 240.2, 300};
  EXPECT_THAT(place_on_grid(jittered, {TimeStep::Unit::kSeconds, 60, false}).positions, ElementsAre(0, 1, 2, 4, 5));
  const Grid uneven = place_on_grid({0, 60, 100, 160}, {TimeStep::Unit::kSeconds, 60, false});
  EXPECT_EQ(uneven.irregular, 1);
  EXPECT_EQ(uneven.first_irregular, 2);
  EXPECT_NO_THROW(place_on_grid({-1e300, 0, 1e300}, {TimeStep::Unit::kCounter, 1e-300, false}));
}

TEST(Calendar, ColumnsFollowTheDate) {
  const std::vector<double> times = days({"2020-01-01", "2020-01-06"});  // Wednesday, Monday
  const auto columns = calendar_columns(times, {CalendarFeature::kDayOfWeekOneHot, CalendarFeature::kDayOfMonth});
  ASSERT_EQ(columns.size(), 9u);
  EXPECT_EQ(columns[0].name, "calendar.weekday.mon");
  EXPECT_THAT(columns[0].values, ElementsAre(0, 1));
  EXPECT_THAT(columns[2].values, ElementsAre(1, 0));
  EXPECT_EQ(columns[7].name, "calendar.monthday.sin");
  EXPECT_NEAR(columns[7].values[1], std::sin(2 * M_PI * 5 / 31), 1e-12);
  EXPECT_TRUE(columns[8].known_future);

  // A period later the value is the same.
  const auto same = [](CalendarFeature feature, const char* a, const char* b) {
    const auto c = calendar_columns(days({a, b}), {feature});
    return std::fabs(c[0].values[0] - c[0].values[1]) < 1e-9 && std::fabs(c[1].values[0] - c[1].values[1]) < 1e-9;
  };
  EXPECT_TRUE(same(CalendarFeature::kHourOfDay, "2020-01-01T07:30", "2020-06-05T07:30"));
  EXPECT_TRUE(same(CalendarFeature::kDayOfWeek, "2020-01-01", "2020-01-15"));
  EXPECT_TRUE(same(CalendarFeature::kMonth, "2020-03-01", "2021-03-30"));
  EXPECT_TRUE(same(CalendarFeature::kDayOfYear, "2019-01-01", "2020-01-01"));
  EXPECT_FALSE(same(CalendarFeature::kMonth, "2020-03-01", "2021-04-30"));
}

TEST(Calendar, WordsAndDefaults) {
  const TimeStep day{TimeStep::Unit::kSeconds, kDay, false}, counter;
  EXPECT_EQ(calendar_from("auto", day), default_calendar(day));
  EXPECT_THAT(calendar_from("hour, month", day), ElementsAre(CalendarFeature::kHourOfDay, CalendarFeature::kMonth));
  EXPECT_THROW(calendar_from("moon", day), Error);
  EXPECT_THROW(calendar_from("auto", counter), Error);
}

}  // namespace
}  // namespace tabgrad
