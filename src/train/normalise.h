// How windows of a series become a forecaster's inputs and targets, and its outputs become values again.
//
// Does: normalises each window by its own mean and spread, adds the seasonal difference as a second channel, scales feature
// columns, aligns calendar columns, and turns targets into residuals from the seasonal (or last) value; and back. Does not:
// batch, shuffle, judge.
//
// A window of W values x_1 … x_W before origin t, with mean μ and spread σ:
//   channel 0  (x_i − μ)/σ
//   channel 1  (x_i − x_{i−L})/σ, L the season (1 if none); 0 for i ≤ L
//   then one channel a feature column, as scaled on the training part; then calendar columns of the step *after* x_i, since
//   the day to be forecast is what matters and is known.
//   target h   (y_{t+h} − base_h)/(σ·c): base_h is the latest known value at the same phase of the season, or the last
//   value; c the root mean square of (y − base)/σ over the training windows, so that targets are of unit size.
// A network that answers 0 is the seasonal naive forecast; what it learns is the improvement. Instance normalisation of this
// kind: Kim et al., "Reversible instance normalization", ICLR 2022.
//
// Invariants: a recipe is fitted on rows [0, train_end) alone and holds plain numbers; a window's inputs use rows before its
// origin only (and calendar columns, known ahead).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "data/calendar.h"
#include "data/series.h"
#include "data/windows.h"

namespace tabgrad {

// kWindow: μ, σ are each window's own. Otherwise they are those of a scaler fitted on the training part.
enum class Normalise { kWindow, kStandard, kMinMax, kNone };
// kDifference: base as above. kValue: base = μ.
enum class Predict { kDifference, kValue };
// "window", "standard", "minmax", "none"; "difference", "value". Throw Error on another word.
Normalise normalise_from(const std::string& word);
const char* normalise_name(Normalise normalise);
Predict predict_from(const std::string& word);
const char* predict_name(Predict predict);

struct WindowRecipe {
  std::int64_t window = 48, horizon = 12;
  std::int64_t season = 1;  // 1: none
  Normalise normalise = Normalise::kWindow;
  Predict predict = Predict::kDifference;
  Scaler target;                  // μ = offset, σ = scale, unless kWindow
  double least_spread = 1;        // kWindow: added to σ, as √(σ² + least²)
  double target_size = 1;         // c
  std::vector<Channel> features;  // feature columns, by name
  std::vector<CalendarFeature> calendar;

  std::int64_t calendar_channels() const;
  std::int64_t channels() const { return 2 + static_cast<std::int64_t>(features.size()) + calendar_channels(); }
};

struct RecipeChoices {
  std::int64_t window = 48, horizon = 12;
  std::int64_t season = 0;  // 0: found in the training part; 1: none
  Normalise normalise = Normalise::kWindow;
  Predict predict = Predict::kDifference;
  std::vector<CalendarFeature> calendar;
};
// Appends notices: the season found, constant columns. Throws Error when a season does not fit into the window or the
// training part holds no window.
WindowRecipe fit_recipe(const Series& series, std::int64_t train_end, const RecipeChoices& choices,
                        std::vector<std::string>* notices);

// Makes windows of one series. Scales features and makes calendar columns once, up to `horizon` steps past the end.
class WindowMaker {
 public:
  // Keeps a reference to the series. Throws Error when it lacks a feature column of the recipe.
  WindowMaker(const Series& series, WindowRecipe recipe);

  const WindowRecipe& recipe() const { return recipe_; }
  std::int64_t num_steps() const { return series_->num_steps(); }

  // Window at origin t in [W, num_steps]: inputs (W, channels), calendar columns of the steps to forecast (H, calendar).
  void inputs(std::int64_t origin, float* x, float* future) const;
  // Targets in the model's units (H). Needs origin + H ≤ num_steps.
  void targets(std::int64_t origin, float* y) const;
  // The model's outputs (H, Q) at an origin as values in the series' unit, in the same layout.
  void values(std::int64_t origin, std::int64_t quantiles, const float* outputs, double* out) const;

  struct Frame {
    double mean = 0, spread = 1;
  };
  Frame frame(std::int64_t origin) const;
  // What an answer of 0 stands for at step h (from 0) after the origin.
  double base(std::int64_t origin, std::int64_t h, const Frame& frame) const;

 private:
  const Series* series_;
  WindowRecipe recipe_;
  std::vector<float> features_;  // (T, features)
  std::vector<float> calendar_;  // (T + H, calendar)
};

}  // namespace tabgrad
