// A forecasting run from series to judged model: data → recipe → graph → session → trainer → test figures.
//
// Does: puts the parts together for one split; trains when its trainer() is advanced; judges on the test part beside the
// baselines; forecasts the steps after the end. Does not: read or write files, print, loop.
//
// Invariants: nothing of the test part touches training, the recipe or the choice of weights. All metrics are in the series'
// own unit.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "engine/engine.h"
#include "models/built_model.h"
#include "train/forecast_config.h"
#include "train/trainer.h"

namespace tabgrad {

// Windows as batches: x, future, target and weight of train_step; eval.* of evaluate and predict.
class WindowBatches final : public BatchSource {
 public:
  WindowBatches(const WindowMaker& maker, WindowRange training, WindowRange validation, std::int64_t batch,
                std::int64_t eval_batch);
  std::int64_t examples(Part part) const override;
  void load(Part part, std::span<const std::int64_t> chosen, Session& session) override;

 private:
  const WindowMaker& maker_;
  WindowRange training_, validation_;
  std::int64_t batch_, eval_batch_;
  std::vector<float> x_, future_, target_, weight_;
};

// The model's outputs (origins, H, Q) in its own units, from entry predict.
std::vector<float> predict_windows(Session& session, const WindowMaker& maker, WindowRange origins, std::int64_t quantiles,
                                   std::int64_t eval_batch);

// Forecasts in the series' unit, (windows, H) each. low and high are P10 and P90; empty when the model has no band.
struct Bands {
  std::vector<double> middle, low, high;
};
struct NextForecast {
  std::vector<double> times;  // (H)
  Bands values;
};

// As a CSV file: time, P10 and P90 where there are bands, the target's name over the forecast.
std::string forecast_csv(const NextForecast& next, const Series& series);

struct ForecastResult {
  ForecastModel model;
  NamedTensors weights;
  WindowRange test;
  std::vector<double> truth;  // (windows, H)
  Bands forecast;             // of the test windows
  double band_coverage = 0;   // part of the truth between P10 and P90; 0.8 is right
  std::string verdict;
  NextForecast next;
};

// All of a run that is known before there is a device: cheap, nothing is allocated for training.
struct ForecastSetup {
  // split: the default is settings.split. Throws Error when the data do not fit the settings.
  ForecastSetup(Series series, ForecastSettings settings, std::optional<Split> split = std::nullopt);
  ForecastSetup(const ForecastSetup&) = delete;  // maker refers to series
  ForecastSetup& operator=(const ForecastSetup&) = delete;

  Series series;
  ForecastSettings settings;  // with the model's channels filled in
  std::vector<std::string> notices;  // the series' notices come first
  Split split;
  WindowRanges ranges;
  std::unique_ptr<WindowMaker> maker;
  TrainerConfig training;  // settings.training with batches no larger than the data
  BuiltModel model;
};

class ForecastJob {
 public:
  // As ForecastSetup, with a session on a device.
  ForecastJob(Series series, ForecastSettings settings, const SessionOptions& options,
              std::optional<Split> split = std::nullopt);

  Trainer& trainer() { return *trainer_; }
  const Session& session() const { return *session_; }
  const ForecastSetup& setup() const { return setup_; }
  const Series& series() const { return setup_.series; }
  const Split& split() const { return setup_.split; }
  const WindowRecipe& recipe() const { return setup_.maker->recipe(); }
  const ForecastSettings& settings() const { return setup_.settings; }
  const std::vector<std::string>& notices() const { return setup_.notices; }
  std::int64_t parameters() const { return parameters_; }
  std::string data_hash() const;  // tells whether a file changed between a checkpoint and its resumption

  // After the trainer's end: judges the best weights.
  ForecastResult judge();

 private:
  ForecastSetup setup_;
  std::unique_ptr<Session> session_;
  std::unique_ptr<WindowBatches> batches_;
  std::unique_ptr<Trainer> trainer_;
  std::int64_t parameters_ = 0;
};

// The steps after the end of a series, by a saved model. Throws Error when the series is too short, of another step or lacks
// a column, or when the weights do not fit the description.
NextForecast forecast_next(const ForecastModel& model, const NamedTensors& weights, const Series& series,
                           const SessionOptions& options);

// "LSTM", "GRU", "Transformer".
const char* forecaster_title(ForecasterKind kind);

}  // namespace tabgrad
