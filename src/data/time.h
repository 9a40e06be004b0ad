// Dates and clock times as numbers: civil-day arithmetic, the written forms that CSV files use, and a column's parser.
//
// Does: turns cells into seconds since 1970-01-01T00:00 and back, deciding day-first or month-first by the column as a
// whole. Does not: know time zones, daylight saving or libc's locale; a zone written in the cell is applied as an offset.
//
// Invariants:
// - Times are seconds on the file's own clock: the clock of the first zone written in the column (so that days begin at
//   the file's midnight); the plain reading where no zone is written.
// - The calendar is proleptic Gregorian; years 1 to 9999.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tabgrad {

struct CivilTime {
  int year = 1970, month = 1, day = 1;  // month and day from 1
  int hour = 0, minute = 0;
  double second = 0;
  int weekday = 3;      // 0 = Monday
  int day_of_year = 0;  // 0 = 1 January
};

// Days from 1970-01-01 (H. Hinnant, "chrono-compatible low-level date algorithms").
std::int64_t days_from_civil(int year, int month, int day);
int days_in_month(int year, int month);
double seconds_from_civil(int year, int month, int day, int hour = 0, int minute = 0, double second = 0);
CivilTime civil_from_seconds(double seconds);
// `months` later; a day past the end of the month becomes the last one.
double add_months(double seconds, std::int64_t months);
// "2012-01-31" at midnight, "2012-01-31 14:00" or "2012-01-31 14:00:30.5" otherwise.
std::string format_time(double seconds);

enum class TimeFormat {
  kIso,          // 2020-01-31, 2020/01/31, 2020-01-31T12:30:00.5+02:00, 2020-01-31 12:30Z, 20200131T1230
  kDayMonth,     // 31.01.2020, 31/01/2020, 01/31/2020, 31-01-2020 12:30 PM: which comes first is the column's decision
  kMonthName,    // Jan 1 2000, January 1, 2000, 1 Jan 2000, 1-Jan-2000, Jan 2000, Sat Jan 1 2000
  kYearMonth,    // 2020-01, 2020/01, 2020M01, 2020-Q1, 2020Q1
  kYear,         // numbers: 1958
  kCompactDate,  // numbers: 20200131
  kEpoch,        // numbers: seconds, milliseconds, microseconds or nanoseconds since 1970, told apart by size
  kCounter,      // numbers that are no dates: only their order and distance count
};

// Parses a column's cells one by one. Keeps 8 bytes a cell.
class TimeColumnParser {
 public:
  // day_first: the user's word on 01/02/2020; nullopt decides by the column.
  explicit TimeColumnParser(std::optional<bool> day_first = std::nullopt) : day_first_(day_first) {}

  // False when the cell is no time or is not written like those before it (reason() tells); nothing is kept of it then.
  bool add(std::string_view cell);
  void add_missing();
  std::string_view reason() const { return reason_; }

  // The times (NaN where missing). Appends a notice when the order of day and month was a guess, or zones differ.
  std::vector<double> finish(const std::string& column, std::vector<std::string>* notices);
  TimeFormat format() const { return format_; }
  std::size_t size() const { return seconds_.size(); }

 private:
  void swap_day_and_month();

  std::optional<bool> day_first_;
  std::vector<double> seconds_;  // kDayMonth: read day-first while day_first_ is open
  TimeFormat format_ = TimeFormat::kIso;
  std::optional<double> offset_;  // first zone seen, in seconds east of UTC
  bool any_ = false;
  bool zones_differ_ = false;
  bool dots_ = false;  // 31.01.2020: day-first by custom
  std::string_view reason_;
};

// Whether numbers are times, judged by their size: years, yyyymmdd, or an epoch; kCounter otherwise.
TimeFormat guess_number_format(const std::vector<double>& values);
// Numbers to seconds by that format; kCounter returns them unchanged. Throws Error at a number that does not fit.
std::vector<double> numbers_to_seconds(const std::vector<double>& values, TimeFormat format);

}  // namespace tabgrad
