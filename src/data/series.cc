#include "data/series.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

#include "base/error.h"
#include "data/csv_dialect.h"

namespace tabgrad {
namespace {

using csv::excerpt;

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr double kMaxMissing = 0.5;     // a column with a larger share of missing values is refused
constexpr double kMaxIrregular = 0.05;  // a larger share of uneven steps means there is no grid to fill
constexpr std::size_t kListed = 3;      // points named in a notice before it says "…"

using RowIndex = std::vector<std::int64_t>;

// What make_series works on: columns[0] is the target; row[i] is the table's record at point i, -1 where a gap was opened.
struct Draft {
  const Table& table;
  Series series;
  std::vector<std::string> names;
  std::vector<std::vector<double>> columns;
  RowIndex row;

  std::size_t size() const { return row.size(); }

  // "2012-01-16 (row 17)"; only the row without a time column, only the date in a gap.
  std::string point(std::size_t i) const {
    const std::string line = row[i] < 0 ? "" : str("row ", table.line_of(row[i]));
    if (series.time_name.empty()) return line;
    const std::string time = format_point(series.times[i], series.step);
    return line.empty() ? time : str(time, " (", line, ")");
  }

  // Keeps these points, in this order.
  void keep(const std::vector<std::size_t>& points) {
    const auto pick = [&](auto& values) {
      std::remove_reference_t<decltype(values)> kept(points.size());
      for (std::size_t i = 0; i < points.size(); ++i) kept[i] = values[points[i]];
      values = std::move(kept);
    };
    pick(series.times);
    pick(row);
    for (auto& column : columns) pick(column);
  }

  void note(std::string text) { series.notices.push_back(std::move(text)); }
};

std::string lowercase(std::string text) {
  for (char& c : text) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return text;
}

bool is_time_name(const std::string& name) {
  static constexpr std::array<std::string_view, 12> kNames = {"time", "date",  "datetime",  "timestamp", "ts",        "ds",
                                                              "day",  "month", "unix_time", "epoch",     "date_time", "year"};
  return std::find(kNames.begin(), kNames.end(), lowercase(name)) != kNames.end();
}

bool is_used(const SeriesOptions& options, const std::string& name) {
  return name == options.target || std::find(options.features.begin(), options.features.end(), name) != options.features.end();
}

// Dates that stand in columns year, month and maybe day (else the first of the month), as one column of times.
std::optional<Column> join_date_columns(const Table& table, const SeriesOptions& options) {
  const auto find = [&](const char* name) -> const Column* {
    for (const Column& column : table.columns) {
      if (lowercase(column.name) == name && column.kind == ColumnKind::kNumber && column.problem.empty() &&
          !is_used(options, column.name)) {
        return &column;
      }
    }
    return nullptr;
  };
  const Column *years = find("year"), *months = find("month"), *days = find("day");
  if (years == nullptr || months == nullptr) return std::nullopt;
  Column joined{days != nullptr ? "year, month, day" : "year, month", ColumnKind::kTime, TimeFormat::kIso, {}, 0, ""};
  for (std::size_t i = 0; i < years->values.size(); ++i) {
    const double day = days != nullptr ? days->values[i] : 1;
    const double date = years->values[i] * 10000 + months->values[i] * 100 + day;
    if (std::isnan(date)) {
      joined.values.push_back(kNaN);
    } else if (months->values[i] < 100 && day < 100 && guess_number_format({date}) == TimeFormat::kCompactDate) {
      joined.values.push_back(numbers_to_seconds({date}, TimeFormat::kCompactDate)[0]);
    } else {
      return std::nullopt;
    }
  }
  return joined;
}

// nullptr: rows are just in order. A column that has to be made first is kept in *made.
const Column* find_time_column(const Table& table, const SeriesOptions& options, std::optional<Column>* made,
                               std::vector<std::string>* notices) {
  if (options.time == "none") return nullptr;
  if (!options.time.empty()) {
    const Column& column = table.existing_column(options.time);
    if (column.kind == ColumnKind::kTime || column.kind == ColumnKind::kNumber) return &column;
    if (!column.problem.empty()) fail(column.problem);
    fail(table.source, ": column '", column.name, "' has no value in any row, so it cannot be the time column.");
  }
  std::vector<const Column*> found;
  for (const Column& column : table.columns) {
    if (column.kind == ColumnKind::kTime && !is_used(options, column.name)) found.push_back(&column);
  }
  if (found.empty() && (*made = join_date_columns(table, options))) {
    notices->push_back(str("The time is taken from the columns ", (*made)->name, "."));
    return &**made;
  }
  if (found.empty()) {
    for (const Column& column : table.columns) {
      if (column.kind == ColumnKind::kNumber && is_time_name(column.name) && !is_used(options, column.name) &&
          guess_number_format(column.values) != TimeFormat::kCounter) {
        found.push_back(&column);
      }
    }
  }
  if (found.empty()) {
    notices->push_back("There is no time column; the rows are taken as one step apart, in the order of the file.");
    return nullptr;
  }
  std::stable_partition(found.begin(), found.end(), [](const Column* column) { return column->problem.empty(); });
  if (found.size() > 1) {
    notices->push_back(str("Several columns hold times; '", found[0]->name, "' is taken. Name another one if that is wrong."));
  }
  return found[0];
}

std::string find_target(const Table& table, const SeriesOptions& options, const Column* time) {
  if (!options.target.empty()) return options.target;
  std::vector<std::string> numbers;
  for (const Column& column : table.columns) {
    if (column.kind == ColumnKind::kNumber && &column != time && !is_used(options, column.name)) numbers.push_back(column.name);
  }
  if (numbers.size() == 1) return numbers[0];
  if (numbers.empty()) fail(table.source, ": there is no number column to forecast.");
  std::string list;
  for (std::size_t i = 0; i < numbers.size() && i < 20; ++i) list += (i == 0 ? "" : ", ") + numbers[i];
  fail(table.source, ": there are several number columns. Name the target: ", list, numbers.size() > 20 ? ", …." : ".");
}

RowTimes times_of(const Column& time) {
  if (!time.problem.empty()) fail(time.problem);
  const bool numbers = time.kind == ColumnKind::kNumber;
  const TimeFormat format = numbers ? guess_number_format(time.values) : time.time_format;
  return {time.name, format != TimeFormat::kCounter, numbers ? numbers_to_seconds(time.values, format) : time.values};
}

void read_times(Draft& draft, const Column& time) {
  const Table& table = draft.table;
  RowTimes read = times_of(time);
  draft.series.time_name = std::move(read.name);
  draft.series.times = std::move(read.times);
  draft.series.step.unit = read.calendar ? TimeStep::Unit::kSeconds : TimeStep::Unit::kCounter;
  for (std::size_t i = 0; i < draft.size(); ++i) {
    if (std::isnan(draft.series.times[i])) {
      fail(table.source, ": row ", table.line_of(static_cast<std::int64_t>(i)), ", column '", time.name,
           "': the time is missing. Correct the cell, or delete the row.");
    }
  }
}

// Rising times, each once.
void sort_times(Draft& draft) {
  const std::vector<double>& times = draft.series.times;
  std::vector<std::size_t> order(draft.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  const auto earlier = [&](std::size_t a, std::size_t b) { return times[a] < times[b]; };
  const bool sorted = std::is_sorted(order.begin(), order.end(), earlier);
  if (!sorted) {
    const auto out_of_order = std::is_sorted_until(order.begin(), order.end(), earlier);
    draft.note(str("The rows are not in time order (first at ", draft.point(*out_of_order), "); they were sorted."));
    std::stable_sort(order.begin(), order.end(), earlier);
  }
  std::vector<std::size_t> last_of_each;
  std::size_t repeated = 0;
  std::string first_repeated;
  for (std::size_t i = 0; i < order.size(); ++i) {
    if (i + 1 < order.size() && times[order[i]] == times[order[i + 1]]) {
      if (repeated++ == 0) first_repeated = draft.point(order[i + 1]);
    } else {
      last_of_each.push_back(order[i]);
    }
  }
  if (2 * repeated > draft.size()) {
    fail(draft.table.source, ": most rows repeat a time of column '", draft.series.time_name, "' (first ", first_repeated,
         "). The file may hold several series, or the time stands in several columns. Keep one series, name another time "
         "column, or 'none'.");
  }
  if (repeated > 0) {
    draft.note(str("Rows that repeat a time: ", repeated, " (first ", first_repeated, "); the last one of each time is kept."));
  }
  if (!sorted || repeated > 0) draft.keep(last_of_each);
}

// Opens a point of missing values for each step of the grid that has no row.
void open_gaps(Draft& draft, const Grid& grid) {
  const std::size_t size = static_cast<std::size_t>(grid.positions.back()) + 1;
  if (size == draft.size()) return;
  std::vector<double> times(size);
  RowIndex row(size, -1);
  std::vector<std::vector<double>> columns(draft.columns.size(), std::vector<double>(size, kNaN));
  for (std::size_t i = 0; i < draft.size(); ++i) {
    const std::size_t at = static_cast<std::size_t>(grid.positions[i]);
    times[at] = draft.series.times[i];
    row[at] = draft.row[i];
    for (std::size_t c = 0; c < columns.size(); ++c) columns[c][at] = draft.columns[c][i];
  }
  for (std::size_t at = 1, last = 0; at < size; ++at) {
    if (row[at] >= 0) last = at;
    times[at] = row[at] >= 0 ? times[at] : advance(times[last], draft.series.step, static_cast<std::int64_t>(at - last));
  }
  draft.series.times = std::move(times);
  draft.row = std::move(row);
  draft.columns = std::move(columns);
}

// Puts the points on the grid of their step, unless they are too uneven or rows are to be left out anyway.
void make_regular(Draft& draft, const SeriesOptions& options) {
  Series& series = draft.series;
  series.step = detect_step(series.times, !series.step.has_calendar());
  if (draft.size() < 2) return;
  const Grid grid = place_on_grid(series.times, series.step);
  const double irregular = static_cast<double>(grid.irregular) / static_cast<double>(draft.size() - 1);
  if (grid.irregular > 0) {
    const bool uneven = irregular > kMaxIrregular;
    draft.note(str("Irregular sampling: ", grid.irregular, " of ", draft.size() - 1, " steps are not a whole number of ",
                   to_string(series.step), " (the median step), first before ",
                   draft.point(static_cast<std::size_t>(grid.first_irregular)), ". ",
                   uneven ? "The rows are taken as equally spaced." : "Those rows are moved to the nearest step."));
    if (uneven) return;
  }
  if (options.fill == FillMethod::kDrop) {
    if (grid.positions.back() + 1 > static_cast<std::int64_t>(draft.size())) {
      draft.note(str("Steps of ", to_string(series.step),
                     " without a row: ", grid.positions.back() + 1 - static_cast<std::int64_t>(draft.size()),
                     "; the rows on both sides count as adjacent (drop)."));
    }
    return;
  }
  const double covered = static_cast<double>(draft.size()) / (static_cast<double>(grid.positions.back()) + 1);
  if (1 - covered > kMaxMissing) {
    fail(draft.table.source, ": the rows cover only ", std::round(covered * 100), " % of the steps between ", draft.point(0),
         " and ", draft.point(draft.size() - 1), " at the usual distance of ", to_string(series.step),
         ". Aggregate the rows to a longer step, or choose 'drop' to take them as adjacent.");
  }
  open_gaps(draft, grid);
}

struct Gap {
  std::size_t first = 0, length = 0;
};

std::vector<Gap> gaps_of(const std::vector<double>& values) {
  std::vector<Gap> gaps;
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (!std::isnan(values[i])) continue;
    if (!gaps.empty() && gaps.back().first + gaps.back().length == i) {
      ++gaps.back().length;
    } else {
      gaps.push_back({i, 1});
    }
  }
  return gaps;
}

// "1958-06-01 (1), 1964-02-01 (3), …": where gaps begin and how many steps they take.
std::string list_gaps(const Draft& draft, const std::vector<Gap>& gaps) {
  std::string list;
  for (std::size_t g = 0; g < gaps.size() && g < kListed; ++g) {
    list += str(g == 0 ? "" : ", ", draft.point(gaps[g].first), gaps[g].length > 1 ? str(" ×", gaps[g].length) : "");
  }
  return gaps.size() > kListed ? list + ", …" : list;
}

std::size_t total_length(const std::vector<Gap>& gaps) {
  std::size_t n = 0;
  for (const Gap& gap : gaps) n += gap.length;
  return n;
}

// Gaps have a value before them; at the column's end the last value is held.
void fill_column(std::vector<double>& values, const std::vector<Gap>& gaps, bool linear) {
  for (const Gap& gap : gaps) {
    const double before = values[gap.first - 1];
    const std::size_t end = gap.first + gap.length;
    for (std::size_t i = gap.first; i < end; ++i) {
      const double share = static_cast<double>(i - gap.first + 1) / static_cast<double>(gap.length + 1);
      // Weights, not a difference: values near the largest double must not overflow.
      values[i] = linear && end < values.size() ? before * (1 - share) + values[end] * share : before;
    }
  }
}

void drop_missing(Draft& draft) {
  std::vector<std::size_t> kept;
  for (std::size_t i = 0; i < draft.size(); ++i) {
    if (std::none_of(draft.columns.begin(), draft.columns.end(), [&](const auto& column) { return std::isnan(column[i]); })) {
      kept.push_back(i);
    }
  }
  if (kept.size() == draft.size()) return;
  if (kept.empty()) fail(draft.table.source, ": no row has a value in every column. Choose another way to fill than 'drop'.");
  draft.note(str("Rows with a missing value were left out (drop): ", draft.size() - kept.size(), " of ", draft.size(), "."));
  draft.keep(kept);
}

void fill_missing(Draft& draft, std::optional<FillMethod> choice) {
  std::size_t first = 0, end = draft.size();  // points outside cannot be filled and are left out
  for (std::size_t c = 0; c < draft.columns.size(); ++c) {
    std::vector<Gap> gaps = gaps_of(draft.columns[c]);
    if (gaps.empty()) continue;
    const std::string column = str(draft.table.source, ": column '", draft.names[c], "' lacks ");
    const double share = static_cast<double>(total_length(gaps)) / static_cast<double>(draft.size());
    if (share > kMaxMissing) {
      fail(column, std::round(share * 100), " % of its values (", list_gaps(draft, gaps),
           "). More than half is too much to fill; choose another column or a shorter part of the file.");
    }
    if (choice == FillMethod::kDrop) continue;
    if (choice == FillMethod::kError) {
      fail(column, total_length(gaps), " values: ", list_gaps(draft, gaps),
           ". Correct them, or choose how to fill: 'linear', 'previous' or 'drop'.");
    }
    if (gaps.front().first == 0) {
      first = std::max(first, gaps.front().length);
      gaps.erase(gaps.begin());
    }
    if (c == 0 && !gaps.empty() && gaps.back().first + gaps.back().length == end) {
      end = gaps.back().first;
      gaps.pop_back();
    }
    if (gaps.empty()) continue;
    const Gap longest =
        *std::max_element(gaps.begin(), gaps.end(), [](const Gap& a, const Gap& b) { return a.length < b.length; });
    if (!choice && longest.length > kShortGap) {
      fail(column, total_length(gaps), " values: ", list_gaps(draft, gaps), ". The longest gap is ", longest.length,
           " steps, from ", draft.point(longest.first),
           ". Choose how to fill: 'linear', 'previous', or 'drop' to leave such rows out.");
    }
    const bool linear = choice != FillMethod::kPrevious;
    draft.note(str("Column '", draft.names[c], "': ", total_length(gaps), " missing values in ", gaps.size(),
                   gaps.size() == 1 ? " gap were" : " gaps were",
                   linear ? " filled on a straight line: " : " filled with the value before: ", list_gaps(draft, gaps), "."));
    fill_column(draft.columns[c], gaps, linear);
  }
  if (choice == FillMethod::kDrop) return drop_missing(draft);
  if (first >= end) fail(draft.table.source, ": '", draft.names[0], "' ends before all features begin. Leave a feature out.");
  if (first > 0) draft.note(str("Rows left out at the start, where a value is missing: ", first, "."));
  if (end < draft.size())
    draft.note(str("Rows left out at the end, where '", draft.names[0], "' is missing: ", draft.size() - end, "."));
  if (first == 0 && end == draft.size()) return;
  std::vector<std::size_t> kept(end - first);
  std::iota(kept.begin(), kept.end(), first);
  draft.keep(kept);
}

}  // namespace

FillMethod fill_method_from(const std::string& word) {
  if (word == "drop") return FillMethod::kDrop;
  if (word == "previous") return FillMethod::kPrevious;
  if (word == "linear") return FillMethod::kLinear;
  if (word == "error") return FillMethod::kError;
  fail("Missing values: ", excerpt(word), " is not a way to fill them. Choose drop, previous, linear or error.");
}

std::vector<double> Series::future_times(std::int64_t count) const {
  TG_CHECK(!times.empty());
  std::vector<double> future;
  for (std::int64_t i = 1; i <= count; ++i) future.push_back(advance(times.back(), step, i));
  return future;
}

RowTimes row_times(const Table& table, const SeriesOptions& options) {
  std::optional<Column> made;
  std::vector<std::string> notices;
  const Column* time = find_time_column(table, options, &made, &notices);
  if (time != nullptr) return times_of(*time);
  RowTimes rows{"", false, std::vector<double>(static_cast<std::size_t>(table.num_rows))};
  std::iota(rows.times.begin(), rows.times.end(), 0.0);
  return rows;
}

Series make_series(const Table& table, const SeriesOptions& options) {
  Draft draft{table, {}, {}, {}, {}};
  Series& series = draft.series;
  series.source = table.source;
  series.notices = table.notices;
  std::optional<Column> made;
  const Column* time = find_time_column(table, options, &made, &series.notices);
  series.target_name = find_target(table, options, time);

  draft.names = {series.target_name};
  for (const std::string& feature : options.features) {
    if (std::find(draft.names.begin(), draft.names.end(), feature) != draft.names.end()) {
      fail(table.source, ": column '", feature, "' is named twice among target and features. Name it once.");
    }
    draft.names.push_back(feature);
  }
  for (const std::string& name : draft.names) {
    const Column& column = table.number_column(name);
    if (&column == time) fail(table.source, ": column '", name, "' is the time column; it cannot be target or feature too.");
    draft.columns.push_back(column.values);
  }
  draft.row.resize(static_cast<std::size_t>(table.num_rows));
  std::iota(draft.row.begin(), draft.row.end(), std::int64_t{0});

  if (time != nullptr) {
    read_times(draft, *time);
    sort_times(draft);
    make_regular(draft, options);
  } else {
    series.times.resize(draft.size());
    std::iota(series.times.begin(), series.times.end(), 0.0);
  }
  fill_missing(draft, options.fill);

  series.target = std::move(draft.columns[0]);
  for (std::size_t c = 1; c < draft.columns.size(); ++c)
    series.features.push_back({draft.names[c], std::move(draft.columns[c]), false});
  return std::move(series);
}

Split split_series(std::int64_t num_steps, const SplitFractions& f) {
  const auto is_share = [](double x) { return x >= 0 && x <= 1; };
  if (!is_share(f.train) || !is_share(f.validation) || !is_share(f.test) ||
      std::fabs(f.train + f.validation + f.test - 1) > 1e-6) {
    fail("The parts of the split must be between 0 and 1 and add up to 1; they are ", f.train, ", ", f.validation, " and ",
         f.test, ".");
  }
  const auto first_points = [&](double share) {  // 1e-9: 0.7·10 must give 7 whatever its rounding
    return static_cast<std::int64_t>(std::floor(static_cast<double>(num_steps) * share + 1e-9));
  };
  Split split;
  split.test_end = num_steps;
  split.validation_end = first_points(1 - f.test);
  split.train_end = f.validation == 0 ? split.validation_end : first_points(f.train);
  if (split.train_end < 1) {
    fail("The series has ", num_steps, " points, and the split leaves none for training. Lower the test or validation part.");
  }
  return split;
}

std::vector<Split> rolling_origin_folds(std::int64_t num_steps, int folds, const SplitFractions& fractions) {
  const Split whole = split_series(num_steps, fractions);
  const std::int64_t test = num_steps - whole.validation_end;
  const std::int64_t validation = whole.validation_end - whole.train_end;
  if (folds < 1 || folds > test) {
    fail("A backtest of ", folds, " folds needs that many test points, and there are ", test,
         ". Choose a number of folds from 1 to ", test, ", or a larger test part.");
  }
  std::vector<Split> splits;
  for (int k = 0; k < folds; ++k) {
    Split split;
    split.validation_end = whole.validation_end + test * k / folds;
    split.test_end = whole.validation_end + test * (k + 1) / folds;
    split.train_end = split.validation_end - validation;
    splits.push_back(split);
  }
  return splits;
}

}  // namespace tabgrad
