// Scalers, and the windows a model trains on.
//
// Does: fits one scaler a column on the training part, turns a Series into a float matrix, copies batches of windows out
// of it. Does not: shuffle, batch or know models.
//
// Invariants:
// - Scalers see rows [0, train_end) only. They are plain numbers, stored with the model.
// - A window is named by its origin t: inputs are rows [t-W, t), targets rows [t, t+H). All targets of a window lie inside
//   one part; inputs of validation and test windows may reach back into the part before, so that every point of a part is
//   forecast (as in use: the past is known).
// - Channel 0 is the target.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "data/series.h"

namespace tabgrad {

enum class ScalerKind { kNone, kStandard, kMinMax };
// "none", "standard", "minmax". Throws Error on another word.
ScalerKind scaler_kind_from(const std::string& word);
const char* scaler_kind_name(ScalerKind kind);

// z = (x - offset) / scale. scale 0 marks a column that is constant in training: z = 0 always, and back x = offset.
struct Scaler {
  ScalerKind kind = ScalerKind::kNone;
  double offset = 0, scale = 1;

  bool constant() const { return scale == 0; }
  double apply(double x) const { return constant() ? 0 : (x - offset) / scale; }
  double invert(double z) const { return offset + z * scale; }
};
// kStandard: mean and population standard deviation. kMinMax: [0, 1] over the training values. Needs one value at least.
Scaler fit_scaler(ScalerKind kind, std::span<const double> training);

struct Channel {
  std::string name;
  Scaler scaler;
  bool known_future = false;
};

// One channel for the target, then one a feature (calendar columns are not scaled). Appends a notice for each constant one.
std::vector<Channel> fit_channels(const Series& series, ScalerKind kind, std::int64_t train_end,
                                  std::vector<std::string>* notices);

struct ScaledSeries {
  std::vector<Channel> channels;
  std::int64_t num_steps = 0;
  std::vector<float> values;  // (T, F) row-major

  std::int64_t num_channels() const { return static_cast<std::int64_t>(channels.size()); }
  std::int64_t num_known_future() const;
};
// Throws Error when the series lacks a channel by name (a model used on another file) or a scaled value overflows float.
ScaledSeries scale_series(const Series& series, const std::vector<Channel>& channels);

// Windows whose targets lie in a part: origins first, first+1, …
struct WindowRange {
  std::int64_t first = 0, count = 0;
};
// count is 0 when the part [begin, end) is too short.
WindowRange window_range(std::int64_t begin, std::int64_t end, std::int64_t window, std::int64_t horizon);

struct WindowRanges {
  WindowRange train, validation, test;
};
// Throws Error with the numbers and what to lower when training or test has no window, or validation has none though the
// split gives it points.
WindowRanges window_ranges(const Split& split, std::int64_t window, std::int64_t horizon);

// Batches: B = origins.size().
void copy_inputs(const ScaledSeries& series, std::span<const std::int64_t> origins, std::int64_t window,
                 float* out);  // (B, W, F)
void copy_targets(const ScaledSeries& series, std::span<const std::int64_t> origins, std::int64_t horizon,
                  float* out);  // (B, H), scaled
// Known-future channels at the target's steps, in channel order. Needs t+H ≤ num_steps.
void copy_known_future(const ScaledSeries& series, std::span<const std::int64_t> origins, std::int64_t horizon,
                       float* out);  // (B, H, Fk)

}  // namespace tabgrad
