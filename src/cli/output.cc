#include "cli/output.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdio>

#include "base/error.h"
#include "data/atomic_file.h"
#include "train/chart.h"

namespace tabgrad::cli {
namespace {

// Characters on screen: UTF-8 continuation bytes take no room.
std::size_t cells(const std::string& text) {
  return static_cast<std::size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }));
}

}  // namespace

std::string fixed(double value, int digits) {
  std::array<char, 64> text;
  std::snprintf(text.data(), text.size(), "%.*f", digits, value);
  return text.data();
}

std::vector<std::string> table(const std::vector<std::vector<std::string>>& rows) {
  std::vector<std::size_t> widths;
  for (const auto& row : rows) {
    widths.resize(std::max(widths.size(), row.size()));
    for (std::size_t c = 0; c < row.size(); ++c) widths[c] = std::max(widths[c], cells(row[c]));
  }
  std::vector<std::string> lines;
  for (const auto& row : rows) {
    std::string& line = lines.emplace_back("  ");
    for (std::size_t c = 0; c < row.size(); ++c) {
      const std::string blanks(widths[c] - cells(row[c]), ' ');
      line += c == 0 ? row[c] + blanks : "  " + blanks + row[c];
    }
  }
  return lines;
}

std::vector<std::string> metrics_table(const std::string& model, const Metrics& metrics,
                                       const std::vector<NamedMetrics>& baselines) {
  std::vector<std::vector<std::string>> rows{{"on held-out data", "RMSE", "MAE", "sMAPE %", "MASE"}};
  const auto add = [&](const std::string& name, const Metrics& m) {
    rows.push_back({name, short_number(m.rmse), short_number(m.mae), short_number(m.smape), short_number(m.mase)});
  };
  add(model, metrics);
  for (const NamedMetrics& b : baselines) add(b.name, b.metrics);
  return table(rows);
}

std::vector<std::string> forecast_table(const NextForecast& next, const TimeStep& step, std::size_t max_rows) {
  const bool bands = !next.values.low.empty();
  std::vector<std::vector<std::string>> rows{{"next"}};
  if (bands) rows[0].push_back("P10");
  rows[0].push_back("forecast");
  if (bands) rows[0].push_back("P90");
  const std::size_t count = std::min(max_rows, next.times.size());
  for (std::size_t h = 0; h < count; ++h) {
    auto& row = rows.emplace_back();
    row.push_back(format_point(next.times[h], step));
    if (bands) row.push_back(short_number(next.values.low[h]));
    row.push_back(short_number(next.values.middle[h]));
    if (bands) row.push_back(short_number(next.values.high[h]));
  }
  std::vector<std::string> lines = table(rows);
  if (count < next.times.size()) lines.push_back(str("  … and ", next.times.size() - count, " more"));
  return lines;
}

Json metrics_json(const Metrics& metrics) {
  return {{"rmse", metrics.rmse}, {"mae", metrics.mae}, {"smape", metrics.smape}, {"mase", metrics.mase}};
}

Json baselines_json(const std::vector<NamedMetrics>& baselines) {
  Json json = Json::object();
  for (const NamedMetrics& b : baselines) {
    std::string key = b.name;
    for (char& c : key) c = c == ' ' ? '_' : static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    json[key] = metrics_json(b.metrics);
  }
  return json;
}

Json forecast_json(const NextForecast& next, const TimeStep& step) {
  Json json = Json::array();
  for (std::size_t h = 0; h < next.times.size(); ++h) {
    Json& point = json.emplace_back(Json{{"time", format_point(next.times[h], step)}});
    if (!next.values.low.empty()) point["p10"] = next.values.low[h];
    point["value"] = next.values.middle[h];
    if (!next.values.low.empty()) point["p90"] = next.values.high[h];
  }
  return json;
}

void write_output(const std::string& path, std::string_view text) {
  if (!is_stdout(path)) return write_file_atomically(path, text);
  if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size() || std::fflush(stdout) != 0)
    fail("standard output cannot be written");
}

}  // namespace tabgrad::cli
