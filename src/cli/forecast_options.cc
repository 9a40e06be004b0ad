#include "cli/forecast_options.h"

#include <charconv>

#include "base/error.h"
#include "train/optimizer_fields.h"

namespace tabgrad::cli {
namespace {

SplitFractions split_from(const std::vector<double>& parts) {
  if (parts.size() != 3) fail("--split takes three parts, such as 0.7,0.1,0.2, and got ", parts.size(), ".");
  return {.train = parts[0], .validation = parts[1], .test = parts[2]};
}

// 0: to be found; 1: none.
std::int64_t season_from(const std::string& word) {
  if (word == "auto") return 0;
  if (word == "none") return 1;
  std::int64_t steps = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), steps);
  if (error != std::errc{} || end != word.data() + word.size() || steps < 1) {
    fail("--season ", word, " is not possible: give a number of steps, auto or none.");
  }
  return steps;
}

}  // namespace

void ForecastOptions::declare(CLI::App& app) {
  using S = ForecastSettings;
  using Text = std::string;
  using Count = std::int64_t;
  app.add_option("--csv", csv, "the series, as a CSV file")->required();
  model_option_ = app.add_option("--model", model_, "lstm, gru or transformer (lstm)");
  app.add_option("--out", out, "folder for the model, its checkpoint and report.html");
  app.add_flag("--resume", resume, "go on with the interrupted run in --out");

  given_.add<Text>(app, "--target", "the column to forecast (the only number column)",
                   [](S& s, const Text& v) { s.series.target = v; });
  given_.add<Text>(app, "--time", "the time column, or none (found)", [](S& s, const Text& v) { s.series.time = v; });
  given_.add<std::vector<Text>>(app, "--features", "more columns to learn from: a,b",
                                [](S& s, const std::vector<Text>& v) { s.series.features = v; });
  given_.add<Text>(app, "--missing", "missing values: drop, previous, linear or error (linear for short gaps)",
                   [](S& s, const Text& v) { s.series.fill = fill_method_from(v); });
  given_.add<std::vector<double>>(app, "--split", "parts for training, validation, test (0.7,0.1,0.2)",
                                  [](S& s, const std::vector<double>& v) { s.split = split_from(v); });
  app.add_option("--backtest", backtest, "rolling-origin backtest: train and test on this many folds")
      ->check(CLI::Range(1, 1000));

  given_.add<Count>(app, "--window", "steps that the model looks back (48)", [](S& s, const Count& v) { s.model.window = v; });
  given_.add<Count>(app, "--horizon", "steps to forecast at once (12)", [](S& s, const Count& v) { s.model.horizon = v; });
  given_.add<Text>(app, "--season", "steps in a season, auto or none (auto)",
                   [](S& s, const Text& v) { s.season = season_from(v); });
  given_.add<Text>(app, "--normalise", "window, standard, minmax or none (window)",
                   [](S& s, const Text& v) { s.normalise = normalise_from(v); });
  given_.add<Text>(app, "--predict", "difference (to the seasonal or last value) or value (difference)",
                   [](S& s, const Text& v) { s.predict = predict_from(v); });
  CLI::Option* calendar = given_.add<Text>(
      app, "--calendar", "calendar columns: auto, or a list of hour, weekday, weekday_onehot, monthday, yearday, month (none)",
      [](S& s, const Text& v) { s.calendar = v.empty()     ? "auto"
                                             : v == "none" ? ""
                                                           : v; });
  calendar->expected(0, 1);  // --calendar alone is auto

  given_.add<Count>(app, "--units", "hidden units; the width of a Transformer",
                    [](S& s, const Count& v) { s.model.units = v; });
  given_.add<Count>(app, "--layers", "stacked layers", [](S& s, const Count& v) { s.model.layers = v; });
  given_.add<Count>(app, "--heads", "attention heads of a Transformer", [](S& s, const Count& v) { s.model.heads = v; });
  given_.add<double>(app, "--dropout", "part of the hidden values dropped in training (0.1)",
                     [](S& s, const double& v) { s.model.dropout = v; });
  given_.add<Text>(app, "--gru-reset", "before or after the matrix product (after)", [](S& s, const Text& v) {
    if (v != "before" && v != "after") fail("--gru-reset ", v, " is not known. Choose before or after.");
    s.model.gru_reset_after = v == "after";
  });
  given_.add<Text>(app, "--loss", "mse, mae, huber or quantile (mse)", [](S& s, const Text& v) {
    s.model.loss = loss_kind_from(v);
    s.model.quantiles.clear();
    if (s.model.loss == LossKind::kQuantile) s.model.quantiles = {0.1, 0.5, 0.9};
  });

  given_.add<Text>(app, "--optimizer", "sgd, adam, adamw, lion or muon (adamw)", [](S& s, const Text& v) {
    OptimizerConfig& o = s.training.optimizer;
    o.kind = optimizer_kind_from(v);
    if (o.kind == OptimizerConfig::Kind::kSgd) o.momentum = 0.9;
    if (o.kind == OptimizerConfig::Kind::kSgd || o.kind == OptimizerConfig::Kind::kAdam) o.weight_decay = 0;
    s.training.learning_rate = default_learning_rate(s.model.kind, o.kind);
  });
  given_.add<double>(app, "--momentum", "of sgd (0.9)", [](S& s, const double& v) { s.training.optimizer.momentum = v; });
  given_.add<double>(app, "--weight-decay", "of matrices (0.01 with adamw)",
                     [](S& s, const double& v) { s.training.optimizer.weight_decay = v; });
  given_.add<double>(app, "--lr", "learning rate at its peak", [](S& s, const double& v) { s.training.learning_rate = v; });
  given_.add<Text>(app, "--schedule", "constant, linear, cosine or step (cosine)",
                   [](S& s, const Text& v) { s.training.schedule = schedule_kind_from(v); });
  given_.add<double>(app, "--warmup", "part of all steps in which the rate rises (0.05)",
                     [](S& s, const double& v) { s.training.warmup = v; });
  given_.add<double>(app, "--clip", "largest gradient norm; 0 for none (1)", [](S& s, const double& v) { s.clip = v; });
  given_.add<Count>(app, "--batch", "windows a step (64)", [](S& s, const Count& v) { s.training.batch = v; });
  given_.add<Count>(app, "--epochs", "passes over the training part at most (40)",
                    [](S& s, const Count& v) { s.training.epochs = v; });
  given_.add<Count>(app, "--patience", "epochs without a better validation loss before it stops; 0 for never (10)",
                    [](S& s, const Count& v) { s.training.patience = v; });
  app.add_option("--max-minutes", max_minutes, "stop training after this time")->check(CLI::NonNegativeNumber);
}

ForecastSettings ForecastOptions::settings(std::uint64_t seed) const {
  ForecastSettings settings = default_settings(forecaster_kind_from(model_));
  settings.training.seed = seed;
  given_.apply(settings);
  check_settings(settings);
  return settings;
}

void ForecastOptions::check_same(const ForecastSettings& interrupted, bool seed_given, std::uint64_t seed) const {
  if (model_option_->count() > 0 && model_ != forecaster_kind_name(interrupted.model.kind)) given_.differs("--model", out);
  if (seed_given && seed != interrupted.training.seed) given_.differs("--seed", out);
  given_.check_same(interrupted, out);
}

}  // namespace tabgrad::cli
