#include "train/normalise.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>

#include "base/error.h"
#include "data/season.h"

namespace tabgrad {
namespace {

// Keeps a flat window's noise from being blown up to unit size; too small to matter for others.
constexpr double kLeastSpreadRatio = 1e-3;

double spread_of(std::span<const double> x, double* mean) {
  const double n = static_cast<double>(x.size());
  double sum = 0, squares = 0;
  for (double v : x) sum += v / n;
  for (double v : x) squares += (v - sum) * (v - sum) / n;
  *mean = sum;
  return std::sqrt(squares);
}

ScalerKind column_scaler(Normalise normalise) {
  switch (normalise) {
    case Normalise::kWindow:
    case Normalise::kStandard: return ScalerKind::kStandard;
    case Normalise::kMinMax: return ScalerKind::kMinMax;
    case Normalise::kNone: return ScalerKind::kNone;
  }
  TG_CHECK(false);
}

std::int64_t season_for(const Series& series, std::int64_t train_end, const RecipeChoices& choices,
                        std::vector<std::string>* notices) {
  if (choices.season > choices.window) {
    fail("--season ", choices.season, " is longer than the window of ", choices.window,
         " steps: the seasonal value would lie outside it. Raise --window or lower --season.");
  }
  if (choices.season > 0) return choices.season;
  const std::span<const double> training(series.target.data(), static_cast<std::size_t>(train_end));
  const std::int64_t found = detect_season(training, series.step, choices.window);
  if (found > 1) {
    notices->push_back(str("Season found in the training part: ", found, " steps of ", to_string(series.step), "."));
  } else {
    notices->push_back(
        str("No season of up to ", choices.window, " steps found in the training part; forecasts start from the last value."));
  }
  return found;
}

}  // namespace

Normalise normalise_from(const std::string& word) {
  for (Normalise n : {Normalise::kWindow, Normalise::kStandard, Normalise::kMinMax, Normalise::kNone}) {
    if (word == normalise_name(n)) return n;
  }
  fail("normalisation '", word, "' is not known. Choose window, standard, minmax or none.");
}

const char* normalise_name(Normalise normalise) {
  switch (normalise) {
    case Normalise::kWindow: return "window";
    case Normalise::kStandard: return "standard";
    case Normalise::kMinMax: return "minmax";
    case Normalise::kNone: return "none";
  }
  TG_CHECK(false);
}

Predict predict_from(const std::string& word) {
  if (word == "difference") return Predict::kDifference;
  if (word == "value") return Predict::kValue;
  fail("prediction '", word, "' is not known. Choose difference or value.");
}

const char* predict_name(Predict predict) {
  switch (predict) {
    case Predict::kDifference: return "difference";
    case Predict::kValue: return "value";
  }
  TG_CHECK(false);
}

std::int64_t WindowRecipe::calendar_channels() const {
  return calendar.empty() ? 0 : static_cast<std::int64_t>(calendar_columns({0.0}, calendar).size());
}

WindowRecipe fit_recipe(const Series& series, std::int64_t train_end, const RecipeChoices& choices,
                        std::vector<std::string>* notices) {
  TG_CHECK(train_end >= 1 && train_end <= series.num_steps());
  WindowRecipe recipe;
  recipe.window = choices.window;
  recipe.horizon = choices.horizon;
  recipe.normalise = choices.normalise;
  recipe.predict = choices.predict;
  recipe.calendar = choices.calendar;
  std::vector<Channel> channels = fit_channels(series, column_scaler(choices.normalise), train_end, notices);
  recipe.target = channels.front().scaler;
  if (recipe.target.constant()) recipe.target.scale = 1;  // later values may still move
  recipe.features.assign(channels.begin() + 1, channels.end());
  recipe.season = season_for(series, train_end, choices, notices);

  double mean = 0;
  const double spread = spread_of({series.target.data(), static_cast<std::size_t>(train_end)}, &mean);
  recipe.least_spread = spread > 0 ? kLeastSpreadRatio * spread : 1;

  // c is measured with c = 1 in place.
  const WindowRange range = window_range(0, train_end, recipe.window, recipe.horizon);
  if (range.count == 0) {
    fail(series.source, ": the training part has ", train_end, " points, and needs ", recipe.window + recipe.horizon,
         " for window ", recipe.window, " and horizon ", recipe.horizon,
         ". Lower --window or --horizon, or give a longer series.");
  }
  const WindowMaker maker(series, recipe);
  double squares = 0;
  for (std::int64_t origin = range.first; origin < range.first + range.count; ++origin) {
    const WindowMaker::Frame frame = maker.frame(origin);
    for (std::int64_t h = 0; h < recipe.horizon; ++h) {
      const double r = (series.target[static_cast<std::size_t>(origin + h)] - maker.base(origin, h, frame)) / frame.spread;
      squares += r * r;
    }
  }
  const double size = std::sqrt(squares / static_cast<double>(range.count * recipe.horizon));
  if (!std::isfinite(size))
    fail(series.source, ": values of '", series.target_name, "' are too large. Express the column in a larger unit.");
  if (size > 0) recipe.target_size = size;
  return recipe;
}

WindowMaker::WindowMaker(const Series& series, WindowRecipe recipe) : series_(&series), recipe_(std::move(recipe)) {
  if (!recipe_.features.empty()) {
    Channel target{series.target_name, recipe_.target, false};
    std::vector<Channel> channels{target};
    channels.insert(channels.end(), recipe_.features.begin(), recipe_.features.end());
    const ScaledSeries scaled = scale_series(series, channels);
    const std::size_t width = recipe_.features.size();
    features_.resize(static_cast<std::size_t>(series.num_steps()) * width);
    for (std::size_t t = 0; t < static_cast<std::size_t>(series.num_steps()); ++t) {
      std::copy_n(scaled.values.begin() + static_cast<std::ptrdiff_t>(t * (width + 1) + 1), width,
                  features_.begin() + static_cast<std::ptrdiff_t>(t * width));
    }
  }
  if (!recipe_.calendar.empty()) {
    std::vector<double> times = series.times;
    const std::vector<double> next = series.future_times(recipe_.horizon);
    times.insert(times.end(), next.begin(), next.end());
    const std::vector<FeatureColumn> columns = calendar_columns(times, recipe_.calendar);
    calendar_.resize(times.size() * columns.size());
    for (std::size_t c = 0; c < columns.size(); ++c) {
      for (std::size_t t = 0; t < times.size(); ++t)
        calendar_[t * columns.size() + c] = static_cast<float>(columns[c].values[t]);
    }
  }
}

WindowMaker::Frame WindowMaker::frame(std::int64_t origin) const {
  TG_CHECK(origin >= recipe_.window && origin <= num_steps());
  if (recipe_.normalise != Normalise::kWindow) return {recipe_.target.offset, recipe_.target.scale};
  Frame frame;
  const double spread =
      spread_of({series_->target.data() + (origin - recipe_.window), static_cast<std::size_t>(recipe_.window)}, &frame.mean);
  frame.spread = std::hypot(spread, recipe_.least_spread);
  return frame;
}

double WindowMaker::base(std::int64_t origin, std::int64_t h, const Frame& frame) const {
  if (recipe_.predict == Predict::kValue) return frame.mean;
  const std::int64_t seasons_back = h / recipe_.season + 1;
  return series_->target[static_cast<std::size_t>(origin + h - seasons_back * recipe_.season)];
}

void WindowMaker::inputs(std::int64_t origin, float* x, float* future) const {
  const Frame f = frame(origin);
  const double* target = series_->target.data();
  const std::int64_t start = origin - recipe_.window, width = static_cast<std::int64_t>(recipe_.features.size());
  const std::int64_t columns =
      calendar_.empty() ? 0 : static_cast<std::int64_t>(calendar_.size()) / (num_steps() + recipe_.horizon);
  for (std::int64_t t = start; t < origin; ++t) {
    *x++ = static_cast<float>((target[t] - f.mean) / f.spread);
    *x++ = t - start < recipe_.season ? 0.0f : static_cast<float>((target[t] - target[t - recipe_.season]) / f.spread);
    x = std::copy_n(features_.data() + t * width, width, x);
    x = std::copy_n(calendar_.data() + (t + 1) * columns, columns, x);
  }
  std::copy_n(calendar_.data() + origin * columns, recipe_.horizon * columns, future);
}

void WindowMaker::targets(std::int64_t origin, float* y) const {
  TG_CHECK(origin + recipe_.horizon <= num_steps());
  const Frame f = frame(origin);
  for (std::int64_t h = 0; h < recipe_.horizon; ++h) {
    const double difference = series_->target[static_cast<std::size_t>(origin + h)] - base(origin, h, f);
    y[h] = static_cast<float>(difference / (f.spread * recipe_.target_size));
  }
}

void WindowMaker::values(std::int64_t origin, std::int64_t quantiles, const float* outputs, double* out) const {
  const Frame f = frame(origin);
  for (std::int64_t h = 0; h < recipe_.horizon; ++h) {
    const double zero = base(origin, h, f);
    for (std::int64_t q = 0; q < quantiles; ++q)
      *out++ = zero + static_cast<double>(*outputs++) * f.spread * recipe_.target_size;
  }
}

}  // namespace tabgrad
