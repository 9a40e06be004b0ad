// `tabgrad train forecast`: a CSV file in, a judged and saved forecaster out.
//
// Does: reads the file, runs a ForecastJob with a progress line, saves checkpoints on the way, and writes model, report and
// JSON. Does not: know how windows, models or baselines work.
//
// Ends: Ctrl-C, the time limit and early stopping all keep the best weights, write everything and exit 0; a run that
// diverged keeps them too and exits 1.
#include <chrono>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <optional>

#include "base/clock.h"
#include "base/error.h"
#include "cli/cli.h"
#include "cli/forecast_options.h"
#include "cli/output.h"
#include "cli/progress.h"
#include "data/atomic_file.h"
#include "train/chart.h"
#include "train/checkpoint.h"
#include "train/report.h"

namespace tabgrad::cli {
namespace {

namespace fs = std::filesystem;

constexpr double kCheckpointSeconds = 2;  // at least this long between two checkpoints
constexpr const char* kReportFile = "report.html";

class TrainForecast {
 public:
  TrainForecast(const ForecastOptions& options, const Common& common, bool seed_given)
      : options_(options), common_(common), seed_given_(seed_given), progress_(is_stdout(common.json) ? stderr : stdout) {}

  int run() {
    session_options(common_);  // refuses an unknown device before anything is read
    if (options_.resume && options_.out.empty()) fail("--resume needs --out, the folder of the interrupted run.");
    if (options_.resume && options_.backtest > 0) fail("--resume does not go with --backtest: a backtest starts anew.");
    std::optional<Checkpoint> checkpoint;
    if (options_.resume) checkpoint = load_checkpoint(options_.out);
    if (checkpoint) options_.check_same(checkpoint->settings, seed_given_, common_.seed);
    ForecastSettings settings = checkpoint ? checkpoint->settings : options_.settings(common_.seed);
    settings.training.max_seconds = options_.max_minutes * 60;
    Series series = make_series(read_csv_file(options_.csv), settings.series);
    settings.series.target = series.target_name;
    if (!options_.out.empty()) prepare_folder(options_.out);
    const fs::path json_folder = fs::path(common_.json).parent_path();
    if (!json_folder.empty() && !fs::is_directory(json_folder)) {  // said now rather than after the training
      fail("--json ", common_.json, ": there is no folder ", json_folder.string(), ".");
    }
    if (options_.resume && !checkpoint)
      progress_.print(options_.out + " holds no checkpoint: training starts from the beginning.");
    return options_.backtest > 0 ? backtest(series, settings) : single(std::move(series), settings, checkpoint);
  }

 private:
  SessionOptions session() {
    return training_options(common_, [&](const std::string& line) { progress_.print(line); });
  }

  int single(Series series, const ForecastSettings& settings, const std::optional<Checkpoint>& checkpoint) {
    ForecastJob job(std::move(series), settings, session());
    describe(job);
    if (checkpoint) {
      if (checkpoint->data_hash != job.data_hash()) {
        fail(options_.csv, " has changed since the interrupted run in ", options_.out,
             ". Give the same file, or train anew without --resume.");
      }
      job.trainer().restore(checkpoint->state, checkpoint->tensors);
      progress_.print(str("Resumed at epoch ", job.trainer().state().epoch, " of ", settings.training.epochs, ", step ",
                          job.trainer().state().step, "."));
    }
    train(job, !options_.out.empty());
    const ForecastResult result = job.judge();
    show(job, result);
    save(job, result);
    Json json = summary(job, result);
    if (!common_.json.empty()) write_output(common_.json, json.dump(2) + "\n");
    return job.trainer().state().end == EndReason::kDiverged ? 1 : 0;
  }

  int backtest(const Series& series, ForecastSettings settings) {
    const std::vector<Split> folds = rolling_origin_folds(series.num_steps(), options_.backtest, settings.split);
    settings.training.max_seconds /= static_cast<double>(folds.size());
    Json json, rows = Json::array();
    std::vector<NamedMetrics> pooled;  // the model first
    double weight = 0;
    bool diverged = false;
    const SessionOptions options = session();
    for (std::size_t k = 0; k < folds.size() && !StopRequest::requested(); ++k) {
      ForecastJob job(series, settings, options, folds[k]);
      if (k == 0) describe(job);
      progress_.print(str("Fold ", k + 1, " of ", folds.size(), ": ", folds[k].train_end, " points of training, test from ",
                          format_point(series.times[static_cast<std::size_t>(folds[k].validation_end)], series.step), " on"));
      train(job, false);
      const ForecastResult result = job.judge();
      diverged = diverged || job.trainer().state().end == EndReason::kDiverged;
      show_metrics(job, result.model.metrics, result.model.baselines);
      rows.push_back({{"test_points", folds[k].test_end - folds[k].validation_end},
                      {"metrics", metrics_json(result.model.metrics)},
                      {"baselines", baselines_json(result.model.baselines)}});
      std::vector<NamedMetrics> all{{forecaster_title(settings.model.kind), result.model.metrics}};
      all.insert(all.end(), result.model.baselines.begin(), result.model.baselines.end());
      pool(pooled, all, weight, static_cast<double>(result.truth.size()));
      weight += static_cast<double>(result.truth.size());
      if (k + 1 == folds.size() || StopRequest::requested()) {
        save(job, result);
        json = summary(job, result);
      }
    }
    if (pooled.empty()) return 0;
    const NamedMetrics model = pooled.front();
    const std::vector<NamedMetrics> baselines(pooled.begin() + 1, pooled.end());
    progress_.print(str("\nAll ", rows.size(), " folds together; the model kept is that of the last one."));
    print(metrics_table(model.name, model.metrics, baselines));
    const std::string verdict = compare_with_baselines(model, baselines, false);
    progress_.print("\n" + verdict);
    json["metrics"] = metrics_json(model.metrics);
    json["baselines"] = baselines_json(baselines);
    json["verdict"] = verdict;
    json["folds"] = rows;
    if (!common_.json.empty()) write_output(common_.json, json.dump(2) + "\n");
    return diverged ? 1 : 0;
  }

  // Means over all points of the folds so far (`before` of them in `pooled`) and of one more; RMSE by its squares.
  static void pool(std::vector<NamedMetrics>& pooled, const std::vector<NamedMetrics>& fold, double before, double points) {
    if (pooled.empty()) pooled = fold;
    const double old_share = before / (before + points), share = points / (before + points);
    for (std::size_t i = 0; i < fold.size(); ++i) {
      Metrics& p = pooled[i].metrics;
      const Metrics& f = fold[i].metrics;
      p.rmse = std::sqrt(old_share * p.rmse * p.rmse + share * f.rmse * f.rmse);
      p.mae = old_share * p.mae + share * f.mae;
      p.smape = old_share * p.smape + share * f.smape;
      p.mase = old_share * p.mase + share * f.mase;
    }
  }

  void print(const std::vector<std::string>& lines) {
    for (const std::string& line : lines) progress_.print(line);
  }

  void describe(const ForecastJob& job) {
    const Series& s = job.series();
    const Split& split = job.split();
    const std::int64_t n = s.num_steps();
    progress_.print(str(s.source, ": ", n, " points of '", s.target_name, "', one every ", to_string(s.step), ", ",
                        format_point(s.times.front(), s.step), " to ", format_point(s.times.back(), s.step)));
    progress_.print(str("  training ", split.train_end, ", validation ", split.validation_end - split.train_end, ", test ",
                        split.test_end - split.validation_end, "; windows of ", job.recipe().window, " steps, forecasting ",
                        job.recipe().horizon));
    for (const std::string& notice : job.notices()) progress_.print("  note: " + notice);
    const ForecasterConfig& m = job.settings().model;
    progress_.print(str(forecaster_title(m.kind), ": ", m.layers, m.layers == 1 ? " layer of " : " layers of ", m.units,
                        " units, ", job.parameters(), " parameters, on ", job.session().device()));
  }

  void train(ForecastJob& job, bool checkpoints) {
    const StopRequest stop_on_signal;
    Trainer& trainer = job.trainer();
    const auto start = std::chrono::steady_clock::now();
    auto saved = start;
    const std::int64_t first_step = trainer.state().step;
    const auto checkpoint = [&] {
      if (!checkpoints) return;
      try {
        save_checkpoint(options_.out, {job.settings(), job.data_hash(), trainer.state(), trainer.save()});
      } catch (const Error& e) {
        progress_.print(str("note: no checkpoint could be saved: ", e.what()));
      }
      saved = std::chrono::steady_clock::now();
    };
    for (Trainer::Event event = trainer.advance(); event != Trainer::Event::kEnd; event = trainer.advance()) {
      if (StopRequest::requested()) trainer.request_stop();
      const bool evaluated = event == Trainer::Event::kEvaluation;
      if (evaluated && seconds_since(saved) >= kCheckpointSeconds) checkpoint();
      if (!evaluated && !progress_.due()) continue;
      const std::int64_t total = trainer.steps_per_epoch() * trainer.config().epochs;
      const double elapsed = seconds_since(start),
                   rate = static_cast<double>(trainer.state().step - first_step) / std::max(elapsed, 1e-9);
      const std::string line = progress_line(trainer, rate, total);
      if (progress_.live()) {
        progress_.draw(static_cast<double>(trainer.state().step) / static_cast<double>(total), line);
      } else {
        progress_.print(line);
      }
    }
    seconds_ = seconds_since(start);
    if (trainer.state().end != EndReason::kDiverged) checkpoint();
    progress_.print(str(trainer.state().message, " ", trainer.state().step - first_step, " steps in ", clock_text(seconds_),
                        ", ", fixed(trainer.timer().ms_per_step(), 2), " ms a step."));
  }

  static std::string progress_line(const Trainer& trainer, double rate, std::int64_t total) {
    const TrainerState& s = trainer.state();
    const std::int64_t epoch = std::min(s.epoch + (s.position > 0 ? 1 : 0), trainer.config().epochs);
    std::string line = str("epoch ", epoch, "/", trainer.config().epochs);
    if (s.step > 0) {
      line += "  loss " + fixed(s.position > 0 ? static_cast<double>(trainer.last_loss()) : s.train_loss.back(), 4);
    }
    if (!s.validation_loss.empty()) {
      line += "  validation " + fixed(s.validation_loss.back(), 4) +
              str(" (best ", fixed(s.best_loss, 4), " at ", s.best_epoch, ")");
    }
    if (s.step > 0 && rate > 0) {
      line +=
          str("  ", fixed(rate, rate < 10 ? 1 : 0), " steps/s  ETA ", clock_text(static_cast<double>(total - s.step) / rate));
    }
    return line;
  }

  void show_metrics(const ForecastJob& job, const Metrics& metrics, const std::vector<NamedMetrics>& baselines) {
    print(metrics_table(forecaster_title(job.settings().model.kind), metrics, baselines));
  }

  void show(const ForecastJob& job, const ForecastResult& result) {
    constexpr std::size_t kShownSteps = 6;
    progress_.print("");
    show_metrics(job, result.model.metrics, result.model.baselines);
    progress_.print("\n" + result.verdict + "\n");
    print(forecast_table(result.next, job.series().step, kShownSteps));
  }

  void save(ForecastJob& job, const ForecastResult& result) {
    if (options_.out.empty()) {
      progress_.print("\nNothing was saved: give --out DIR to keep the model and a report.");
      return;
    }
    const RunFacts facts{job.session().device(), job.trainer().timer().ms_per_step(), seconds_, job.parameters()};
    save_model(options_.out, result.model, result.weights);
    write_file_atomically((fs::path(options_.out) / kReportFile).string(),
                          report_html(job, job.trainer().state(), result, facts));
    const EndReason end = job.trainer().state().end;
    progress_.print(
        str("\nModel and report are in ", options_.out, ": open ", (fs::path(options_.out) / kReportFile).string()));
    if ((end == EndReason::kStopped || end == EndReason::kTimeLimit) && options_.backtest == 0) {
      progress_.print("To go on with this run: the same command with --resume.");
    }
  }

  Json summary(ForecastJob& job, const ForecastResult& result) const {
    const Trainer& trainer = job.trainer();
    const TrainerState& s = trainer.state();
    Json json;
    json["device"] = job.session().device();
    json["precision"] = job.session().program().f16 ? "f16" : "f32";
    json["model"] = forecaster_kind_name(job.settings().model.kind);
    json["target"] = job.series().target_name;
    json["points"] = job.series().num_steps();
    json["window"] = job.recipe().window;
    json["horizon"] = job.recipe().horizon;
    json["season"] = job.recipe().season;
    json["parameters"] = job.parameters();
    json["seed"] = trainer.config().seed;
    json["ms_per_step"] = trainer.timer().ms_per_step();
    json["train_seconds"] = seconds_;
    json["steps"] = s.step;
    json["epochs"] = s.epoch;
    json["best_epoch"] = s.best_epoch;
    json["ended"] = s.message;
    json["loss"] = s.train_loss;
    json["val_loss"] = s.validation_loss;
    json["metrics"] = metrics_json(result.model.metrics);
    json["baselines"] = baselines_json(result.model.baselines);
    json["verdict"] = result.verdict;
    if (!result.forecast.low.empty()) json["band_coverage"] = result.band_coverage;
    json["forecast"] = forecast_json(result.next, job.series().step);
    json["notices"] = job.notices();
    return json;
  }

  const ForecastOptions& options_;
  const Common& common_;
  bool seed_given_;
  Progress progress_;
  double seconds_ = 0;
};

}  // namespace

void add_train_forecast(CLI::App& train, Command& command) {
  CLI::App* sub = train.add_subcommand("forecast", "Train a forecaster on a CSV file and judge it beside honest baselines");
  sub->footer("For example: tabgrad train forecast --csv sales.csv --target amount --model lstm --out model");
  const auto common = std::make_shared<Common>();
  const auto options = std::make_shared<ForecastOptions>();
  options->declare(*sub);
  add_common_options(*sub, *common);
  add_precision_option(*sub, *common);
  sub->callback([&command, sub, common, options] {
    const bool seed_given = sub->get_option("--seed")->count() > 0;
    command = [common, options, seed_given] { return TrainForecast(*options, *common, seed_given).run(); };
  });
}

}  // namespace tabgrad::cli
