#include "models/gpt.h"

#include <cmath>

#include "nn/module.h"
#include "nn/train_step.h"
#include "nn/transformer.h"

namespace tabgrad {
namespace {

void check_gpt(const GptConfig& c) {
  if (c.layers < 1 || c.width < 1 || c.heads < 1 || c.context < 1 || c.batch < 1 || c.vocabulary < 1)
    fail("[gpt] '", c.name, "': layers, width, heads, context, batch and vocabulary must all be at least 1");
  if (c.width % c.heads != 0) fail("[gpt] '", c.name, "': ", c.heads, " heads do not divide the width ", c.width);
}

// Mean negative log-likelihood of targets (B,T) given tokens (B,T).
Tensor gpt_loss(Builder& b, const GptConfig& c) {
  Graph& g = b.graph();
  const Tensor tokens = input(g, "tokens", {c.batch, c.context}, Role::kInput, DType::kI32);
  const Tensor targets = input(g, "targets", {c.batch, c.context}, Role::kInput, DType::kI32);
  const Init init = Init::normal(0.02);
  const Init residual = Init::normal(0.02 / std::sqrt(2.0 * static_cast<double>(c.layers)));

  const Tensor token_embedding = b.param("tok_emb.w", {c.vocabulary, c.width}, init, true);
  const Tensor position_embedding = b.param("pos_emb.w", {c.context, c.width}, init, true);
  Tensor x;  // (B,T,d)
  {
    const Layer layer(b, "embedding");
    x = gather(token_embedding, tokens) + position_embedding;
  }
  for (std::int64_t l = 0; l < c.layers; ++l)
    x = transformer_block(b, str("h", l), x, {.heads = static_cast<int>(c.heads), .init = init, .residual_init = residual});
  const Layer layer(b, "head");
  x = b.layer_norm("ln_f", x);
  const Tensor logits = matmul(x, token_embedding, false, true);  // (B,T,V)
  return mean(cross_entropy(logits, targets), {0, 1});
}

}  // namespace

const std::vector<GptConfig>& gpt_presets() {
  static const std::vector<GptConfig> presets{
      // name, layers, width, heads, context, batch
      {"tiny", 2, 48, 3, 32, 16}, {"small", 3, 96, 3, 64, 16},  {"medium", 4, 128, 4, 96, 16},    {"large", 6, 192, 6, 128, 12},
      {"xl", 8, 256, 8, 128, 8},  {"huge", 12, 256, 8, 256, 8}, {"massive", 14, 384, 12, 256, 4}, {"mega", 14, 384, 12, 512, 2},
  };
  return presets;
}

const GptConfig& gpt_preset(const std::string& name) {
  std::string known;
  for (const GptConfig& preset : gpt_presets()) {
    if (preset.name == name) return preset;
    known += (known.empty() ? "" : ", ") + preset.name;
  }
  fail("--preset '", name, "' is not known; there are: ", known);
}

OptimizerConfig gpt_optimizer() {
  OptimizerConfig config;
  config.kind = OptimizerConfig::Kind::kAdamW;
  config.beta1 = 0.9;
  config.beta2 = 0.95;
  config.eps = 1e-8;
  config.weight_decay = 0.1;
  return config;
}

BuiltModel build_gpt(const GptConfig& config, const OptimizerConfig& optimizer, double clip_norm) {
  check_gpt(config);
  BuiltModel model;
  for (const bool training : {true, false}) {
    Graph g;
    Builder b(g, training);
    const Tensor loss = gpt_loss(b, config);
    g.outputs.push_back({training ? "loss" : "eval.loss", loss.value});
    if (training) {
      model.parameters = b.parameters();
      add_training(g, loss, model.parameters, optimizer, clip_norm);
    }
    model.entries.push_back({training ? "train_step" : "evaluate", std::move(g)});
  }
  return model;
}

BuiltModel build_gpt_gradients(const GptConfig& config) {
  check_gpt(config);
  BuiltModel model;
  Graph g;
  Builder b(g, true);
  const Tensor loss = gpt_loss(b, config);
  model.parameters = b.parameters();
  g.outputs.push_back({"loss", loss.value});
  add_gradient_outputs(g, loss, model.parameters);
  model.entries.push_back({"gradients", std::move(g)});
  return model;
}

std::int64_t gpt_parameter_count(const GptConfig& c) {
  return c.layers * (12 * c.width * c.width + 13 * c.width) + (c.vocabulary + c.context + 2) * c.width;
}

double gpt_step_flops(const GptConfig& c) {
  const auto layers = static_cast<double>(c.layers), d = static_cast<double>(c.width), t = static_cast<double>(c.context);
  const double tokens = static_cast<double>(c.batch) * t;
  return 6.0 * tokens * (12.0 * layers * d * d + static_cast<double>(c.vocabulary) * d) + 6.0 * layers * tokens * (t + 1.0) * d;
}

}  // namespace tabgrad
