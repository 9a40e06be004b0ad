#include "nn/transformer.h"

#include <cmath>
#include <numbers>

#include "graph/compose/compose.h"

namespace tabgrad {
namespace {

Tensor last_token(Tensor x) { return slice(x, 1, x.dim(1) - 1, x.dim(1)); }  // (B,T,d) → (B,1,d)

// x/2·(1 + tanh(√(2/π)·(x + 0.044715·x³))) (Hendrycks & Gimpel 2016)
Tensor gelu_tanh(Tensor x) {
  return x * 0.5 * (tanh((x + x * x * x * 0.044715) * std::sqrt(2.0 * std::numbers::inv_pi)) + 1.0);
}

// Queries and keys normed and turned where the options ask for it.
Tensor prepare_heads(Builder& b, const std::string& name, Tensor qkv, const BlockOptions& o) {
  if (!o.qk_norm && !o.rope_cos.graph) return qkv;
  SplitHeads parts = split_heads(qkv, o.heads);
  if (o.qk_norm) {
    parts.q = norm(b, name + ".attn.q_norm", parts.q, NormKind::kRmsNorm, o.norm_eps);
    parts.k = norm(b, name + ".attn.k_norm", parts.k, NormKind::kRmsNorm, o.norm_eps);
  }
  if (o.rope_cos.graph) {
    parts.q = rotate(parts.q, o.rope_cos, o.rope_sin);
    parts.k = rotate(parts.k, o.rope_cos, o.rope_sin);
  }
  return pack_heads(parts);
}

Tensor mlp(Builder& b, const std::string& name, Tensor x, const BlockOptions& o) {
  const std::int64_t d = x.dim(-1), width = o.mlp_width > 0 ? o.mlp_width : 4 * d;
  Tensor h = b.linear(name + ".mlp.fc", x, o.mlp == MlpKind::kSwiglu ? 2 * width : width, o.init);
  switch (o.mlp) {
    case MlpKind::kGelu: h = gelu(h); break;
    case MlpKind::kGeluTanh: h = gelu_tanh(h); break;
    case MlpKind::kSwiglu: h = silu(slice(h, 2, 0, width)) * slice(h, 2, width, 2 * width); break;
    case MlpKind::kRelu2: h = relu(h) * relu(h); break;
  }
  return b.linear(name + ".mlp.out", h, d, o.residual_init);
}

}  // namespace

Tensor norm(Builder& b, const std::string& name, Tensor x, NormKind kind, double eps) {
  const Tensor gain = b.param(name + ".g", {x.dim(-1)}, Init::ones(), false);
  if (kind == NormKind::kRmsNorm) return rms_norm(x, gain, eps);
  return layer_norm(x, gain, b.param(name + ".b", {x.dim(-1)}, Init::zeros(), false), eps);
}

Tensor transformer_block(Builder& b, const std::string& name, Tensor x, const BlockOptions& o) {
  const std::int64_t width = x.dim(-1), head = width / o.heads.query;
  {
    const Layer layer(b, name + ".attn");
    Tensor qkv = b.linear(name + ".attn.qkv", norm(b, name + ".ln1", x, o.norm, o.norm_eps),
                          (o.heads.query + 2 * o.heads.key) * head, o.init);
    qkv = prepare_heads(b, name, qkv, o);
    Tensor mixed = o.mix ? o.mix(qkv) : attention(qkv, {.heads = o.heads.query, .kv_heads = o.heads.key, .causal = true});
    if (o.last_token_only) {
      mixed = last_token(mixed);
      x = last_token(x);
    }
    x = x + b.dropout(b.linear(name + ".attn.proj", mixed, width, o.residual_init), o.dropout);
  }
  const Layer layer(b, name + ".mlp");
  return x + b.dropout(mlp(b, name, norm(b, name + ".ln2", x, o.norm, o.norm_eps), o), o.dropout);
}

}  // namespace tabgrad
