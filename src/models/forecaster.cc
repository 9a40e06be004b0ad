#include "models/forecaster.h"

#include <cmath>

#include "nn/module.h"
#include "nn/recurrent.h"
#include "nn/train_step.h"
#include "nn/transformer.h"

namespace tabgrad {
namespace {

// x (B,W,C) → the last hidden state of the last layer (B,U). Dropout between layers.
Tensor recurrent_encoder(Builder& b, const ForecasterConfig& c, Tensor x) {
  const bool lstm = c.kind == ForecasterKind::kLstm;
  const RecurrentOptions options{
      .cell = lstm ? CellKind::kLstm : CellKind::kGru, .units = c.units, .gru_reset_after = c.gru_reset_after};
  Tensor h = permute(x, {1, 0, 2});
  for (std::int64_t l = 0; l < c.layers; ++l) {
    if (l > 0) h = b.dropout(h, c.dropout);
    h = recurrent_layer(b, str(lstm ? "lstm" : "gru", l), h, options).h;
  }
  return reshape(slice(h, 0, c.window - 1, c.window), {x.dim(0), c.units});
}

// x (B,W,C) → the last token after the last block (B,U).
Tensor transformer_encoder(Builder& b, const ForecasterConfig& c, Tensor x) {
  Tensor h;
  {
    const Layer layer(b, "input");
    const Tensor positions = b.param("positions", {c.window, c.units}, Init::normal(0.02), true);
    h = b.dropout(b.linear("input", x, c.units, Init::glorot_uniform()) + positions, c.dropout);
  }
  BlockOptions block;
  block.heads = {.query = static_cast<int>(c.heads), .key = static_cast<int>(c.heads)};
  block.init = Init::glorot_uniform();
  block.residual_init = Init::glorot_uniform();
  block.dropout = c.dropout;
  for (std::int64_t l = 0; l < c.layers; ++l) {
    block.last_token_only = l + 1 == c.layers;
    h = transformer_block(b, str("h", l), h, block);
  }
  const Layer layer(b, "ln_f");
  return reshape(norm(b, "ln_f", h, NormKind::kLayerNorm, block.norm_eps), {x.dim(0), c.units});
}

// h (B,U), future (B,H,F) → (B,H,Q): one small network for all steps of the horizon, told apart by a bias each and by what is
// known of them: dense(gelu(h·A + a + future·C + e_step)). The last layer starts at zero.
Tensor head(Builder& b, const ForecasterConfig& c, Tensor h, Tensor future) {
  const Layer layer(b, "head");
  const auto fan_bound = [](std::int64_t in) { return Init::uniform(1.0 / std::sqrt(static_cast<double>(in))); };
  Tensor hidden = b.linear("head.in", b.dropout(h, c.dropout), c.head_units, fan_bound(c.units));
  hidden = reshape(hidden, {h.dim(0), 1, c.head_units});
  if (c.horizon > 1) hidden = hidden + b.param("head.steps", {c.horizon, c.head_units}, Init::normal(0.1), true);
  if (future.graph)
    hidden = hidden +
             matmul(future, b.param("head.future.w", {c.future_channels, c.head_units}, fan_bound(c.future_channels), true));
  const std::int64_t outputs = c.quantiles.empty() ? 1 : static_cast<std::int64_t>(c.quantiles.size());
  return b.linear("head.out", b.dropout(gelu(hidden), c.dropout), outputs, Init::zeros());
}

// (B,H) or, with quantiles, (B,H,Q).
Tensor forecast(Builder& b, const ForecasterConfig& c, Tensor x, Tensor future) {
  const Tensor h = c.kind == ForecasterKind::kTransformer ? transformer_encoder(b, c, x) : recurrent_encoder(b, c, x);
  const Tensor y = head(b, c, h, future);
  return c.quantiles.empty() ? reshape(y, {x.dim(0), c.horizon}) : y;
}

// Each sample's loss (B), averaged over the horizon and the quantiles.
Tensor sample_losses(const ForecasterConfig& c, Tensor y, Tensor target) {
  switch (c.loss) {
    case LossKind::kMse: return mean(mse_loss(y, target), {1});
    case LossKind::kMae: return mean(mae_loss(y, target), {1});
    case LossKind::kHuber: return mean(huber_loss(y, target, c.huber_delta), {1});
    case LossKind::kQuantile: break;
  }
  Tensor total;
  for (std::size_t q = 0; q < c.quantiles.size(); ++q) {
    const auto at = static_cast<std::int64_t>(q);
    const Tensor loss = quantile_loss(reshape(slice(y, 2, at, at + 1), target.dims()), target, c.quantiles[q]);
    total = total.graph ? total + loss : loss;
  }
  return mean(total, {1}) / static_cast<double>(c.quantiles.size());
}

void need_range(const char* option, std::int64_t value, std::int64_t low, std::int64_t high) {
  if (value < low || value > high) fail(option, " must be from ", low, " to ", high, ", got ", value);
}

}  // namespace

ForecasterKind forecaster_kind_from(const std::string& word) {
  if (word == "lstm") return ForecasterKind::kLstm;
  if (word == "gru") return ForecasterKind::kGru;
  if (word == "transformer") return ForecasterKind::kTransformer;
  fail("--model '", word, "' is not known; there are: lstm, gru, transformer");
}

const char* forecaster_kind_name(ForecasterKind kind) {
  switch (kind) {
    case ForecasterKind::kLstm: return "lstm";
    case ForecasterKind::kGru: return "gru";
    case ForecasterKind::kTransformer: return "transformer";
  }
  TG_CHECK(false);
}

LossKind loss_kind_from(const std::string& word) {
  if (word == "mse") return LossKind::kMse;
  if (word == "mae") return LossKind::kMae;
  if (word == "huber") return LossKind::kHuber;
  if (word == "quantile") return LossKind::kQuantile;
  fail("--loss '", word, "' is not known; there are: mse, mae, huber, quantile");
}

const char* loss_kind_name(LossKind kind) {
  switch (kind) {
    case LossKind::kMse: return "mse";
    case LossKind::kMae: return "mae";
    case LossKind::kHuber: return "huber";
    case LossKind::kQuantile: return "quantile";
  }
  TG_CHECK(false);
}

ForecasterConfig default_forecaster(ForecasterKind kind) {
  ForecasterConfig config;
  config.kind = kind;
  if (kind == ForecasterKind::kTransformer) {
    config.units = 32;
    config.layers = 2;
  }
  return config;
}

void check_forecaster(const ForecasterConfig& c) {
  // The upper bounds keep sizes far from overflow; memory runs out long before.
  need_range("--window", c.window, 1, 100'000);
  need_range("--horizon", c.horizon, 1, 10'000);
  need_range("input channels", c.channels, 1, 10'000);
  need_range("future channels", c.future_channels, 0, 10'000);
  need_range("--units", c.units, 1, 4096);
  need_range("--layers", c.layers, 1, 64);
  need_range("head units", c.head_units, 1, 4096);
  if (c.kind == ForecasterKind::kTransformer) {
    need_range("--heads", c.heads, 1, c.units);
    if (c.units % c.heads != 0) fail("--heads must divide --units: ", c.heads, " does not divide ", c.units);
  }
  if (!(c.dropout >= 0.0 && c.dropout < 1.0)) fail("--dropout must be at least 0 and below 1, got ", c.dropout);
  if (c.loss == LossKind::kHuber && !(c.huber_delta > 0.0 && std::isfinite(c.huber_delta)))
    fail("--huber-delta must be above 0, got ", c.huber_delta);
  if ((c.loss == LossKind::kQuantile) != !c.quantiles.empty())
    fail("--quantiles and --loss quantile go together: got ", c.quantiles.size(), " quantiles with loss '",
         loss_kind_name(c.loss), "'");
  for (std::size_t i = 0; i < c.quantiles.size(); ++i)
    if (!(c.quantiles[i] > (i == 0 ? 0.0 : c.quantiles[i - 1]) && c.quantiles[i] < 1.0))
      fail("--quantiles must ascend and lie between 0 and 1, got ", c.quantiles[i], " at position ", i + 1);
}

BuiltModel build_forecaster(const ForecasterConfig& config, std::int64_t batch, std::int64_t eval_batch,
                            const OptimizerConfig& optimizer, double clip_norm) {
  check_forecaster(config);
  need_range("--batch", batch, 1, 1'000'000);
  need_range("evaluation batch", eval_batch, 1, 1'000'000);
  BuiltModel model;
  for (const char* entry : {"train_step", "evaluate", "predict"}) {
    const bool training = entry == std::string("train_step"), predict = entry == std::string("predict");
    const std::string prefix = training ? "" : "eval.";
    const std::int64_t rows = training ? batch : eval_batch;
    Graph g;
    Builder b(g, training);
    const Tensor x = input(g, prefix + "x", {rows, config.window, config.channels});
    Tensor future;
    if (config.future_channels > 0) future = input(g, prefix + "future", {rows, config.horizon, config.future_channels});
    const Tensor y = forecast(b, config, x, future);
    if (!training) g.outputs.push_back({"forecast", y.value});
    if (!predict) {
      g.scope = "loss";
      const Tensor target = input(g, prefix + "target", {rows, config.horizon});
      const Tensor weight = input(g, prefix + "weight", {rows});
      Tensor loss = sum(weight * sample_losses(config, y, target), {0});
      if (training) loss = loss / sum(weight, {0});
      g.scope.clear();
      g.outputs.push_back({prefix + "loss", loss.value});
      if (training) {
        model.parameters = b.parameters();
        add_training(g, loss, model.parameters, optimizer, clip_norm);
      }
    }
    model.entries.push_back({entry, std::move(g)});
  }
  return model;
}

}  // namespace tabgrad
