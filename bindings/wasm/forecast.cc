#include "forecast.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <utility>

#include "data/overview.h"
#include "nn/parameters.h"
#include "page_json.h"
#include "train/checkpoint.h"
#include "train/report.h"

namespace tabgrad::wasm {
namespace {

constexpr std::int64_t kPreviewPoints = 400;
constexpr std::int64_t kHistoryPoints = 240;  // known values before the steps to come; at least two windows or horizons

Json parts(std::int64_t training, std::int64_t validation, std::int64_t test) {
  return {{"training", training}, {"validation", validation}, {"test", test}};
}

Json metric_row(const std::string& name, const Metrics& m) {
  return {{"name", name}, {"rmse", m.rmse}, {"mae", m.mae}, {"smape", m.smape}, {"mase", m.mase}};
}

// Every stride-th of the values from the first on: step 1 of forecasts laid out (windows, horizon).
std::vector<double> first_steps(const std::vector<double>& values, std::int64_t horizon) {
  std::vector<double> out;
  for (std::size_t i = 0; i < values.size(); i += static_cast<std::size_t>(horizon)) out.push_back(values[i]);
  return out;
}

Json band_series(Reply& reply, const Bands& bands, const std::vector<double>& times, const TimeStep& step) {
  Json labels = Json::array();
  for (const double t : times) labels.push_back(format_point(t, step));
  return {{"times", reply.array(times)},
          {"labels", std::move(labels)},
          {"middle", reply.array(bands.middle)},
          {"low", reply.array(bands.low)},
          {"high", reply.array(bands.high)}};
}

}  // namespace

ForecastJob& ForecastSession::job() const {
  if (!job_) fail("There is no run: train first.");
  return *job_;
}

const Table& ForecastSession::table() const {
  if (!table_) fail("There is no data yet: open a CSV file first.");
  return *table_;
}

void ForecastSession::open(const std::string& file) {
  file_ = file;
  reader_ = std::make_unique<CsvReader>(CsvOptions{.name = file});
}

void ForecastSession::feed(std::string_view bytes) {
  TG_CHECK(reader_ != nullptr);
  reader_->feed(bytes);
}

void ForecastSession::close(Reply& reply) {
  TG_CHECK(reader_ != nullptr);
  Table read = std::exchange(reader_, nullptr)->finish();
  result_.reset();
  job_.reset();
  table_ = std::move(read);
  const Overview view = overview_of(*table_, kPreviewPoints);
  Json columns = Json::array();
  for (const Column& c : table_->columns) {
    const auto [low, high] = extremes(c);
    columns.push_back({{"name", c.name},
                       {"kind", column_kind_name(c.kind)},
                       {"missing", c.missing},
                       {"problem", c.problem},
                       {"min", finite_or_null(low)},
                       {"max", finite_or_null(high)}});
  }
  Json preview = Json::object();
  for (const auto& [name, values] : view.columns) preview[name] = reply.array(values);
  reply.json = {{"file", file_},
                {"rows", table_->num_rows},
                {"columns", std::move(columns)},
                {"time", view.time},
                {"step", view.step},
                {"first", view.first},
                {"last", view.last},
                {"suggestedTarget", view.suggested_target},
                {"preview", {{"times", reply.array(view.times)}, {"columns", std::move(preview)}}},
                {"notices", view.notices}};
}

void ForecastSession::defaults(const std::string& kind, Reply& reply) const {
  reply.json = with_digits(to_json(default_settings(forecaster_kind_from(kind))));
}

ForecastSettings ForecastSession::settings_from(const Json& patch) const {
  TG_CHECK(patch.is_object());
  std::string kind = "lstm";
  if (patch.contains("model") && patch["model"].is_object()) kind = patch["model"].value("kind", kind);
  Json settings = Json::parse(to_json(default_settings(forecaster_kind_from(kind))));
  settings.merge_patch(patch);
  read_digits(settings);
  return settings_from_json(settings.dump(), "settings");
}

SessionOptions ForecastSession::options_on(const std::string& device) const {
  SessionOptions options = options_;
  options.device = device;
  return options;
}

std::unique_ptr<ForecastJob> ForecastSession::make_job(const ForecastSettings& settings, const std::string& device) const {
  Series series = make_series(table(), settings.series);
  ForecastSettings named = settings;
  named.series.target = series.target_name;
  return std::make_unique<ForecastJob>(std::move(series), std::move(named), options_on(device));
}

void ForecastSession::describe(const ForecastSetup& setup, const Program& program, Reply& reply) const {
  const Split& split = setup.split;
  const WindowRanges& windows = setup.ranges;
  const std::int64_t per_epoch = (windows.train.count + setup.training.batch - 1) / setup.training.batch;
  double flops = 0;
  std::size_t launches = 0;
  for (const Entry& e : program.entries) {
    if (e.name != "train_step") continue;
    launches = e.launches.size();
    for (const Launch& l : e.launches) flops += l.flops;
  }
  reply.json = {
      {"settings", with_digits(to_json(setup.settings))},
      {"parameters", parameter_count(setup.model.parameters)},
      {"points", parts(split.train_end, split.validation_end - split.train_end, split.test_end - split.validation_end)},
      {"windows", parts(windows.train.count, windows.validation.count, windows.test.count)},
      {"stepsPerEpoch", per_epoch},
      {"steps", per_epoch * setup.training.epochs},
      {"flopsPerStep", flops},
      {"launchesPerStep", launches},
      {"peakBytes", memory_use(program).total()},
      {"notices", setup.notices}};
}

void ForecastSession::plan(const Json& patch, const std::string& device, Reply& reply) const {
  ForecastSettings settings = settings_from(patch);
  Series series = make_series(table(), settings.series);
  settings.series.target = series.target_name;
  const ForecastSetup setup(std::move(series), std::move(settings));
  describe(setup, compile(setup.model.entries, device_caps(options_on(device)), device), reply);
}

void ForecastSession::train(const Json& patch, const std::string& device, Reply& reply) {
  const ForecastSettings settings = settings_from(patch);
  table();
  result_.reset();
  job_.reset();  // two runs at once may not fit into memory
  job_ = make_job(settings, device);
  trained_seconds_ = 0;
  describe(job_->setup(), job_->session().program(), reply);
}

void ForecastSession::restore(std::string_view bytes, bool ended, const std::string& device, Reply& reply) {
  const Checkpoint checkpoint = read_checkpoint(bytes, "the saved run");
  table();
  result_.reset();
  job_.reset();
  std::unique_ptr<ForecastJob> job = make_job(checkpoint.settings, device);
  if (checkpoint.data_hash != job->data_hash()) fail(file_, " is not the file of the saved run: its values differ.");
  Trainer& trainer = job->trainer();
  trainer.restore(checkpoint.state, checkpoint.tensors);
  if (ended && trainer.state().end == EndReason::kNone) {
    trainer.request_stop();
    while (trainer.advance() != Trainer::Event::kEnd) {
    }
  }
  job_ = std::move(job);
  trained_seconds_ = 0;
  describe(job_->setup(), job_->session().program(), reply);
}

void ForecastSession::advance(double milliseconds, Reply& reply) {
  Trainer& trainer = job().trainer();
  const auto start = std::chrono::steady_clock::now();
  const std::int64_t first = trainer.state().step;
  losses_.clear();
  bool ended = false;
  while (!ended && seconds_since(start) * 1e3 < milliseconds) {
    const Trainer::Event event = trainer.advance();
    ended = event == Trainer::Event::kEnd;
    if (event == Trainer::Event::kStep) losses_.insert(losses_.end(), trainer.losses().begin(), trainer.losses().end());
  }
  trained_seconds_ += seconds_since(start);
  const TrainerState& s = trainer.state();
  const std::int64_t epochs = trainer.config().epochs;
  reply.json = {{"ended", ended},
                {"step", s.step},
                {"steps", trainer.steps_per_epoch() * epochs},
                {"epoch", std::min(s.epoch + (s.position > 0 ? 1 : 0), epochs)},
                {"epochs", epochs},
                {"loss", finite_or_null(static_cast<double>(trainer.last_loss()))},
                {"learningRate", trainer.last_rate()},
                {"firstStep", first},
                {"losses", reply.array(losses_)},
                {"trainLoss", s.train_loss},
                {"validationLoss", s.validation_loss},
                {"bestEpoch", s.best_epoch}};
}

void ForecastSession::save(Reply& reply) const {
  const Trainer& trainer = job().trainer();
  const std::string bytes = write_checkpoint({job().settings(), job().data_hash(), trainer.state(), trainer.save()});
  reply.json = {{"step", trainer.state().step}, {"bytes", reply.array(bytes)}};
}

void ForecastSession::judge(const Clock& before, Reply& reply) {
  Trainer& trainer = job().trainer();
  const TrainerState& s = trainer.state();
  if (s.end == EndReason::kNone) fail("The run is still training: stop it first.");
  result_ = job().judge();
  const ForecastResult& r = *result_;
  const ForecastModel& model = r.model;
  const Series& series = job().series();
  const double ms = trainer.timer().ms_per_step();
  facts_ = {job().session().device(), ms > 0 ? ms : before.ms_per_step, before.seconds + trained_seconds_, job().parameters()};
  const char* title = forecaster_title(job().settings().model.kind);

  Json metrics = Json::array({metric_row(title, model.metrics)});
  for (const NamedMetrics& b : model.baselines) metrics.push_back(metric_row(b.name, b.metrics));

  const std::int64_t horizon = job().recipe().horizon;
  const auto begin = static_cast<std::size_t>(r.test.first), end = begin + static_cast<std::size_t>(r.test.count);
  const std::size_t points = series.target.size();
  const std::size_t known =
      points -
      std::min(points, static_cast<std::size_t>(std::max(kHistoryPoints, 2 * std::max(job().recipe().window, horizon))));
  const auto slice = [](const std::vector<double>& v, std::size_t from, std::size_t count) {
    return std::span<const double>(v).subspan(from, count);
  };
  const Bands test{first_steps(r.forecast.middle, horizon), first_steps(r.forecast.low, horizon),
                   first_steps(r.forecast.high, horizon)};
  const std::vector<double> test_times(series.times.begin() + static_cast<std::ptrdiff_t>(begin),
                                       series.times.begin() + static_cast<std::ptrdiff_t>(end));
  Json test_json = band_series(reply, test, test_times, series.step);
  test_json["truth"] = reply.array(first_steps(r.truth, horizon));

  reply.json = {{"settings", with_digits(to_json(job().settings()))},
                {"title", title},
                {"parameters", job().parameters()},
                {"device", facts_.device},
                {"msPerStep", facts_.ms_per_step},
                {"trainSeconds", facts_.train_seconds},
                {"steps", s.step},
                {"ended", end_word(s.end)},
                {"message", s.message},
                {"bestEpoch", model.best_epoch},
                {"trainLoss", s.train_loss},
                {"validationLoss", s.validation_loss},
                {"metrics", std::move(metrics)},
                {"verdict", r.verdict},
                {"bandCoverage", r.forecast.low.empty() ? Json(nullptr) : Json(r.band_coverage)},
                {"step", to_string(series.step)},
                {"horizon", horizon},
                {"history",
                 {{"times", reply.array(slice(series.times, known, points - known))},
                  {"values", reply.array(slice(series.target, known, points - known))}}},
                {"test", std::move(test_json)},
                {"next", band_series(reply, r.next.values, r.next.times, series.step)},
                {"notices", job().notices()}};
}

void ForecastSession::download(const std::string& kind, Reply& reply) {
  if (!result_) fail("There is no finished run to download.");
  Json files = Json::array();
  const auto add = [&](const char* name, const char* type, const std::string& bytes) {
    files.push_back({{"name", name}, {"type", type}, {"bytes", reply.array(std::string_view(bytes))}});
  };
  if (kind == "model") {
    const ModelFiles model = write_model(result_->model, result_->weights);
    add(kModelFile, "application/json", model.description);
    add(kWeightsFile, "application/octet-stream", model.weights);
  } else if (kind == "forecast") {
    add("forecast.csv", "text/csv", forecast_csv(result_->next, job().series()));
  } else {
    TG_CHECK(kind == "report");
    add("report.html", "text/html", report_html(job(), job().trainer().state(), *result_, facts_));
  }
  reply.json = {{"files", std::move(files)}};
}

}  // namespace tabgrad::wasm
