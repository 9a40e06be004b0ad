#include "models/gpt.h"

#include <cmath>

#include "nn/module.h"

namespace tabgrad {
namespace {

Heads heads_of(const GptConfig& c) {
  return {.query = static_cast<int>(c.heads), .key = static_cast<int>(c.kv_heads > 0 ? c.kv_heads : c.heads)};
}

// sin in the first half of the columns, cos in the second: position·10000^(−2i/d) (Vaswani et al. 2017).
HostTensor sinusoidal_table(std::int64_t positions, std::int64_t width) {
  const RopeTables tables = rope_tables(positions, width);
  HostTensor table = HostTensor::zeros({positions, width});
  const std::int64_t half = width / 2;
  for (std::int64_t p = 0; p < positions; ++p)
    for (std::int64_t i = 0; i < half; ++i) {
      const auto from = static_cast<std::size_t>(p * half + i), to = static_cast<std::size_t>(p * width + i);
      table.f32[to] = tables.sin.f32[from];
      table.f32[to + static_cast<std::size_t>(half)] = tables.cos.f32[from];
    }
  return table;
}

// The model's body, shared by all entries. They differ in where a token stands and in what attention attends to.
class Body {
 public:
  // position: i32 (1), where the only token stands; invalid: tokens stand at 0 … T−1.
  Body(Builder& b, const GptConfig& c, Tensor position) : b_(b), c_(c), position_(position) {}

  using Mix = std::function<Tensor(const std::string& layer, Tensor qkv)>;
  // tokens (B,T) → the last norm's output (B,T,d).
  Tensor hidden(Tensor tokens, const Mix& mix) {
    const Init init = Init::normal(0.02);
    embedding_ = b_.param("tok_emb.w", {c_.vocabulary, c_.width}, init, true);
    Tensor x;
    {
      const Layer layer(b_, "embedding");
      x = gather(embedding_, tokens);
      if (c_.positions == PositionKind::kLearned) x = x + rows(b_.param("pos_emb.w", {c_.context, c_.width}, init, true));
      if (c_.positions == PositionKind::kSinusoidal)
        x = x + rows(literal(b_.graph(), "sinusoidal", sinusoidal_table(c_.context, c_.width)));
      x = b_.dropout(x, c_.dropout);
    }
    BlockOptions block{.heads = heads_of(c_),
                       .init = init,
                       .residual_init = Init::normal(0.02 / std::sqrt(2.0 * static_cast<double>(c_.layers))),
                       .dropout = c_.dropout,
                       .norm = c_.norm,
                       .norm_eps = c_.norm_eps,
                       .mlp = c_.mlp,
                       .mlp_width = c_.mlp_width,
                       .qk_norm = c_.qk_norm};
    if (c_.positions == PositionKind::kRope) {
      RopeTables tables = rope_tables(c_.context, c_.width / c_.heads);
      block.rope_cos = rows(literal(b_.graph(), "rope_cos", std::move(tables.cos)));
      block.rope_sin = rows(literal(b_.graph(), "rope_sin", std::move(tables.sin)));
    }
    for (std::int64_t l = 0; l < c_.layers; ++l) {
      const std::string name = str("h", l);
      block.mix = mix ? [&](Tensor qkv) { return mix(name, qkv); } : std::function<Tensor(Tensor)>();
      x = transformer_block(b_, name, x, block);
    }
    const Layer layer(b_, "head");
    return norm(b_, "ln_f", x, c_.norm, c_.norm_eps);
  }

  // (…,d) → (…,V)
  Tensor logits(Tensor hidden) {
    const Layer layer(b_, "head");
    const Tensor head = c_.tied ? embedding_ : b_.param("head.w", {c_.vocabulary, c_.width}, Init::normal(0.02), true);
    return matmul(hidden, head, false, true);
  }

 private:
  // The rows of a table (T,·) at which the tokens stand.
  Tensor rows(Tensor table) const { return position_.graph ? gather(table, position_) : table; }

  Builder& b_;
  const GptConfig& c_;
  Tensor position_, embedding_;
};

Body::Mix plain_mix(const GptConfig& c) {
  if (c.positions != PositionKind::kAlibi) return {};
  return [heads = heads_of(c)](const std::string&, Tensor qkv) { return alibi_attention(qkv, heads); };
}

}  // namespace

OptimizerConfig gpt_optimizer() {
  OptimizerConfig config;
  config.kind = OptimizerConfig::Kind::kAdamW;
  config.beta1 = 0.9;
  config.beta2 = 0.95;
  config.eps = 1e-8;
  config.weight_decay = 0.1;
  return config;
}

LogitsOf gpt_logits(const GptConfig& c) {
  return [c](Builder& b, Tensor tokens) {
    Body body(b, c, {});
    return body.logits(body.hidden(tokens, plain_mix(c)));
  };
}

BuiltModel build_gpt(const GptConfig& config, const OptimizerConfig& optimizer, double clip_norm, std::int64_t accumulate) {
  check_gpt(config);
  return lm_training_entries(config, gpt_logits(config), optimizer, clip_norm, accumulate);
}

BuiltModel build_gpt_generation(const GptConfig& c, bool for_sampling) {
  check_gpt(c);
  BuiltModel model;
  const Heads heads = heads_of(c);
  const bool alibi = c.positions == PositionKind::kAlibi;
  {
    Graph g;
    Builder b(g, false);
    const Tensor tokens = input(g, "prefill.tokens", {1, c.context}, Role::kInput, DType::kI32);
    const Tensor last = input(g, "prefill.last", {1}, Role::kInput, DType::kI32);
    Body body(b, c, {});
    const Tensor x = body.hidden(
        tokens, [&](const std::string& layer, Tensor qkv) { return attend_and_fill_cache(layer, qkv, heads, alibi); });
    give_logits(g, "prefill", body.logits(gather(reshape(x, {c.context, c.width}), last)), for_sampling);
    model.parameters = b.parameters();
    model.entries.push_back({"prefill", std::move(g)});
  }
  Graph g;
  Builder b(g, false);
  const Tensor token = input(g, "decode.token", {1, 1}, Role::kInput, DType::kI32);
  const Tensor position = input(g, "decode.position", {1}, Role::kInput, DType::kI32);
  Body body(b, c, position);
  const Tensor x = body.hidden(token, [&](const std::string& layer, Tensor qkv) {
    return attend_to_cache(layer, qkv, heads, c.context, position, alibi);
  });
  give_logits(g, "decode", body.logits(x), for_sampling);
  model.entries.push_back({"decode", std::move(g)});
  return model;
}

BuiltModel build_gpt_attention(const GptConfig& c, std::int64_t layer) {
  check_gpt(c);
  TG_CHECK(layer >= 0 && layer < c.layers);
  BuiltModel model;
  Graph g;
  Builder b(g, false);
  const Tensor tokens = input(g, "attention.tokens", {1, c.context}, Role::kInput, DType::kI32);
  const Heads heads = heads_of(c);
  const bool alibi = c.positions == PositionKind::kAlibi;
  Tensor weights;
  Body body(b, c, {});
  body.hidden(tokens, [&](const std::string& name, Tensor qkv) {
    if (name == str("h", layer)) weights = attention_weights(qkv, heads, alibi);
    return alibi ? alibi_attention(qkv, heads) : attention(qkv, {.heads = heads.query, .kv_heads = heads.key, .causal = true});
  });
  g.outputs.push_back({"attention.weights", reshape(weights, {c.heads, c.context, c.context}).value});
  model.parameters = b.parameters();
  model.entries.push_back({"attention", std::move(g)});
  return model;
}

BuiltModel build_gpt_gradients(const GptConfig& config) {
  check_gpt(config);
  return lm_gradients_entry(config, gpt_logits(config));
}

std::vector<ParameterSpec> gpt_parameters(const GptConfig& config) {
  check_gpt(config);
  return lm_parameter_list(config, gpt_logits(config));
}

std::int64_t gpt_parameter_count(const GptConfig& config) { return parameter_count(gpt_parameters(config)); }

}  // namespace tabgrad
