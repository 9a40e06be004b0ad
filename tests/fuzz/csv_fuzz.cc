// Any bytes as a CSV file, whole and in pieces, and on to windows: an answer or tabgrad::Error, nothing else.
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "data/calendar.h"
#include "data/csv.h"
#include "data/season.h"
#include "data/series.h"
#include "data/windows.h"

namespace {

using namespace tabgrad;

void require(bool condition) {
  if (!condition) std::abort();
}

// Rows, or -1 for an Error.
std::int64_t rows_by_pieces(std::string_view text, const CsvOptions& options, std::size_t piece) {
  try {
    CsvReader reader(options);
    for (std::size_t i = 0; i < text.size(); i += piece) reader.feed(text.substr(i, piece));
    return reader.finish().num_rows;
  } catch (const Error&) {
    return -1;
  }
}

void use_as_series(const Table& table, unsigned choice) {
  SeriesOptions options;
  if (choice % 5 != 0) options.fill = static_cast<FillMethod>(choice % 5 - 1);
  for (const Column& column : table.columns) {
    if (column.kind != ColumnKind::kNumber || !column.problem.empty()) continue;
    if (options.target.empty()) {
      options.target = column.name;
    } else if (options.features.size() < 3) {
      options.features.push_back(column.name);
    }
  }
  Series series = make_series(table, options);
  require(series.times.size() == series.target.size());
  for (double y : series.target) require(std::isfinite(y));
  for (const FeatureColumn& feature : series.features) {
    require(feature.values.size() == series.target.size());
    for (double x : feature.values) require(std::isfinite(x));
  }
  if (series.step.has_calendar()) {
    for (FeatureColumn& column : calendar_columns(series.times, default_calendar(series.step)))
      series.features.push_back(std::move(column));
    calendar_columns(series.future_times(3), default_calendar(series.step));
  }
  const Split split = split_series(series.num_steps());
  const std::size_t train = static_cast<std::size_t>(split.train_end);
  require(detect_season({series.target.data(), train}, series.step, 100) >= 1);
  std::vector<std::string> notices;
  const ScaledSeries scaled = scale_series(series, fit_channels(series, ScalerKind::kStandard, split.train_end, &notices));
  const WindowRanges ranges = window_ranges(split, 2, 1);
  std::vector<float> x(2 * scaled.channels.size());
  const std::vector<std::int64_t> origin = {ranges.test.first};
  copy_inputs(scaled, origin, 2, x.data());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 2) return 0;
  CsvOptions options;
  const unsigned choice = data[0];
  if ((choice & 1) != 0) options.header = (choice & 2) != 0;
  if ((choice & 4) != 0) options.day_first = (choice & 8) != 0;
  if ((choice & 16) != 0) options.delimiter = "\t;|,"[(choice >> 5) & 3];
  const std::size_t piece = 1 + data[1];
  const std::string_view text(reinterpret_cast<const char*>(data) + 2, size - 2);
  std::int64_t rows = -1;
  try {
    const Table table = read_csv(text, options);
    rows = table.num_rows;
    for (std::int64_t row = 0; row < rows; ++row) require(table.line_of(row) >= 1);
    for (const Column& column : table.columns) {
      require(column.kind == ColumnKind::kText || static_cast<std::int64_t>(column.values.size()) == rows);
    }
    use_as_series(table, choice);
  } catch (const Error&) {
  }
  require(rows_by_pieces(text, options, piece) == rows);
  return 0;
}
