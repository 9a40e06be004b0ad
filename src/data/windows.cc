#include "data/windows.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/error.h"
#include "data/csv_dialect.h"

namespace tabgrad {
namespace {

// Relative spread below which a column counts as constant: rounding alone must not be blown up to unit scale.
constexpr double kConstantSpread = 1e-12;

}  // namespace

ScalerKind scaler_kind_from(const std::string& word) {
  if (word == "none") return ScalerKind::kNone;
  if (word == "standard") return ScalerKind::kStandard;
  if (word == "minmax") return ScalerKind::kMinMax;
  fail("Scaling: ", csv::excerpt(word), " is not a scaler. Choose standard, minmax or none.");
}

const char* scaler_kind_name(ScalerKind kind) {
  switch (kind) {
    case ScalerKind::kNone: return "none";
    case ScalerKind::kStandard: return "standard";
    case ScalerKind::kMinMax: return "minmax";
  }
  TG_CHECK(false);
}

Scaler fit_scaler(ScalerKind kind, std::span<const double> training) {
  TG_CHECK(!training.empty());
  Scaler scaler{kind, 0, 1};
  if (kind == ScalerKind::kNone) return scaler;
  const auto [low, high] = std::minmax_element(training.begin(), training.end());
  const double magnitude = std::max(std::fabs(*low), std::fabs(*high));
  if (*high / 2 - *low / 2 <= kConstantSpread * magnitude) return {kind, *low, 0};  // halves: the range may overflow
  if (kind == ScalerKind::kMinMax) {
    scaler.offset = *low;
    scaler.scale = *high - *low;
  } else {
    const double n = static_cast<double>(training.size());
    double mean = 0, variance = 0;
    for (double x : training) mean += x / n;
    for (double x : training) variance += (x - mean) * (x - mean) / n;
    scaler.offset = mean;
    scaler.scale = std::sqrt(variance);
  }
  if (!std::isfinite(scaler.scale))
    fail("Scaling: values up to ", magnitude, " are too large. Express the column in a larger unit.");
  return scaler;
}

std::vector<Channel> fit_channels(const Series& series, ScalerKind kind, std::int64_t train_end,
                                  std::vector<std::string>* notices) {
  TG_CHECK(train_end >= 1 && train_end <= series.num_steps());
  std::vector<Channel> channels;
  const auto add = [&](const std::string& name, const std::vector<double>& values, bool known_future) {
    const std::span<const double> training(values.data(), static_cast<std::size_t>(train_end));
    const Scaler scaler = fit_scaler(known_future ? ScalerKind::kNone : kind, training);
    if (scaler.constant()) {
      notices->push_back(
          str("Column '", name, "' is constant (", scaler.offset, ") in the training part; the model sees it as 0."));
    }
    channels.push_back({name, scaler, known_future});
  };
  add(series.target_name, series.target, false);
  for (const FeatureColumn& feature : series.features) add(feature.name, feature.values, feature.known_future);
  return channels;
}

std::int64_t ScaledSeries::num_known_future() const {
  return std::count_if(channels.begin(), channels.end(), [](const Channel& c) { return c.known_future; });
}

ScaledSeries scale_series(const Series& series, const std::vector<Channel>& channels) {
  TG_CHECK(!channels.empty());
  ScaledSeries scaled;
  scaled.channels = channels;
  scaled.num_steps = series.num_steps();
  const std::size_t steps = static_cast<std::size_t>(series.num_steps()), width = channels.size();
  scaled.values.resize(steps * width);
  for (std::size_t c = 0; c < width; ++c) {
    const std::vector<double>* values = c == 0 ? &series.target : nullptr;
    for (const FeatureColumn& feature : series.features) {
      if (c > 0 && feature.name == channels[c].name) values = &feature.values;
    }
    if (values == nullptr)
      fail(series.source, ": the model needs column '", channels[c].name, "', which this series does not have.");
    for (std::size_t t = 0; t < steps; ++t) {
      const double z = channels[c].scaler.apply((*values)[t]);
      if (std::fabs(z) > std::numeric_limits<float>::max()) {
        fail(series.source, ": column '", channels[c].name, "': ", (*values)[t], " at ",
             format_point(series.times[t], series.step),
             " is too large for the scale of the training part. Correct the value.");
      }
      scaled.values[t * width + c] = static_cast<float>(z);
    }
  }
  return scaled;
}

WindowRange window_range(std::int64_t begin, std::int64_t end, std::int64_t window, std::int64_t horizon) {
  WindowRange range;
  range.first = std::max(begin, window);
  range.count = std::max<std::int64_t>(0, end - horizon - range.first + 1);
  return range;
}

WindowRanges window_ranges(const Split& split, std::int64_t window, std::int64_t horizon) {
  if (window < 1 || horizon < 1) fail("Window and horizon must be at least 1; they are ", window, " and ", horizon, ".");
  const auto range = [&](std::int64_t begin, std::int64_t end, const char* part, std::int64_t needed) {
    const WindowRange r = window_range(begin, end, window, horizon);
    if (r.count == 0) {
      fail("The ", part, " part has ", end - begin, " of the series' ", split.test_end, " points, and needs ", needed,
           " for window ", window, " and horizon ", horizon,
           ". Lower the window or the horizon, change the split, or give a longer series.");
    }
    return r;
  };
  WindowRanges ranges;
  ranges.train = range(0, split.train_end, "training", window + horizon);
  if (split.validation_end > split.train_end)
    ranges.validation = range(split.train_end, split.validation_end, "validation", horizon);
  ranges.test = range(split.validation_end, split.test_end, "test", horizon);
  return ranges;
}

void copy_inputs(const ScaledSeries& series, std::span<const std::int64_t> origins, std::int64_t window, float* out) {
  const std::int64_t width = series.num_channels();
  for (std::int64_t origin : origins) {
    TG_CHECK(origin >= window && origin <= series.num_steps);
    out = std::copy_n(series.values.begin() + (origin - window) * width, window * width, out);
  }
}

void copy_targets(const ScaledSeries& series, std::span<const std::int64_t> origins, std::int64_t horizon, float* out) {
  const std::int64_t width = series.num_channels();
  for (std::int64_t origin : origins) {
    TG_CHECK(origin >= 0 && origin + horizon <= series.num_steps);
    for (std::int64_t h = 0; h < horizon; ++h) *out++ = series.values[static_cast<std::size_t>((origin + h) * width)];
  }
}

void copy_known_future(const ScaledSeries& series, std::span<const std::int64_t> origins, std::int64_t horizon, float* out) {
  const std::size_t width = series.channels.size();
  for (std::int64_t origin : origins) {
    TG_CHECK(origin >= 0 && origin + horizon <= series.num_steps);
    for (std::int64_t h = 0; h < horizon; ++h) {
      for (std::size_t c = 0; c < width; ++c) {
        if (series.channels[c].known_future) *out++ = series.values[static_cast<std::size_t>(origin + h) * width + c];
      }
    }
  }
}

}  // namespace tabgrad
