// Optimizer steps over packed parameters, and the sum of squares behind the global-norm clip.
//
// One loop over all parameters: every segment is cut into pieces of fixed size, a piece is a task. Memory-bound: each element
// of p, g, m, v is read once and p, m, v written once.
#include "backend/cpu/kernels.h"
#include "backend/cpu/simd/simd_targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backend/cpu/kernels/optimizer.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "backend/cpu/simd/rows_inl.h"

#include <cmath>
#include <cstring>

HWY_BEFORE_NAMESPACE();
namespace tabgrad::cpu::HWY_NAMESPACE {
namespace {

using std::int64_t;

constexpr int64_t kPiece = 16384;  // elements of a task; AdamW takes some 10 µs for them

int64_t pieces_of(int64_t n) { return (n + kPiece - 1) / kPiece; }

void sgd(const Optimizer& s, const Segment& q, int64_t begin, int64_t end, float clip) {
  const V lr = set(s.lr), momentum = set(s.momentum), scale = set(clip), decay = set(q.weight_decay);
  const bool plain = s.momentum == 0.0f || q.v == nullptr;
  for_each(end - begin, [&](int64_t i, auto part) HWY_ATTR {
    const int64_t at = begin + i;
    const V p = part.load(q.p + at);
    const V g = mul_add(decay, p, hn::Mul(part.load(q.g + at), scale));
    V step = g;
    if (!plain) {
      const V v = mul_add(momentum, part.load(q.v + at), g);
      part.store(v, q.v + at);
      step = s.nesterov ? mul_add(momentum, v, g) : v;
    }
    part.store(neg_mul_add(lr, step, p), q.p + at);
  });
}

template <bool kDecoupled>
void adam(const Optimizer& s, const Segment& q, int64_t begin, int64_t end, float clip) {
  const V scale = set(clip), beta1 = set(s.beta1), beta2 = set(s.beta2), rest1 = set(1.0f - s.beta1),
          rest2 = set(1.0f - s.beta2);
  const V step = set(s.lr / s.bias1), root = set(1.0f / std::sqrt(s.bias2)), eps = set(s.eps);
  const V decay = set(q.weight_decay), shrink = set(s.lr * q.weight_decay);
  for_each(end - begin, [&](int64_t i, auto part) HWY_ATTR {
    const int64_t at = begin + i;
    V p = part.load(q.p + at);
    V g = hn::Mul(part.load(q.g + at), scale);
    if constexpr (kDecoupled) {
      p = neg_mul_add(shrink, p, p);
    } else {
      g = mul_add(decay, p, g);
    }
    const V m = mul_add(beta1, part.load(q.m + at), hn::Mul(rest1, g));
    const V v = mul_add(beta2, part.load(q.v + at), hn::Mul(rest2, hn::Mul(g, g)));
    part.store(m, q.m + at);
    part.store(v, q.v + at);
    const V bottom = mul_add(hn::Sqrt(v), root, eps);
    part.store(neg_mul_add(step, hn::Div(m, bottom), p), q.p + at);
  });
}

void update(const Optimizer& s, const Segment& q, int64_t begin, int64_t end) {
  const float clip = s.clip_scale == nullptr ? 1.0f : *s.clip_scale;
  switch (s.kind) {
    case OptimizerKind::kSgd: return sgd(s, q, begin, end, clip);
    case OptimizerKind::kAdam: return adam<false>(s, q, begin, end, clip);
    case OptimizerKind::kAdamW: return adam<true>(s, q, begin, end, clip);
  }
}

double squares(const float* x, int64_t n) {
  const hn::ScalableTag<double> f64;
  const hn::Rebind<float, hn::ScalableTag<double>> half;
  constexpr int kStep = kLanes / 2;
  auto sum0 = hn::Zero(f64), sum1 = sum0, sum2 = sum0, sum3 = sum0;  // four: the latency of a multiply-add
  int64_t i = 0;
  for (; i + 4 * kStep <= n; i += 4 * kStep) {
    const auto a = hn::PromoteTo(f64, hn::LoadU(half, x + i)), b = hn::PromoteTo(f64, hn::LoadU(half, x + i + kStep));
    const auto c = hn::PromoteTo(f64, hn::LoadU(half, x + i + 2 * kStep));
    const auto d = hn::PromoteTo(f64, hn::LoadU(half, x + i + 3 * kStep));
    sum0 = mul_add(a, a, sum0);
    sum1 = mul_add(b, b, sum1);
    sum2 = mul_add(c, c, sum2);
    sum3 = mul_add(d, d, sum3);
  }
  double total = hn::ReduceSum(f64, hn::Add(hn::Add(sum0, sum1), hn::Add(sum2, sum3)));
  for (; i < n; ++i) total += static_cast<double>(x[i]) * static_cast<double>(x[i]);
  return total;
}

// The piece with this number in the order of segments: calls body(segment, begin, end). Segments are a few hundred at most.
template <typename Item, typename Body>
void find_piece(const Item* items, int64_t piece, const Body& body) {
  int64_t segment = 0;
  for (int64_t here = pieces_of(items[0].n); piece >= here; here = pieces_of(items[segment].n)) {
    piece -= here;
    ++segment;
  }
  body(items[segment], piece * kPiece, std::min(items[segment].n, (piece + 1) * kPiece));
}

template <typename Item>
int64_t count_pieces(const Item* items, int64_t count) {
  int64_t pieces = 0;
  for (int64_t i = 0; i < count; ++i) pieces += pieces_of(items[i].n);
  return pieces;
}

}  // namespace

void optimizer_step(const Optimizer& s, ThreadPool& pool) {
  pool.run(count_pieces(s.segments, s.count), [&](int64_t piece, int) {
    find_piece(s.segments, piece, [&](const Segment& q, int64_t begin, int64_t end) { update(s, q, begin, end); });
  });
}

// Scratch holds one double a piece.
int64_t sum_squares_scratch_floats(const ConstSpan* arrays, int64_t count) { return 2 * count_pieces(arrays, count); }

void sum_squares(const ConstSpan* arrays, int64_t count, float* out, ThreadPool& pool, float* scratch) {
  const int64_t pieces = count_pieces(arrays, count);
  pool.run(pieces, [&](int64_t piece, int) {
    find_piece(arrays, piece, [&](const ConstSpan& a, int64_t begin, int64_t end) {
      const double part = squares(a.data + begin, end - begin);
      std::memcpy(scratch + 2 * piece, &part, sizeof part);
    });
  });
  double total = 0;
  for (int64_t piece = 0; piece < pieces; ++piece) {
    double part = 0;
    std::memcpy(&part, scratch + 2 * piece, sizeof part);
    total += part;
  }
  *out = static_cast<float>(total);
}

}  // namespace tabgrad::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tabgrad::cpu {

HWY_EXPORT(optimizer_step);
HWY_EXPORT(sum_squares_scratch_floats);
HWY_EXPORT(sum_squares);

void optimizer_step(const Optimizer& s, ThreadPool& pool) { HWY_DYNAMIC_DISPATCH(optimizer_step)(s, pool); }

std::int64_t sum_squares_scratch_floats(const ConstSpan* arrays, std::int64_t count) {
  return HWY_DYNAMIC_DISPATCH(sum_squares_scratch_floats)(arrays, count);
}

void sum_squares(const ConstSpan* arrays, std::int64_t count, float* out, ThreadPool& pool, Scratch scratch) {
  TG_CHECK(scratch.floats >= sum_squares_scratch_floats(arrays, count));
  HWY_DYNAMIC_DISPATCH(sum_squares)(arrays, count, out, pool, scratch.data);
}

}  // namespace tabgrad::cpu
#endif
