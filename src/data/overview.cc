#include "data/overview.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <string_view>

#include "base/error.h"

namespace tabgrad {
namespace {

// time: one column, or several joined ("year, month, day").
bool can_be_target(const Column& column, const std::string& time) {
  return column.kind == ColumnKind::kNumber && column.problem.empty() &&
         (", " + time + ",").find(", " + column.name + ",") == std::string::npos;
}

// A column of a name that says so, else the first that moves.
std::string suggest_target(const Table& table, const std::string& time) {
  static constexpr std::array<std::string_view, 6> kNames = {"target", "y", "value", "close", "demand", "load"};
  const Column* best = nullptr;
  for (const Column& column : table.columns) {
    if (!can_be_target(column, time)) continue;
    std::string name = column.name;
    for (char& c : name) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    if (std::find(kNames.begin(), kNames.end(), name) != kNames.end()) return column.name;
    const auto [low, high] = extremes(column);
    if (best == nullptr && low < high) best = &column;
  }
  return best == nullptr ? "" : best->name;
}

}  // namespace

std::pair<double, double> extremes(const Column& column) {
  double low = std::numeric_limits<double>::infinity(), high = -low;
  for (const double v : column.values) {
    if (std::isnan(v)) continue;
    low = std::min(low, v);
    high = std::max(high, v);
  }
  if (low > high) low = high = std::numeric_limits<double>::quiet_NaN();
  return {low, high};
}

Overview overview_of(const Table& table, std::int64_t preview) {
  Overview view;
  view.notices = table.notices;
  RowTimes rows;
  try {
    rows = row_times(table);
    view.time = rows.name;
    view.suggested_target = suggest_target(table, rows.name);
    if (!view.suggested_target.empty()) {
      SeriesOptions options;
      options.target = view.suggested_target;
      options.fill = FillMethod::kDrop;  // so that gaps stop nobody from seeing the rest
      const Series series = make_series(table, options);
      view.step = to_string(series.step);
      view.first = format_point(series.times.front(), series.step);
      view.last = format_point(series.times.back(), series.step);
    }
  } catch (const Error& e) {
    view.notices.emplace_back(e.what());
  }
  if (view.suggested_target.empty()) {
    view.notices.push_back(str(table.source, ": there is no number column that changes, so there is nothing to forecast."));
  }

  std::vector<std::size_t> chosen;
  for (std::size_t i = 0; i < rows.times.size(); ++i) {
    if (!std::isnan(rows.times[i])) chosen.push_back(i);
  }
  std::stable_sort(chosen.begin(), chosen.end(), [&](std::size_t a, std::size_t b) { return rows.times[a] < rows.times[b]; });
  const std::size_t points = std::min(chosen.size(), static_cast<std::size_t>(preview));
  for (std::size_t p = 0; p < points; ++p) {  // the first and the last row are among them
    chosen[p] = chosen[points == 1 ? 0 : p * (chosen.size() - 1) / (points - 1)];
  }
  chosen.resize(points);
  for (const std::size_t row : chosen) view.times.push_back(rows.times[row]);
  for (const Column& column : table.columns) {
    if (!can_be_target(column, view.time)) continue;
    std::vector<double>& values = view.columns.emplace_back(column.name, std::vector<double>()).second;
    for (const std::size_t row : chosen) values.push_back(column.values[row]);
  }
  return view;
}

}  // namespace tabgrad
