#include "nn/attention.h"

#include <cmath>

#include "graph/compose/compose.h"

namespace tabgrad {
namespace {

constexpr double kMasked = -1e30;  // finite: GPU languages have no infinity
constexpr double kRopeBase = 10000.0;

std::int64_t head_dim(Tensor qkv, Heads heads) { return qkv.dim(2) / (heads.query + 2 * heads.key); }

// (1,H,1): 2^(−8(h+1)/H)
Tensor alibi_slopes(Graph& g, std::int64_t heads) {
  return exp((iota(g, {1, heads, 1}, 1) + 1.0) * (-8.0 * std::log(2.0) / static_cast<double>(heads)));
}

// x (1,T,KV,D) → (KV,T,D)
Tensor by_head(Tensor x) { return reshape(permute(x, {0, 2, 1, 3}), {x.dim(2), x.dim(1), x.dim(3)}); }

// x (B,T,n,D) → (B·H,T,D), key heads repeated
Tensor stacked(Tensor x, std::int64_t heads) {
  const std::int64_t b = x.dim(0), t = x.dim(1), n = x.dim(2), d = x.dim(3);
  Tensor y = permute(x, {0, 2, 1, 3});
  if (n < heads) y = expand(reshape(y, {b, n, 1, t, d}), {b, n, heads / n, t, d});
  return reshape(y, {b * heads, t, d});
}

struct Cache {
  Tensor k, v;
};
Cache cache_of(Graph& g, const std::string& layer, const Dims& dims) {
  return {input(g, "cache." + layer + ".k", dims, Role::kState), input(g, "cache." + layer + ".v", dims, Role::kState)};
}

}  // namespace

SplitHeads split_heads(Tensor qkv, Heads heads) {
  const std::int64_t d = head_dim(qkv, heads);
  const auto part = [&](std::int64_t first, std::int64_t count) {
    return reshape(slice(qkv, 2, first * d, (first + count) * d), {qkv.dim(0), qkv.dim(1), count, d});
  };
  return {part(0, heads.query), part(heads.query, heads.key), part(heads.query + heads.key, heads.key)};
}

Tensor pack_heads(const SplitHeads& parts) {
  const Tensor packed = concat({parts.q, parts.k, parts.v}, 2);
  return reshape(packed, {packed.dim(0), packed.dim(1), packed.dim(2) * packed.dim(3)});
}

RopeTables rope_tables(std::int64_t positions, std::int64_t head_dim) {
  const std::int64_t half = head_dim / 2;
  RopeTables tables{HostTensor::zeros({positions, half}), HostTensor::zeros({positions, half})};
  for (std::int64_t p = 0; p < positions; ++p)
    for (std::int64_t i = 0; i < half; ++i) {
      const double angle =
          static_cast<double>(p) * std::pow(kRopeBase, -2.0 * static_cast<double>(i) / static_cast<double>(head_dim));
      const auto at = static_cast<std::size_t>(p * half + i);
      tables.cos.f32[at] = static_cast<float>(std::cos(angle));
      tables.sin.f32[at] = static_cast<float>(std::sin(angle));
    }
  return tables;
}

Tensor rotate(Tensor x, Tensor cos, Tensor sin) {
  const std::int64_t half = x.dim(3) / 2;
  const Tensor first = slice(x, 3, 0, half), second = slice(x, 3, half, 2 * half);
  const Tensor c = reshape(cos, {1, x.dim(1), 1, half}), s = reshape(sin, {1, x.dim(1), 1, half});
  return concat({first * c - second * s, second * c + first * s}, 3);
}

Tensor attention_weights(Tensor qkv, Heads heads, bool alibi) {
  Graph& g = *qkv.graph;
  const SplitHeads parts = split_heads(qkv, heads);
  const std::int64_t b = qkv.dim(0), t = qkv.dim(1), h = heads.query, d = parts.q.dim(3);
  const Tensor scores =
      matmul(stacked(parts.q, h), stacked(parts.k, h), false, true) * (1.0 / std::sqrt(static_cast<double>(d)));
  const Tensor from = iota(g, {1, 1, t, t}, 2), to = iota(g, {1, 1, t, t}, 3);
  Tensor biased = reshape(scores, {b, h, t, t});
  if (alibi) biased = biased + reshape(alibi_slopes(g, h), {1, h, 1, 1}) * (to - from);
  return softmax(select(less(from, to), constant(g, kMasked), biased));
}

Tensor alibi_attention(Tensor qkv, Heads heads) {
  const SplitHeads parts = split_heads(qkv, heads);
  const std::int64_t b = qkv.dim(0), t = qkv.dim(1), h = heads.query, d = parts.q.dim(3);
  const Tensor weights = reshape(attention_weights(qkv, heads, true), {b * h, t, t});
  const Tensor mixed = matmul(weights, stacked(parts.v, h));
  return reshape(permute(reshape(mixed, {b, h, t, d}), {0, 2, 1, 3}), {b, t, h * d});
}

Tensor attend_to_cache(const std::string& layer, Tensor qkv, Heads heads, std::int64_t context, Tensor position, bool alibi) {
  Graph& g = *qkv.graph;
  const SplitHeads parts = split_heads(qkv, heads);
  const std::int64_t kv = heads.key, group = heads.query / kv, d = parts.q.dim(3);
  const Cache cache = cache_of(g, layer, {kv, context, d});
  const Tensor at = reshape(cast_f32(position), {1, 1, 1});
  const Tensor here = equal(iota(g, {1, context, 1}, 1), at);
  const Tensor k = select(here, by_head(parts.k), cache.k), v = select(here, by_head(parts.v), cache.v);
  g.updates.push_back({cache.k.value, k.value});
  g.updates.push_back({cache.v.value, v.value});
  const Tensor q = reshape(parts.q, {kv, group, d});
  Tensor scores = matmul(q, k, false, true) * (1.0 / std::sqrt(static_cast<double>(d)));  // (KV,G,T)
  const Tensor to = iota(g, {1, 1, context}, 2);
  if (alibi) scores = scores + reshape(alibi_slopes(g, heads.query), {kv, group, 1}) * (to - at);
  const Tensor masked = select(less(at, to), constant(g, kMasked), scores);
  return reshape(matmul(softmax(masked), v), {1, 1, heads.query * d});
}

Tensor attend_and_fill_cache(const std::string& layer, Tensor qkv, Heads heads, bool alibi) {
  Graph& g = *qkv.graph;
  const SplitHeads parts = split_heads(qkv, heads);
  const Tensor k = by_head(parts.k), v = by_head(parts.v);
  const Cache cache = cache_of(g, layer, k.dims());
  g.updates.push_back({cache.k.value, k.value});
  g.updates.push_back({cache.v.value, v.value});
  return alibi ? alibi_attention(qkv, heads) : attention(qkv, {.heads = heads.query, .kv_heads = heads.key, .causal = true});
}

}  // namespace tabgrad
