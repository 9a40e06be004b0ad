// Attention over packed projections, forward and backward. kernels.h has the layouts.
//
// Forward: one task per (batch, query head). A block of query rows is multiplied with the packed keys up to the last column
// that any of its rows may see, the scores stay in the worker's scratch, softmax runs over each row in two passes, and the
// weights multiply the packed values. Backward: one task per (batch, key/value head), which loops over the query heads that
// read it in order, so that dk and dv are summed without atomics; weights are recomputed from lse.
#include "backend/cpu/kernels.h"
#include "backend/cpu/simd/simd_targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backend/cpu/kernels/attention.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "backend/cpu/simd/rows_inl.h"
#include "backend/cpu/simd/tile_inl.h"

#include <cmath>

HWY_BEFORE_NAMESPACE();
namespace tabgrad::cpu::HWY_NAMESPACE {
namespace {

using std::int64_t;

// Query rows a block of the backward pass: the products for dk and dv sum over them, and read and write dk, dv once a block.
constexpr int64_t kBlock = 48;

int64_t align16(int64_t floats) { return (floats + 15) / 16 * 16; }
// A row of scores. The odd number of cache lines keeps rows of a tile from sharing cache sets.
int64_t score_stride(int64_t t) { return (align16(t) / 16 | 1) * 16; }

struct Head {  // where one query head and its key/value head lie in a token of qkv
  int64_t q, k, v, token;
};
Head head_at(const Attention& s, int64_t head) {
  const int64_t kv = head / (s.heads / s.kv_heads);
  return {head * s.d, (s.heads + kv) * s.d, (s.heads + s.kv_heads + kv) * s.d, (s.heads + 2 * s.kv_heads) * s.d};
}

// scores becomes exp(scale·scores − max), zero from `seen` to `n`. Returns the sum; max is returned too.
float softmax_row(float* scores, int64_t seen, int64_t n, float scale, float* max) {
  const V factor = set(scale), lowest = set(-std::numeric_limits<float>::infinity());
  V best = lowest;
  for_each(seen, [&](int64_t i, auto part) HWY_ATTR { best = hn::Max(best, part.load_or(scores + i, lowest)); });
  V least = set(std::numeric_limits<float>::infinity());
  if (scale < 0) {  // then the largest product comes from the smallest score
    const V highest = least;
    for_each(seen, [&](int64_t i, auto part) HWY_ATTR { least = hn::Min(least, part.load_or(scores + i, highest)); });
  }
  *max = scale * (scale < 0 ? hn::ReduceMin(F(), least) : hn::ReduceMax(F(), best));
  const V shift = set(*max);
  V sum = hn::Zero(F());
  for_each(seen, [&](int64_t i, auto part) HWY_ATTR {
    const V e = part.keep(exp_nonpositive(hn::MulSub(part.load(scores + i), factor, shift)));
    part.store(e, scores + i);
    sum = hn::Add(sum, e);
  });
  std::fill(scores + seen, scores + n, 0.0f);
  return hn::ReduceSum(F(), sum);
}

void scale_row(float* x, int64_t n, float scale) {
  const V factor = set(scale);
  for_each(n, [&](int64_t i, auto part) HWY_ATTR { part.store(hn::Mul(part.load(x + i), factor), x + i); });
}

struct ForwardScratch {
  int64_t keys = 0, values = 0, scores = 0, end = 0;
};
ForwardScratch forward_scratch(const Attention& s) {
  ForwardScratch f;
  f.values = f.keys + packed_floats(s.d, s.t);
  f.scores = f.values + align16(packed_floats(s.t, s.d));
  f.end = f.scores + kRows * score_stride(s.t);
  return f;
}

void forward_head(const Attention& s, int64_t batch, int64_t head, float* out, float* lse, float* work) {
  const Head at = head_at(s, head);
  const ForwardScratch f = forward_scratch(s);
  const float* qkv = s.qkv + batch * s.t * at.token;
  float *keys = work + f.keys, *values = work + f.values, *scores = work + f.scores;
  pack_b(s.d, s.t, qkv + at.k, 1, at.token, keys);
  pack_b(s.t, s.d, qkv + at.v, at.token, 1, values);
  const int64_t out_row = s.heads * s.d, stride = score_stride(s.t);
  out += batch * s.t * out_row + head * s.d;
  lse += (batch * s.heads + head) * s.t;
  const int64_t tiles = (s.t + kRows - 1) / kRows;
  for (int64_t tile = 0; tile < tiles; ++tile) {
    const int64_t begin = tile * s.t / tiles, end = (tile + 1) * s.t / tiles;
    const int64_t seen = s.causal ? end : s.t;
    Product p;
    p.m = end - begin;
    p.n = seen;
    p.k = s.d;
    p.a = qkv + begin * at.token + at.q;
    p.a_m = at.token;
    p.a_k = 1;
    p.b = packed_panels(keys, s.d);
    p.c = scores;
    p.c_m = stride;
    multiply(p);
    float sums[kRows];
    for (int64_t r = begin; r < end; ++r) {
      float max = 0.0f;
      const float sum = softmax_row(scores + (r - begin) * stride, s.causal ? r + 1 : s.t, seen, s.scale, &max);
      sums[r - begin] = sum;
      lse[r] = max + std::log(sum);
    }
    p.n = s.d;
    p.k = seen;
    p.a = scores;
    p.a_m = stride;
    p.b = packed_panels(values, s.t);
    p.c = out + begin * out_row;
    p.c_m = out_row;
    multiply(p);
    for (int64_t r = begin; r < end; ++r) scale_row(out + r * out_row, s.d, 1.0f / sums[r - begin]);
  }
}

float dot(const float* a, const float* b, int64_t n) {
  V sum = hn::Zero(F());
  for_each(n, [&](int64_t i, auto part) HWY_ATTR { sum = mul_add(part.load(a + i), part.load(b + i), sum); });
  return hn::ReduceSum(F(), sum);
}

// scores → weights p; dweights dp → ds = p·(dp − Σ p·dp)·scale. Zero where not seen.
void backward_row(float* scores, float* dweights, int64_t seen, int64_t n, float scale, float lse, float mean) {
  const V factor = set(scale), shift = set(lse), centre = set(mean);
  for_each(seen, [&](int64_t i, auto part) HWY_ATTR {
    const V p = exp_nonpositive(hn::MulSub(part.load(scores + i), factor, shift));
    part.store(p, scores + i);
    part.store(hn::Mul(hn::Mul(p, factor), hn::Sub(part.load(dweights + i), centre)), dweights + i);
  });
  std::fill(scores + seen, scores + n, 0.0f);
  std::fill(dweights + seen, dweights + n, 0.0f);
}

struct BackwardScratch {
  int64_t keys_t = 0, values_t = 0, keys = 0, weights = 0, dscores = 0, q = 0, dout = 0, end = 0;
};
BackwardScratch backward_scratch(const Attention& s) {
  BackwardScratch b;
  b.values_t = b.keys_t + packed_floats(s.d, s.t);
  b.keys = b.values_t + packed_floats(s.d, s.t);
  b.weights = b.keys + align16(packed_floats(s.t, s.d));
  b.dscores = b.weights + kBlock * score_stride(s.t);
  b.q = b.dscores + kBlock * score_stride(s.t);
  b.dout = b.q + align16(packed_floats(kBlock, s.d));
  b.end = b.dout + align16(packed_floats(kBlock, s.d));
  return b;
}

struct BackwardData {
  const float *out, *lse, *dout;
  float* dqkv;
};

void backward_head(const Attention& s, int64_t batch, int64_t head, const BackwardData& d, float* work) {
  const Head at = head_at(s, head);
  const BackwardScratch b = backward_scratch(s);
  const float* qkv = s.qkv + batch * s.t * at.token;
  float* dqkv = d.dqkv + batch * s.t * at.token;
  const int64_t out_row = s.heads * s.d, stride = score_stride(s.t);
  const float* out = d.out + batch * s.t * out_row + head * s.d;
  const float* dout = d.dout + batch * s.t * out_row + head * s.d;
  const float* lse = d.lse + (batch * s.heads + head) * s.t;
  float *weights = work + b.weights, *dscores = work + b.dscores, *q_block = work + b.q, *dout_block = work + b.dout;
  for (int64_t begin = 0; begin < s.t; begin += kBlock) {
    const int64_t end = std::min(s.t, begin + kBlock), rows = end - begin;
    const int64_t seen = s.causal ? end : s.t;
    Product p;
    p.m = rows;
    p.n = seen;
    p.k = s.d;
    p.a = qkv + begin * at.token + at.q;
    p.a_m = at.token;
    p.a_k = 1;
    p.b = packed_panels(work + b.keys_t, s.d);
    p.c = weights;
    p.c_m = stride;
    multiply(p);  // scores
    p.a = dout + begin * out_row;
    p.a_m = out_row;
    p.b = packed_panels(work + b.values_t, s.d);
    p.c = dscores;
    multiply(p);  // gradient of the weights
    for (int64_t r = begin; r < end; ++r) {
      const float mean = dot(out + r * out_row, dout + r * out_row, s.d);
      const int64_t at_row = (r - begin) * stride;
      backward_row(weights + at_row, dscores + at_row, s.causal ? r + 1 : s.t, seen, s.scale, lse[r], mean);
    }
    p.n = s.d;
    p.k = seen;
    p.a = dscores;
    p.a_m = stride;
    p.b = packed_panels(work + b.keys, s.t);
    p.c = dqkv + begin * at.token + at.q;
    p.c_m = at.token;
    multiply(p);  // dq

    pack_b(rows, s.d, qkv + begin * at.token + at.q, at.token, 1, q_block);
    pack_b(rows, s.d, dout + begin * out_row, out_row, 1, dout_block);
    p.m = seen;
    p.k = rows;
    p.a_m = 1;
    p.a_k = stride;
    p.b = packed_panels(q_block, rows);
    p.c = dqkv + at.k;
    p.init = p.c;
    p.init_m = at.token;
    multiply(p);  // dk += dsᵀ·q
    p.a = weights;
    p.b = packed_panels(dout_block, rows);
    p.c = dqkv + at.v;
    p.init = p.c;
    multiply(p);  // dv += pᵀ·dout
  }
}

void backward_group(const Attention& s, int64_t batch, int64_t kv, const BackwardData& d, float* work) {
  const int64_t group = s.heads / s.kv_heads;
  const Head at = head_at(s, kv * group);
  const BackwardScratch b = backward_scratch(s);
  const float* qkv = s.qkv + batch * s.t * at.token;
  float* dqkv = d.dqkv + batch * s.t * at.token;
  pack_b(s.d, s.t, qkv + at.k, 1, at.token, work + b.keys_t);
  pack_b(s.d, s.t, qkv + at.v, 1, at.token, work + b.values_t);
  pack_b(s.t, s.d, qkv + at.k, at.token, 1, work + b.keys);
  for (int64_t r = 0; r < s.t; ++r) {
    std::fill_n(dqkv + r * at.token + at.k, s.d, 0.0f);
    std::fill_n(dqkv + r * at.token + at.v, s.d, 0.0f);
  }
  for (int64_t head = kv * group; head < (kv + 1) * group; ++head) backward_head(s, batch, head, d, work);
}

int64_t worker_floats(const Attention& s) { return align16(std::max(forward_scratch(s).end, backward_scratch(s).end)); }

}  // namespace

int64_t attention_worker_floats(const Attention& s) { return worker_floats(s); }

void attention_forward(const Attention& s, float* out, float* lse, ThreadPool& pool, float* scratch) {
  const int64_t each = worker_floats(s);
  pool.run(s.b * s.heads, [&](int64_t task, int worker) {
    forward_head(s, task / s.heads, task % s.heads, out, lse, scratch + worker * each);
  });
}

void attention_backward(const Attention& s, const float* out, const float* lse, const float* dout, float* dqkv,
                        ThreadPool& pool, float* scratch) {
  const int64_t each = worker_floats(s);
  const BackwardData data{out, lse, dout, dqkv};
  pool.run(s.b * s.kv_heads, [&](int64_t task, int worker) {
    backward_group(s, task / s.kv_heads, task % s.kv_heads, data, scratch + worker * each);
  });
}

}  // namespace tabgrad::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tabgrad::cpu {

HWY_EXPORT(attention_worker_floats);
HWY_EXPORT(attention_forward);
HWY_EXPORT(attention_backward);

std::int64_t attention_scratch_floats(const Attention& s, int threads) {
  return threads * HWY_DYNAMIC_DISPATCH(attention_worker_floats)(s);
}

void attention_forward(const Attention& s, float* out, float* lse, ThreadPool& pool, Scratch scratch) {
  TG_CHECK(scratch.floats >= attention_scratch_floats(s, pool.threads()));
  HWY_DYNAMIC_DISPATCH(attention_forward)(s, out, lse, pool, scratch.data);
}

void attention_backward(const Attention& s, const float* out, const float* lse, const float* dout, float* dqkv,
                        ThreadPool& pool, Scratch scratch) {
  TG_CHECK(scratch.floats >= attention_scratch_floats(s, pool.threads()));
  HWY_DYNAMIC_DISPATCH(attention_backward)(s, out, lse, dout, dqkv, pool, scratch.data);
}

}  // namespace tabgrad::cpu
#endif
