// A time series ready for forecasting: from a table, on a regular time axis, gaps filled by a stated choice; and its
// chronological splits.
//
// Does: finds the time column and the step, sorts, drops repeated times, fills missing values, says each of these in a
// notice. Does not: scale (data/windows.h), add calendar columns (data/calendar.h), aggregate or resample to another step.
//
// Invariants:
// - Every value is finite. All columns have num_steps() values; row i is one step after row i-1, unless a notice says
//   that irregular times are treated as equally spaced.
// - Filling uses only the column itself; kPrevious uses only its past.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "data/csv.h"
#include "data/time_axis.h"

namespace tabgrad {

enum class FillMethod { kDrop, kPrevious, kLinear, kError };  // kDrop: leave out those rows, the rest counts as adjacent
// "drop", "previous", "linear", "error". Throws Error on another word.
FillMethod fill_method_from(const std::string& word);

struct SeriesOptions {
  std::string target{};  // "": the only number column; Error if there are several
  std::string time{};  // "": found by content and name (year, month, day are joined); "none": rows are in order, one step apart
  std::vector<std::string> features{};  // more number columns
  // nullopt: linear for gaps of at most kShortGap steps, Error at a longer one.
  std::optional<FillMethod> fill{};
};
inline constexpr int kShortGap = 10;

struct FeatureColumn {
  std::string name;
  std::vector<double> values;
  bool known_future = false;  // calendar columns: values of the steps to forecast are known
};

struct Series {
  std::string source;  // file, for messages
  std::string target_name;
  std::string time_name;  // "" when rows are just in order
  TimeStep step;
  std::vector<double> times;  // seconds (data/time.h), or plain numbers when step is kCounter
  std::vector<double> target;
  std::vector<FeatureColumn> features;
  std::vector<std::string> notices;  // the table's notices come first

  std::int64_t num_steps() const { return static_cast<std::int64_t>(target.size()); }
  // Times of the `count` steps after the last one.
  std::vector<double> future_times(std::int64_t count) const;
};

// Throws Error naming file, row and column and what to do.
Series make_series(const Table& table, const SeriesOptions& options);

// When each row of a table was, in the file's order and as make_series finds it.
struct RowTimes {
  std::string name;  // of the time column; "" when rows are just in order
  bool calendar = false;  // seconds (data/time.h) rather than plain numbers
  std::vector<double> times;  // NaN where missing
};
RowTimes row_times(const Table& table, const SeriesOptions& options = {});

// Parts in time order: training [0, train_end), validation [train_end, validation_end), test [validation_end, test_end).
struct Split {
  std::int64_t train_end = 0, validation_end = 0, test_end = 0;
};
struct SplitFractions {
  double train = 0.7, validation = 0.1, test = 0.2;
};
// train_end = ⌊n·train⌋, validation_end = ⌊n·(1 - test)⌋: a point that does not divide goes to the later part.
// Throws Error unless the fractions are in [0, 1], add up to 1 and training gets at least one point.
Split split_series(std::int64_t num_steps, const SplitFractions& fractions = {});

// Rolling-origin backtest (Tashman 2000): the test part of split_series is cut into `folds` consecutive test parts of
// (nearly) equal length; each fold trains on all that lies before its test part, the last of it being a validation
// part as long as split_series'. Throws Error when a test part would be empty.
std::vector<Split> rolling_origin_folds(std::int64_t num_steps, int folds, const SplitFractions& fractions = {});

}  // namespace tabgrad
