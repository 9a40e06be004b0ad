// What a forecasting run is made of: the user's settings, and the trained model's description (model.json).
//
// Does: holds them, checks them, turns them into readable JSON and back. Does not: read files, train.
//
// Invariants: model.json holds all that `tabgrad forecast` needs besides the weights. A description that was read is in
// range in every field, whatever the file held.
#pragma once

#include <string>
#include <vector>

#include "data/series.h"
#include "models/forecaster.h"
#include "train/judge/baselines.h"
#include "train/judge/metrics.h"
#include "train/normalise.h"
#include "train/trainer.h"

namespace tabgrad {

struct ForecastSettings {
  SeriesOptions series;
  SplitFractions split;
  std::int64_t season = 0;  // 0: found in the training part; 1: none
  Normalise normalise = Normalise::kWindow;
  Predict predict = Predict::kDifference;
  std::string calendar;    // "" none; "auto" or a list as calendar_from takes it
  ForecasterConfig model;  // channels and future_channels follow from the data
  TrainerConfig training;
  double clip = 1.0;  // largest gradient norm; 0: no clipping
};
// Throws Error naming the option.
void check_settings(const ForecastSettings& settings);
ForecastSettings default_settings(ForecasterKind kind);
// A rate that suits both, found on real series.
double default_learning_rate(ForecasterKind model, OptimizerConfig::Kind optimizer);

struct ForecastModel {
  ForecastSettings settings;
  WindowRecipe recipe;
  TimeStep step;
  // What to add to the forecast of each step (model units) for P10 and P90, from validation errors; empty with quantiles,
  // and without validation.
  std::vector<double> band_low, band_high;
  std::int64_t best_epoch = 0, steps = 0;
  Metrics metrics;  // on the test part
  std::vector<NamedMetrics> baselines;
};

std::string to_json(const ForecastSettings& settings);
ForecastSettings settings_from_json(const std::string& text, const std::string& file);

// weights_hash: of the weights that belong to it (train/checkpoint.h).
std::string to_json(const ForecastModel& model, const std::string& weights_hash);
// Throws Error naming the file and the field.
ForecastModel model_from_json(const std::string& text, const std::string& file, std::string* weights_hash);

}  // namespace tabgrad
