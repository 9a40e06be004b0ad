// A small forecasting run for tests: a noisy season of 7 over 240 days, an LSTM of 8 units, a few epochs.
#pragma once

#include <unistd.h>

#include <cmath>
#include <filesystem>
#include <string>

#include "tensor/philox.h"
#include "train/forecast_job.h"

namespace tabgrad::testing {

inline Series small_series(std::int64_t n = 240) {
  Series s;
  s.source = "small.csv";
  s.target_name = "y";
  s.time_name = "day";
  s.step = {.unit = TimeStep::Unit::kSeconds, .size = 86400};
  FeatureColumn feature{"wind", {}, false};
  for (std::int64_t t = 0; t < n; ++t) {
    s.times.push_back(86400.0 * static_cast<double>(t));
    const double noise = static_cast<double>(normal(7, 1, static_cast<std::uint64_t>(t)));
    s.target.push_back(100 + 10 * std::sin(2 * 3.14159265358979 * static_cast<double>(t) / 7) + noise);
    feature.values.push_back(static_cast<double>(t % 5));
  }
  s.features.push_back(feature);
  return s;
}

inline ForecastSettings small_settings(ForecasterKind kind = ForecasterKind::kLstm) {
  ForecastSettings s = default_settings(kind);
  s.series.target = "y";
  s.series.features = {"wind"};
  s.model.window = 14;
  s.model.horizon = 3;
  s.model.units = 8;
  s.model.head_units = 8;
  s.training.epochs = 4;
  s.training.batch = 32;
  s.training.seed = 3;
  return s;
}

inline SessionOptions threads(int count) {
  SessionOptions options;
  options.threads = count;
  return options;
}

inline void run_to_end(Trainer& trainer) {
  while (trainer.advance() != Trainer::Event::kEnd) {
  }
}

// Removed with all that is in it.
class TempFolder {
 public:
  TempFolder() : path_((std::filesystem::temp_directory_path() / ("tabgrad-test-XXXXXX")).string()) {
    if (mkdtemp(path_.data()) == nullptr) fail("no temporary folder can be made");
  }
  ~TempFolder() { std::filesystem::remove_all(path_); }
  TempFolder(const TempFolder&) = delete;
  TempFolder& operator=(const TempFolder&) = delete;
  std::string file(const std::string& name) const { return path_ + "/" + name; }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

}  // namespace tabgrad::testing
