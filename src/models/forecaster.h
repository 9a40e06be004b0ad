// Forecasters: LSTM, GRU and causal Transformer over a window of a time series, with one head that answers all H steps of the
// horizon at once (direct multi-step).
//
// Does: checks a configuration, builds the graphs train_step, evaluate and predict. Does not: know series, scaling, baselines:
// everything here is in normalised units (the trainer turns windows into inputs, and forecasts back).
//
// Entries (B = batch in train_step, eval_batch in the others; W window, H horizon, C channels, F future_channels, Q quantiles):
//   train_step  in  x (B,W,C), future (B,H,F) where F > 0, target (B,H), weight (B)
//               out loss, grad_norm; updates parameters and optimizer state (nn/train_step.h names the uniforms)
//   evaluate    in  eval.x, eval.future, eval.target, eval.weight
//               out eval.loss = Σ weight·l (a sum, so that batches add up), forecast
//   predict     in  eval.x, eval.future; out forecast: (B,H), or (B,H,Q) with quantiles
// l of a sample is its loss averaged over the horizon (and the quantiles). train_step's loss = Σ weight·l / Σ weight: weight 0
// marks a padding row; one weight at least must be above 0.
//
// Invariants:
// - The output layer starts at zero, so an untrained model forecasts 0 everywhere: the trainer's baseline.
// - All entries share the parameters. Dropout is in train_step only.
#pragma once

#include <string>
#include <vector>

#include "models/built_model.h"

namespace tabgrad {

enum class ForecasterKind : unsigned char { kLstm, kGru, kTransformer };
// "lstm", "gru", "transformer". Throws Error on another word.
ForecasterKind forecaster_kind_from(const std::string& word);
const char* forecaster_kind_name(ForecasterKind kind);

enum class LossKind : unsigned char { kMse, kMae, kHuber, kQuantile };
// "mse", "mae", "huber", "quantile". Throws Error on another word.
LossKind loss_kind_from(const std::string& word);
const char* loss_kind_name(LossKind kind);

struct ForecasterConfig {
  ForecasterKind kind = ForecasterKind::kLstm;
  std::int64_t window = 48, horizon = 1;
  std::int64_t channels = 1;  // numbers given for each step of the window
  std::int64_t future_channels = 0;  // numbers known of each step to forecast (calendar); may be 0
  std::int64_t units = 64;  // hidden units of a recurrent layer; width of the Transformer
  std::int64_t layers = 1;
  std::int64_t heads = 4;  // Transformer: must divide units
  double dropout = 0.1;
  bool gru_reset_after = true;  // false: the reset gate acts before the matrix product, as in Cho et al. 2014
  std::int64_t head_units = 64;  // hidden units of the head
  LossKind loss = LossKind::kMse;
  double huber_delta = 1.0;
  std::vector<double> quantiles;  // with kQuantile only: ascending, in (0,1), e.g. {.1,.5,.9}
};

// The defaults of a kind: recurrent nets have 1 layer of 64 units, the Transformer 2 layers of 32 units with 4 heads.
ForecasterConfig default_forecaster(ForecasterKind kind);

// Throws Error naming the option, the value and what is allowed.
void check_forecaster(const ForecasterConfig& config);

// Checks the configuration. clip_norm 0: no clipping.
BuiltModel build_forecaster(const ForecasterConfig& config, std::int64_t batch, std::int64_t eval_batch,
                            const OptimizerConfig& optimizer, double clip_norm);

}  // namespace tabgrad
