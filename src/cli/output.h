// What the forecasting commands print and write in common: tables of errors and forecasts, JSON files.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "train/forecast_job.h"
#include "train/json_fields.h"

namespace tabgrad::cli {

// The number with this many digits after the point.
std::string fixed(double value, int digits);

// Lines of a table whose first column is left-aligned, the rest right-aligned. The first row is the head.
std::vector<std::string> table(const std::vector<std::vector<std::string>>& rows);

// Model and baselines beside each other: RMSE, MAE, sMAPE, MASE.
std::vector<std::string> metrics_table(const std::string& model, const Metrics& metrics,
                                       const std::vector<NamedMetrics>& baselines);
// The steps to come, with P10 and P90 where the model has bands; at most max_rows of them.
std::vector<std::string> forecast_table(const NextForecast& next, const TimeStep& step, std::size_t max_rows);

Json metrics_json(const Metrics& metrics);
// {"last_value": {…}, "seasonal_naive": {…}, "linear_ar": {…}}
Json baselines_json(const std::vector<NamedMetrics>& baselines);
// [{"time", "p10", "value", "p90"}, …]
Json forecast_json(const NextForecast& next, const TimeStep& step);

// To a file, replaced whole; "-" is stdout. Throws Error naming the file and the reason.
void write_output(const std::string& path, std::string_view text);

// True where PATH of --json is stdout, so that what people read must go to stderr.
inline bool is_stdout(const std::string& path) { return path == "-"; }

}  // namespace tabgrad::cli
