// `tabgrad forecast`: the steps after the end of a CSV file, by a saved model.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <memory>

#include "cli/cli.h"
#include "cli/output.h"
#include "data/atomic_file.h"
#include "train/checkpoint.h"

namespace tabgrad::cli {
namespace {

struct ForecastCommand {
  std::string model, csv, out;
  Common common;
};

int forecast(const ForecastCommand& c) {
  const SessionOptions session = session_options(c.common);
  const SavedModel saved = load_model(c.model);
  const Series series = make_series(read_csv_file(c.csv), saved.model.settings.series);
  const NextForecast next = forecast_next(saved.model, saved.weights, series, session);
  const bool to_stdout = is_stdout(c.common.json) || is_stdout(c.out);
  std::FILE* people = to_stdout ? stderr : stdout;
  std::fprintf(people, "%s of %s after %s, by the %s in %s\n", series.target_name.c_str(), series.source.c_str(),
               format_point(series.times.back(), series.step).c_str(), forecaster_title(saved.model.settings.model.kind),
               c.model.c_str());
  for (const std::string& notice : series.notices) std::fprintf(people, "  note: %s\n", notice.c_str());
  for (const std::string& line : forecast_table(next, series.step, next.times.size()))
    std::fprintf(people, "%s\n", line.c_str());
  if (!c.out.empty()) write_output(c.out, forecast_csv(next, series));
  if (!c.common.json.empty()) {
    Json json;
    json["model"] = forecaster_kind_name(saved.model.settings.model.kind);
    json["target"] = series.target_name;
    json["last"] = format_point(series.times.back(), series.step);
    json["forecast"] = forecast_json(next, series.step);
    json["notices"] = series.notices;
    write_output(c.common.json, json.dump(2) + "\n");
  }
  return kOk;
}

}  // namespace

void add_forecast(CLI::App& app, Command& command) {
  CLI::App* sub = app.add_subcommand("forecast", "Forecast the steps after the end of a CSV file with a trained model");
  sub->footer("For example: tabgrad forecast --model model --csv sales.csv");
  const auto options = std::make_shared<ForecastCommand>();
  sub->add_option("--model", options->model, "Folder that 'train forecast --out' wrote")->type_name("DIR")->required();
  sub->add_option("--csv", options->csv, "The series up to now")->type_name("FILE")->required();
  sub->add_option("--out", options->out, "Also write the forecast as CSV to FILE; - is standard output")->type_name("FILE");
  add_common_options(*sub, options->common);
  sub->callback([&command, options] { command = [options] { return forecast(*options); }; });
}

}  // namespace tabgrad::cli
