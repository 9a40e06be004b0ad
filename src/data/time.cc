#include "data/time.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <limits>
#include <utility>

#include "base/error.h"

namespace tabgrad {
namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr double kSecondsPerDay = 86400;

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_alpha(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

// Reads a cell from left to right; every reader leaves the position where it was when it fails.
class Cursor {
 public:
  explicit Cursor(std::string_view text) : text_(text) {}

  bool done() const { return pos_ == text_.size(); }
  char peek(std::size_t ahead = 0) const { return pos_ + ahead < text_.size() ? text_[pos_ + ahead] : '\0'; }
  void skip(std::size_t n = 1) { pos_ = std::min(pos_ + n, text_.size()); }
  bool accept(char c) {
    if (done() || text_[pos_] != c) return false;
    ++pos_;
    return true;
  }
  bool accept_any(std::string_view set) {
    if (done() || set.find(text_[pos_]) == std::string_view::npos) return false;
    ++pos_;
    return true;
  }
  std::size_t digits_ahead() const {
    std::size_t n = 0;
    while (is_digit(peek(n))) ++n;
    return n;
  }
  // A number of min to max digits that no further digit follows.
  bool number(std::size_t min, std::size_t max, int* value) {
    const std::size_t n = digits_ahead();
    if (n < min || n > max) return false;
    take(n, value);
    return true;
  }
  // The next n characters, which are digits.
  void take(std::size_t n, int* value) {
    int v = 0;
    for (std::size_t i = 0; i < n; ++i) v = v * 10 + (text_[pos_ + i] - '0');
    pos_ += n;
    *value = v;
  }
  std::string_view word() {
    const std::size_t start = pos_;
    while (!done() && is_alpha(text_[pos_])) ++pos_;
    return text_.substr(start, pos_ - start);
  }

 private:
  std::string_view text_;
  std::size_t pos_ = 0;
};

// 1 to 12 for "Jan", "january", "Sept"; 0 otherwise.
int month_from_name(std::string_view word) {
  static constexpr std::array<std::string_view, 12> kNames = {
      "january", "february", "march", "april", "may", "june", "july", "august", "september", "october", "november", "december"};
  if (word.size() < 3) return 0;
  for (std::size_t m = 0; m < kNames.size(); ++m) {
    if (word.size() <= kNames[m].size() &&
        std::equal(word.begin(), word.end(), kNames[m].begin(), [](char a, char b) { return lower(a) == b; })) {
      return static_cast<int>(m) + 1;
    }
  }
  return 0;
}

bool is_weekday_name(std::string_view word) {
  static constexpr std::array<std::string_view, 7> kNames = {"monday", "tuesday",  "wednesday", "thursday",
                                                             "friday", "saturday", "sunday"};
  return word.size() >= 3 && std::any_of(kNames.begin(), kNames.end(), [&](std::string_view name) {
           return word.size() <= name.size() &&
                  std::equal(word.begin(), word.end(), name.begin(), [](char a, char b) { return lower(a) == b; });
         });
}

struct ParsedTime {
  TimeFormat format = TimeFormat::kIso;
  int year = 0;
  int first = 1, second = 1;  // month and day; for kDayMonth the two fields as written
  bool dots = false;
  double seconds_of_day = 0;
  bool has_zone = false;
  double offset = 0;  // seconds east of UTC
};

int full_year(int year, std::size_t digits) { return digits == 4 ? year : year + (year < 69 ? 2000 : 1900); }  // POSIX's pivot

bool parse_month_name_date(Cursor& in, ParsedTime* out) {
  int month = 0, day = 0, year = 0;
  bool has_year = false;
  while (!has_year) {
    if (is_alpha(in.peek())) {
      const std::string_view word = in.word();
      const int named = month_from_name(word);
      const bool ordinal = day != 0 && (word == "st" || word == "nd" || word == "rd" || word == "th");
      if (named != 0) {
        if (month != 0) return false;
        month = named;
      } else if (!is_weekday_name(word) && !ordinal) {
        return false;
      }
    } else {
      const std::size_t n = in.digits_ahead();
      if (n == 4 && month != 0) {
        in.take(4, &year);
        has_year = true;
      } else if (n == 2 && month != 0 && day != 0) {
        in.take(2, &year);
        year = full_year(year, 2);
        has_year = true;
      } else if ((n == 1 || n == 2) && day == 0) {
        in.take(n, &day);
        if (day == 0) return false;
      } else {
        return false;
      }
    }
    while (!has_year && in.accept_any(" ,-/.")) {
    }
  }
  out->format = TimeFormat::kMonthName;
  out->year = year;
  out->first = month;
  out->second = day == 0 ? 1 : day;
  return true;
}

// The date at the front of the cell.
bool parse_date(Cursor& in, ParsedTime* out) {
  const std::size_t digits = in.digits_ahead();
  if (digits == 8 && lower(in.peek(8)) == 't') {
    in.take(4, &out->year);
    in.take(2, &out->first);
    in.take(2, &out->second);
    return true;
  }
  if (digits == 4) {
    in.take(4, &out->year);
    const char separator = in.peek();
    if (separator == 'M' || separator == 'Q' || (separator == '-' && in.peek(1) == 'Q')) {
      in.skip(separator == '-' ? 2 : 1);
      const bool quarter = separator != 'M';
      out->format = TimeFormat::kYearMonth;
      if (!in.number(1, 2, &out->first)) return false;
      if (quarter) out->first = out->first >= 1 && out->first <= 4 ? out->first * 3 - 2 : 0;
      return true;
    }
    if (!in.accept_any("-/.") || !in.number(1, 2, &out->first)) return false;
    if (!in.accept(separator)) {
      out->format = TimeFormat::kYearMonth;
      return true;
    }
    return in.number(1, 2, &out->second);
  }
  if (digits == 1 || digits == 2) {
    const char separator = in.peek(digits);
    if ((separator == '.' || separator == '/' || separator == '-') && is_digit(in.peek(digits + 1))) {
      in.take(digits, &out->first);
      in.skip();
      if (in.digits_ahead() == 4) {  // 01/2020
        out->format = TimeFormat::kYearMonth;
        in.take(4, &out->year);
        return true;
      }
      if (!in.number(1, 2, &out->second) || !in.accept(separator)) return false;
      const std::size_t year_digits = in.digits_ahead();
      if (year_digits != 2 && year_digits != 4) return false;
      in.take(year_digits, &out->year);
      out->year = full_year(out->year, year_digits);
      out->format = TimeFormat::kDayMonth;
      out->dots = separator == '.';
      return true;
    }
    return parse_month_name_date(in, out);
  }
  return is_alpha(in.peek()) && parse_month_name_date(in, out);
}

// "Z", "UTC", "+02:00", "-0530", "GMT+0200 (CEST)"
bool parse_zone(Cursor& in, ParsedTime* out) {
  const std::string_view word = in.word();
  if (!word.empty() && word != "Z" && word != "z" && word != "UTC" && word != "GMT") return false;
  out->has_zone = true;
  const char sign = in.peek();
  if (sign == '+' || sign == '-') {
    in.skip();
    int hours = 0, minutes = 0;
    if (in.digits_ahead() == 4) {
      in.take(2, &hours);
      in.take(2, &minutes);
    } else {
      if (!in.number(1, 2, &hours)) return false;
      if (in.accept(':') && !in.number(2, 2, &minutes)) return false;
    }
    if (hours > 18 || minutes > 59) return false;
    out->offset = (sign == '-' ? -1 : 1) * (hours * 3600.0 + minutes * 60.0);
  } else if (word.empty()) {
    return false;
  }
  if (in.peek() == ' ' && in.peek(1) == '(') {
    while (!in.done()) in.skip();
  }
  return in.done();
}

// The clock time and zone behind the date, if any, to the cell's end.
bool parse_clock(Cursor& in, ParsedTime* out) {
  if (in.done()) return true;
  const bool has_t = in.peek() == 'T' || in.peek() == 't';
  if (has_t) in.skip();
  while (!has_t && in.accept_any(" ,")) {
  }
  if (in.digits_ahead() == 0) return parse_zone(in, out);
  int hour = 0, minute = 0, whole = 0;
  double second = 0;
  const std::size_t digits = in.digits_ahead();
  if (has_t && (digits == 4 || digits == 6)) {
    in.take(2, &hour);
    in.take(2, &minute);
    if (digits == 6) in.take(2, &whole);
  } else {
    if (!in.number(1, 2, &hour)) return false;
    if (in.accept(':')) {
      if (!in.number(2, 2, &minute)) return false;
      if (in.accept(':') && !in.number(2, 2, &whole)) return false;
    } else if (!has_t && in.peek() != ' ' && !is_alpha(in.peek())) {
      return false;
    }
  }
  second = whole;
  if ((in.peek() == '.' || in.peek() == ',') && is_digit(in.peek(1))) {
    in.skip();
    double unit = 0.1;
    for (; is_digit(in.peek()); unit /= 10) {
      second += unit * (in.peek() - '0');
      in.skip();
    }
  }
  const std::size_t gap = in.peek() == ' ' ? 1 : 0;
  const char half = lower(in.peek(gap));
  if ((half == 'a' || half == 'p') && lower(in.peek(gap + 1)) == 'm') {
    in.skip(gap + 2);
    if (hour < 1 || hour > 12) return false;
    hour = hour % 12 + (half == 'p' ? 12 : 0);
  }
  if (hour > 24 || minute > 59 || second >= 61 || (hour == 24 && (minute != 0 || second != 0))) return false;
  out->seconds_of_day = hour * 3600.0 + minute * 60.0 + second;
  if (in.done()) return true;
  in.accept(' ');
  return parse_zone(in, out);
}

bool is_date(int year, int month, int day) {
  return year >= 1 && year <= 9999 && month >= 1 && month <= 12 && day >= 1 && day <= days_in_month(year, month);
}

// How unevenly spaced times are: longest over median step; infinite when they are not rising.
double unevenness(const std::vector<double>& times) {
  std::vector<double> steps;
  double last = kNaN;
  for (double t : times) {
    if (std::isnan(t)) continue;
    if (!std::isnan(last)) {
      if (t < last) return std::numeric_limits<double>::infinity();
      if (t > last) steps.push_back(t - last);
    }
    last = t;
  }
  if (steps.empty()) return 1;
  const auto middle = steps.begin() + static_cast<std::ptrdiff_t>(steps.size() / 2);
  std::nth_element(steps.begin(), middle, steps.end());
  return *std::max_element(steps.begin(), steps.end()) / *middle;
}

}  // namespace

std::int64_t days_from_civil(int year, int month, int day) {
  const std::int64_t y = year - (month <= 2 ? 1 : 0);
  const std::int64_t era = (y >= 0 ? y : y - 399) / 400;
  const std::int64_t year_of_era = y - era * 400;
  const std::int64_t day_of_year = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1;  // from 1 March
  const std::int64_t day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
  return era * 146097 + day_of_era - 719468;
}

int days_in_month(int year, int month) {
  static constexpr std::array<int, 12> kDays = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
  const bool leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
  return kDays[static_cast<std::size_t>(month - 1)] + (month == 2 && leap ? 1 : 0);
}

double seconds_from_civil(int year, int month, int day, int hour, int minute, double second) {
  return static_cast<double>(days_from_civil(year, month, day)) * kSecondsPerDay + hour * 3600.0 + minute * 60.0 + second;
}

CivilTime civil_from_seconds(double seconds) {
  TG_CHECK(std::fabs(seconds) < 1e15);
  CivilTime t;
  const std::int64_t days = static_cast<std::int64_t>(std::floor(seconds / kSecondsPerDay));
  const double rest = seconds - static_cast<double>(days) * kSecondsPerDay;
  const std::int64_t z = days + 719468;
  const std::int64_t era = (z >= 0 ? z : z - 146096) / 146097;
  const std::int64_t day_of_era = z - era * 146097;
  const std::int64_t year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36524 - day_of_era / 146096) / 365;
  const std::int64_t day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);  // from 1 March
  const std::int64_t mp = (5 * day_of_year + 2) / 153;
  t.day = static_cast<int>(day_of_year - (153 * mp + 2) / 5 + 1);
  t.month = static_cast<int>(mp < 10 ? mp + 3 : mp - 9);
  t.year = static_cast<int>(year_of_era + era * 400 + (t.month <= 2 ? 1 : 0));
  t.hour = static_cast<int>(rest / 3600);
  t.minute = static_cast<int>((rest - t.hour * 3600.0) / 60);
  t.second = rest - t.hour * 3600.0 - t.minute * 60.0;
  t.weekday = static_cast<int>(((days + 3) % 7 + 7) % 7);  // 1970-01-01 was a Thursday
  t.day_of_year = static_cast<int>(days - days_from_civil(t.year, 1, 1));
  return t;
}

double add_months(double seconds, std::int64_t months) {
  const CivilTime t = civil_from_seconds(seconds);
  const std::int64_t total = t.year * std::int64_t{12} + (t.month - 1) + months;
  const std::int64_t year = (total >= 0 ? total : total - 11) / 12;
  const int month = static_cast<int>(total - year * 12) + 1;
  const int day = std::min(t.day, days_in_month(static_cast<int>(year), month));
  return seconds_from_civil(static_cast<int>(year), month, day, t.hour, t.minute, t.second);
}

std::string format_time(double seconds) {
  const CivilTime t = civil_from_seconds(std::round(seconds * 1000) / 1000);
  char buffer[80];
  int n = std::snprintf(buffer, sizeof buffer, "%04d-%02d-%02d", t.year, t.month, t.day);
  if (t.hour != 0 || t.minute != 0 || t.second >= 0.0005) {
    n += std::snprintf(buffer + n, sizeof buffer - static_cast<std::size_t>(n), " %02d:%02d", t.hour, t.minute);
    if (t.second >= 0.0005) {
      n += std::snprintf(buffer + n, sizeof buffer - static_cast<std::size_t>(n), ":%06.3f", t.second);
      while (buffer[n - 1] == '0') --n;
      if (buffer[n - 1] == '.') --n;
    }
  }
  return std::string(buffer, static_cast<std::size_t>(n));
}

bool TimeColumnParser::add(std::string_view cell) {
  Cursor in(cell);
  ParsedTime t;
  if (cell.size() > 80 || !parse_date(in, &t) || !parse_clock(in, &t)) {
    reason_ =
        "is not a date or time that is understood (2020-01-31, 31.01.2020, 2020-01-31T12:30+02:00, Jan 31 2020, …). Correct "
        "the cell.";
    return false;
  }
  if (any_ && t.format != format_) {
    reason_ = "is a date written in another way than those above it. Write all dates alike.";
    return false;
  }
  if (t.format == TimeFormat::kDayMonth) {
    const bool day_first = is_date(t.year, t.second, t.first);
    const bool month_first = is_date(t.year, t.first, t.second);
    if (!day_first && !month_first) {
      reason_ = "is no day of the calendar. Correct the cell.";
      return false;
    }
    if (day_first_.has_value() && !(*day_first_ ? day_first : month_first)) {
      reason_ = *day_first_
                    ? "is no day of the calendar when the day comes first, as it does in this column. Write all dates alike."
                    : "is no day of the calendar when the month comes first, as it does in this column. Write all dates alike.";
      return false;
    }
    if (!day_first_.has_value() && day_first != month_first) {
      if (month_first) swap_day_and_month();
      day_first_ = day_first;
    }
    if (day_first_.value_or(true)) std::swap(t.first, t.second);  // now month, day
  } else if (!is_date(t.year, t.first, t.second)) {
    reason_ = "is no day of the calendar. Correct the cell.";
    return false;
  }
  double seconds = seconds_from_civil(t.year, t.first, t.second) + t.seconds_of_day;
  if (t.has_zone) {
    if (!offset_) offset_ = t.offset;
    if (*offset_ != t.offset) zones_differ_ = true;
    seconds += *offset_ - t.offset;
  }
  format_ = t.format;
  dots_ = dots_ || t.dots;
  any_ = true;
  seconds_.push_back(seconds);
  return true;
}

void TimeColumnParser::add_missing() { seconds_.push_back(kNaN); }

void TimeColumnParser::swap_day_and_month() {
  for (double& seconds : seconds_) {
    if (std::isnan(seconds)) continue;
    const CivilTime t = civil_from_seconds(seconds);
    seconds = seconds_from_civil(t.year, t.day, t.month, t.hour, t.minute, t.second);
  }
}

std::vector<double> TimeColumnParser::finish(const std::string& column, std::vector<std::string>* notices) {
  if (format_ == TimeFormat::kDayMonth && !day_first_ && !dots_) {
    const double as_day_first = unevenness(seconds_);
    swap_day_and_month();
    const double as_month_first = unevenness(seconds_);
    const bool take_day_first = as_day_first * 1.1 < as_month_first;
    if (take_day_first) swap_day_and_month();  // swapping twice is the identity
    notices->push_back(str("Column '", column, "': the dates read both day-first and month-first; taken as ",
                           take_day_first ? "day-first (31/12/2020)" : "month-first (12/31/2020)",
                           as_day_first == as_month_first ? "." : ", which is the more even.",
                           " Say which it is if that is wrong."));
  }
  if (zones_differ_) {
    notices->push_back(str("Column '", column, "' mixes time zones; all its times are shown on the clock of the first one (UTC",
                           *offset_ < 0 ? "-" : "+", std::fabs(*offset_) / 3600, " h)."));
  }
  return std::move(seconds_);
}

TimeFormat guess_number_format(const std::vector<double>& values) {
  double low = std::numeric_limits<double>::infinity(), high = -low;
  bool whole = true, compact = true;
  for (double v : values) {
    if (std::isnan(v)) continue;
    low = std::min(low, v);
    high = std::max(high, v);
    whole = whole && v == std::floor(v);
    if (compact) {
      compact = v >= 10000101 && v <= 99991231 && v == std::floor(v);
      if (compact) {
        const int date = static_cast<int>(v);
        compact = is_date(date / 10000, date / 100 % 100, date % 100);
      }
    }
  }
  if (low > high) return TimeFormat::kCounter;
  if (compact) return TimeFormat::kCompactDate;
  if (whole && low >= 1600 && high <= 2200) return TimeFormat::kYear;
  // 1e8 s is 1973, 1e10 s is 2286; the same times 1e3, 1e6, 1e9.
  for (double unit : {1.0, 1e3, 1e6, 1e9}) {
    if (low >= 1e8 * unit && high < 1e10 * unit) return TimeFormat::kEpoch;
  }
  return TimeFormat::kCounter;
}

std::vector<double> numbers_to_seconds(const std::vector<double>& values, TimeFormat format) {
  if (format == TimeFormat::kCounter) return values;
  double high = 0;
  for (double v : values) high = std::isnan(v) ? high : std::max(high, v);
  double unit = 1;
  while (unit < 1e9 && high >= 1e10 * unit) unit *= 1e3;
  std::vector<double> seconds(values.size());
  for (std::size_t i = 0; i < values.size(); ++i) {
    const double v = values[i];
    if (std::isnan(v)) {
      seconds[i] = v;
    } else if (format == TimeFormat::kEpoch) {
      if (std::fabs(v) >= 1e10 * unit) fail("The number ", v, " is no time since 1970.");
      seconds[i] = v / unit;
    } else {
      const int date = std::fabs(v) < 1e8 ? static_cast<int>(v) : 0;
      const int year = format == TimeFormat::kYear ? date : date / 10000;
      const int month = format == TimeFormat::kYear ? 1 : date / 100 % 100;
      const int day = format == TimeFormat::kYear ? 1 : date % 100;
      if (!is_date(year, month, day))
        fail("The number ", v, " is no ", format == TimeFormat::kYear ? "year." : "date (yyyymmdd).");
      seconds[i] = seconds_from_civil(year, month, day);
    }
  }
  return seconds;
}

}  // namespace tabgrad
