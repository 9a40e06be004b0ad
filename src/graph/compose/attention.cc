// Scaled dot-product attention (Vaswani et al. 2017) over packed projections, with grouped key/value heads.
#include <cmath>

#include "graph/compose/composite_rules.h"

namespace tabgrad {

Tensor attention(Tensor qkv, AttentionOptions options) {
  CompositeAttrs attrs;
  attrs.heads = options.heads;
  attrs.kv_heads = options.kv_heads;
  attrs.causal = options.causal;
  const double d = static_cast<double>(qkv.dim(-1)) / (options.heads + 2 * options.kv_heads);
  attrs.scale = static_cast<float>(1.0 / std::sqrt(d));
  return add_composite(Composite::kAttention, {qkv}, attrs);
}

std::vector<Tensor> decompose_attention(const Node& node, const std::vector<Tensor>& in) {
  const Tensor qkv = in[0];
  const std::int64_t b = qkv.dim(0), t = qkv.dim(1), h = node.attrs.heads, kv = node.attrs.kv_heads;
  const std::int64_t d = qkv.dim(2) / (h + 2 * kv);
  // (B,T,n·D) → (B,n,T,D), key/value heads repeated so that query head i reads head i/(H/KV), → (B·H,T,D)
  auto heads = [&](std::int64_t first, std::int64_t count) {
    Tensor x = permute(reshape(slice(qkv, 2, first * d, (first + count) * d), {b, t, count, d}), {0, 2, 1, 3});
    if (count < h) x = expand(reshape(x, {b, count, 1, t, d}), {b, count, h / count, t, d});
    return reshape(x, {b * h, t, d});
  };
  const Tensor q = heads(0, h), k = heads(h, kv), v = heads(h + kv, kv);
  Tensor scores = matmul(q, k, false, true) * static_cast<double>(node.attrs.scale);
  if (node.attrs.causal) {
    // A large finite mask: GPU languages have no infinity.
    const Tensor future = less(iota(*qkv.graph, {1, t, t}, 1), iota(*qkv.graph, {1, t, t}, 2));
    scores = select(future, constant(*qkv.graph, -1e30), scores);
  }
  const Tensor top = max(scores, {2}, true);
  const Tensor e = exp(scores - top);
  const Tensor total = sum(e, {2}, true);
  const Tensor out = matmul(e / total, v);
  return {reshape(permute(reshape(out, {b, h, t, d}), {0, 2, 1, 3}), {b, t, h * d}), reshape(top + log(total), {b, h, t})};
}

}  // namespace tabgrad
