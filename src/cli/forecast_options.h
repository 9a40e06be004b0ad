// The options of `train forecast`, as settings.
//
// Does: declares them, turns what was given into ForecastSettings, and lays what was given over the settings of an
// interrupted run. Does not: read data, train.
#pragma once

#include <string>

#include "cli/settings_options.h"
#include "train/forecast_config.h"

namespace tabgrad::cli {

class ForecastOptions {
 public:
  // Declares the options; `this` must stay where it is while the app is used.
  void declare(CLI::App& app);

  // What was given, over the defaults of the model. Throws Error naming the option.
  ForecastSettings settings(std::uint64_t seed) const;
  // Throws Error naming the first given option that differs from an interrupted run's.
  void check_same(const ForecastSettings& interrupted, bool seed_given, std::uint64_t seed) const;

  std::string csv, out;
  bool resume = false;
  int backtest = 0;        // folds; 0: one split
  double max_minutes = 0;  // 0: no limit

 private:
  std::string model_ = "lstm";
  CLI::Option* model_option_ = nullptr;
  SettingsOptions<ForecastSettings> given_;
};

}  // namespace tabgrad::cli
