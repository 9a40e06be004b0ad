// Block functions of the interpreter: one scalar operation over a few hundred floats, two-operand forms with a constant,
// block reductions and block random numbers. No threads, no scratch. Kept apart from block_vm, which strings them together.
//
// Reductions use 16 lanes whatever the vector width, so their bits are the same on every instruction set.
#include "backend/cpu/kernels.h"
#include "backend/cpu/simd/simd_targets.h"
#include "tensor/philox.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backend/cpu/simd/block_ops.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "backend/cpu/simd/math_inl.h"

#include <limits>

HWY_BEFORE_NAMESPACE();
namespace tabgrad::cpu::HWY_NAMESPACE {
namespace {

using std::int64_t;

HWY_INLINE V flag(M mask) { return hn::IfThenElseZero(mask, set(1.0f)); }

// One struct per operation, named as in scalar.def. Those with two arguments also serve the constant forms.
struct Neg {
  static HWY_INLINE V apply(V a) { return hn::Neg(a); }
};
struct Abs {
  static HWY_INLINE V apply(V a) { return hn::Abs(a); }
};
struct Sign {
  static HWY_INLINE V apply(V a) {  // zeros and NaN stay
    const V zero = hn::Zero(F());
    return hn::IfThenElse(hn::Gt(a, zero), set(1.0f), hn::IfThenElse(hn::Lt(a, zero), set(-1.0f), a));
  }
};
struct Exp {
  static HWY_INLINE V apply(V a) { return exp_full(a); }
};
struct Log {
  static HWY_INLINE V apply(V a) { return log_v(a); }
};
struct Sqrt {
  static HWY_INLINE V apply(V a) { return hn::Sqrt(a); }
};
struct Rsqrt {
  static HWY_INLINE V apply(V a) { return hn::Div(set(1.0f), hn::Sqrt(a)); }
};
struct Recip {
  static HWY_INLINE V apply(V a) { return hn::Div(set(1.0f), a); }
};
struct Tanh {
  static HWY_INLINE V apply(V a) { return tanh_v(a); }
};
struct Sigmoid {
  static HWY_INLINE V apply(V a) { return sigmoid_v(a); }
};
struct Erf {
  static HWY_INLINE V apply(V a) { return erf_v(a); }
};
struct Gelu {
  static HWY_INLINE V apply(V a) {
    const V half = hn::Mul(set(0.5f), a);
    return mul_add(half, erf_v(hn::Mul(a, set(0.70710678f))), half);
  }
};
struct GeluSlope {
  static HWY_INLINE V apply(V a) {
    const V distribution = mul_add(set(0.5f), erf_v(hn::Mul(a, set(0.70710678f))), set(0.5f));
    const V density = hn::Mul(set(0.39894228f), exp_nonpositive(hn::Mul(hn::Mul(a, a), set(-0.5f))));
    return mul_add(a, density, distribution);
  }
};
struct Sin {
  static HWY_INLINE V apply(V a) { return sin_v(a); }
};
struct Cos {
  static HWY_INLINE V apply(V a) { return cos_v(a); }
};
struct Floor {
  static HWY_INLINE V apply(V a) { return hn::Floor(a); }
};
struct Add {
  static HWY_INLINE V apply(V a, V b) { return hn::Add(a, b); }
};
struct Sub {
  static HWY_INLINE V apply(V a, V b) { return hn::Sub(a, b); }
};
struct Mul {
  static HWY_INLINE V apply(V a, V b) { return hn::Mul(a, b); }
};
struct Div {
  static HWY_INLINE V apply(V a, V b) { return hn::Div(a, b); }
};
struct Max {
  static HWY_INLINE V apply(V a, V b) { return max_v(a, b); }
};
struct Min {
  static HWY_INLINE V apply(V a, V b) { return min_v(a, b); }
};
struct Less {
  static HWY_INLINE V apply(V a, V b) { return flag(hn::Lt(a, b)); }
};
struct Equal {
  static HWY_INLINE V apply(V a, V b) { return flag(hn::Eq(a, b)); }
};
struct Select {
  static HWY_INLINE V apply(V a, V b, V c) { return hn::IfThenElse(hn::Eq(a, hn::Zero(F())), c, b); }
};

// Tails are computed on zeros beyond n and stored in part.
template <typename Op>
void unary(const float* a, const float*, const float*, float* out, int64_t n) {
  const F f;
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) hn::StoreU(Op::apply(hn::LoadU(f, a + i)), f, out + i);
  if (i < n) {
    const auto left = static_cast<std::size_t>(n - i);
    hn::StoreN(Op::apply(hn::LoadN(f, a + i, left)), f, out + i, left);
  }
}

template <typename Op>
void binary(const float* a, const float* b, const float*, float* out, int64_t n) {
  const F f;
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) hn::StoreU(Op::apply(hn::LoadU(f, a + i), hn::LoadU(f, b + i)), f, out + i);
  if (i < n) {
    const auto left = static_cast<std::size_t>(n - i);
    hn::StoreN(Op::apply(hn::LoadN(f, a + i, left), hn::LoadN(f, b + i, left)), f, out + i, left);
  }
}

template <typename Op>
void ternary(const float* a, const float* b, const float* c, float* out, int64_t n) {
  const F f;
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) {
    hn::StoreU(Op::apply(hn::LoadU(f, a + i), hn::LoadU(f, b + i), hn::LoadU(f, c + i)), f, out + i);
  }
  if (i < n) {
    const auto left = static_cast<std::size_t>(n - i);
    hn::StoreN(Op::apply(hn::LoadN(f, a + i, left), hn::LoadN(f, b + i, left), hn::LoadN(f, c + i, left)), f, out + i, left);
  }
}

template <typename Op, bool kLeft>
void with_constant(const float* a, float value, float* out, int64_t n) {
  const F f;
  const V constant = set(value);
  const auto apply = [&](V x) HWY_ATTR { return kLeft ? Op::apply(constant, x) : Op::apply(x, constant); };
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) hn::StoreU(apply(hn::LoadU(f, a + i)), f, out + i);
  if (i < n) {
    const auto left = static_cast<std::size_t>(n - i);
    hn::StoreN(apply(hn::LoadN(f, a + i, left)), f, out + i, left);
  }
}

template <bool kLeft>
BlockOpConst const_op(ScalarOp op) {
  switch (op) {
    case ScalarOp::kAdd: return with_constant<Add, kLeft>;
    case ScalarOp::kSub: return with_constant<Sub, kLeft>;
    case ScalarOp::kMul: return with_constant<Mul, kLeft>;
    case ScalarOp::kDiv: return with_constant<Div, kLeft>;
    case ScalarOp::kMax: return with_constant<Max, kLeft>;
    case ScalarOp::kMin: return with_constant<Min, kLeft>;
    case ScalarOp::kLess: return with_constant<Less, kLeft>;
    case ScalarOp::kEqual: return with_constant<Equal, kLeft>;
    case ScalarOp::kNeg:
    case ScalarOp::kAbs:
    case ScalarOp::kSign:
    case ScalarOp::kExp:
    case ScalarOp::kLog:
    case ScalarOp::kSqrt:
    case ScalarOp::kRsqrt:
    case ScalarOp::kRecip:
    case ScalarOp::kTanh:
    case ScalarOp::kSigmoid:
    case ScalarOp::kErf:
    case ScalarOp::kGelu:
    case ScalarOp::kGeluSlope:
    case ScalarOp::kSin:
    case ScalarOp::kCos:
    case ScalarOp::kFloor:
    case ScalarOp::kSelect: return nullptr;
  }
  return nullptr;
}

constexpr int64_t kReduceLanes = 16;
constexpr int kReduceVectors = static_cast<int>(kReduceLanes) / kLanes;

// acc[l] over all i of x[16·i + l], then halves are folded: 8, 4, 2, 1.
template <typename Op>
float reduce(const float* x, int64_t n, float neutral) {
  const F f;
  V acc[kReduceVectors];
  for (int v = 0; v < kReduceVectors; ++v) acc[v] = set(neutral);
  int64_t i = 0;
  for (; i + kReduceLanes <= n; i += kReduceLanes) {
    for (int v = 0; v < kReduceVectors; ++v) acc[v] = Op::apply(acc[v], hn::LoadU(f, x + i + v * kLanes));
  }
  HWY_ALIGN float lanes[kReduceLanes];
  HWY_ALIGN float tail[kReduceLanes];
  for (int64_t l = 0; l < kReduceLanes; ++l) tail[l] = i + l < n ? x[i + l] : neutral;
  for (int v = 0; v < kReduceVectors; ++v) hn::Store(Op::apply(acc[v], hn::Load(f, tail + v * kLanes)), f, lanes + v * kLanes);
  for (int64_t half = kReduceLanes / 2; half > 0; half /= 2) {
    const auto count = static_cast<std::size_t>(half);
    for (int64_t l = 0; l < half; l += kLanes) {
      const std::size_t here = count < static_cast<std::size_t>(kLanes) ? count : static_cast<std::size_t>(kLanes);
      hn::StoreN(Op::apply(hn::LoadN(f, lanes + l, here), hn::LoadN(f, lanes + half + l, here)), f, lanes + l, here);
    }
  }
  return lanes[0];
}

using U = hn::RebindToUnsigned<F>;
using VU = hn::Vec<U>;

// High and low halves of the 32×32 → 64 bit products of all lanes by one factor.
HWY_INLINE void multiply_wide(VU a, VU factor, VU& high, VU& low) {
  const U u;
  low = hn::Mul(a, factor);
  const VU even = hn::BitCast(u, hn::MulEven(a, factor));
  const VU odd = hn::BitCast(u, hn::MulOdd(a, factor));
  high = hn::OddEven(odd, hn::DupOdd(even));
}

}  // namespace

BlockOp block_op(ScalarOp op) {
  switch (op) {
    case ScalarOp::kNeg: return unary<Neg>;
    case ScalarOp::kAbs: return unary<Abs>;
    case ScalarOp::kSign: return unary<Sign>;
    case ScalarOp::kExp: return unary<Exp>;
    case ScalarOp::kLog: return unary<Log>;
    case ScalarOp::kSqrt: return unary<Sqrt>;
    case ScalarOp::kRsqrt: return unary<Rsqrt>;
    case ScalarOp::kRecip: return unary<Recip>;
    case ScalarOp::kTanh: return unary<Tanh>;
    case ScalarOp::kSigmoid: return unary<Sigmoid>;
    case ScalarOp::kErf: return unary<Erf>;
    case ScalarOp::kGelu: return unary<Gelu>;
    case ScalarOp::kGeluSlope: return unary<GeluSlope>;
    case ScalarOp::kSin: return unary<Sin>;
    case ScalarOp::kCos: return unary<Cos>;
    case ScalarOp::kFloor: return unary<Floor>;
    case ScalarOp::kAdd: return binary<Add>;
    case ScalarOp::kSub: return binary<Sub>;
    case ScalarOp::kMul: return binary<Mul>;
    case ScalarOp::kDiv: return binary<Div>;
    case ScalarOp::kMax: return binary<Max>;
    case ScalarOp::kMin: return binary<Min>;
    case ScalarOp::kLess: return binary<Less>;
    case ScalarOp::kEqual: return binary<Equal>;
    case ScalarOp::kSelect: return ternary<Select>;
  }
  return nullptr;
}

BlockOpConst block_op_const_right(ScalarOp op) { return const_op<false>(op); }
BlockOpConst block_op_const_left(ScalarOp op) { return const_op<true>(op); }

float block_sum(const float* x, int64_t n) { return reduce<Add>(x, n, 0.0f); }
float block_max(const float* x, int64_t n) { return reduce<Max>(x, n, -std::numeric_limits<float>::infinity()); }
void block_accumulate_sum(const float* x, float* acc, int64_t n) { binary<Add>(acc, x, nullptr, acc, n); }
void block_accumulate_max(const float* x, float* acc, int64_t n) { binary<Max>(acc, x, nullptr, acc, n); }

// Element e is word e%4 of the block with counter e/4. Lanes take neighbouring blocks; four words each are interleaved.
void block_random(std::uint64_t seed, std::uint32_t stream, std::uint32_t step, std::uint64_t first, float* out, int64_t n) {
  const F f;
  const U u;
  const auto seed_low = static_cast<std::uint32_t>(seed), seed_high = static_cast<std::uint32_t>(seed >> 32);
  int64_t i = 0;
  while (i < n) {
    const std::uint64_t element = first + static_cast<std::uint64_t>(i);
    const std::uint64_t block = element / 4;
    const auto low = static_cast<std::uint32_t>(block), high = static_cast<std::uint32_t>(block >> 32);
    if (element % 4 != 0 || n - i < 4 * kLanes || low > 0xFFFFFFFFu - static_cast<std::uint32_t>(kLanes)) {
      const PhiloxWords words = philox4x32({seed_low, seed_high}, {low, high, stream, step});
      for (std::uint64_t word = element % 4; word < 4 && i < n; ++word) out[i++] = uniform01_from_u32(words[word]);
      continue;
    }
    VU c0 = hn::Iota(u, low), c1 = hn::Set(u, high), c2 = hn::Set(u, stream), c3 = hn::Set(u, step);
    std::uint32_t k0 = seed_low, k1 = seed_high;
    for (int round = 0; round < 10; ++round) {
      VU high0, low0, high1, low1;
      multiply_wide(c0, hn::Set(u, 0xD2511F53u), high0, low0);
      multiply_wide(c2, hn::Set(u, 0xCD9E8D57u), high1, low1);
      c0 = hn::Xor3(high1, c1, hn::Set(u, k0));
      c1 = low1;
      c2 = hn::Xor3(high0, c3, hn::Set(u, k1));
      c3 = low0;
      k0 += 0x9E3779B9u;
      k1 += 0xBB67AE85u;
    }
    const hn::RebindToSigned<U> s;  // 24 bits, so signed conversion is exact
    const V scale = set(0x1p-24f);
    const auto uniform = [&](VU word)
                             HWY_ATTR { return hn::Mul(hn::ConvertTo(f, hn::BitCast(s, hn::ShiftRight<8>(word))), scale); };
    hn::StoreInterleaved4(uniform(c0), uniform(c1), uniform(c2), uniform(c3), f, out + i);
    i += 4 * kLanes;
  }
}

const char* instruction_set() { return hwy::TargetName(HWY_TARGET); }

}  // namespace tabgrad::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tabgrad::cpu {

HWY_EXPORT(block_op);
HWY_EXPORT(block_op_const_right);
HWY_EXPORT(block_op_const_left);
HWY_EXPORT(block_sum);
HWY_EXPORT(block_max);
HWY_EXPORT(block_accumulate_sum);
HWY_EXPORT(block_accumulate_max);
HWY_EXPORT(block_random);
HWY_EXPORT(instruction_set);

BlockOp block_op(ScalarOp op) { return HWY_DYNAMIC_DISPATCH(block_op)(op); }
BlockOpConst block_op_const_right(ScalarOp op) { return HWY_DYNAMIC_DISPATCH(block_op_const_right)(op); }
BlockOpConst block_op_const_left(ScalarOp op) { return HWY_DYNAMIC_DISPATCH(block_op_const_left)(op); }
float block_sum(const float* x, std::int64_t n) { return HWY_DYNAMIC_DISPATCH(block_sum)(x, n); }
float block_max(const float* x, std::int64_t n) { return HWY_DYNAMIC_DISPATCH(block_max)(x, n); }
void block_accumulate_sum(const float* x, float* acc, std::int64_t n) { HWY_DYNAMIC_DISPATCH(block_accumulate_sum)(x, acc, n); }
void block_accumulate_max(const float* x, float* acc, std::int64_t n) { HWY_DYNAMIC_DISPATCH(block_accumulate_max)(x, acc, n); }
void block_random(std::uint64_t seed, std::uint32_t stream, std::uint32_t step, std::uint64_t first, float* out,
                  std::int64_t n) {
  HWY_DYNAMIC_DISPATCH(block_random)(seed, stream, step, first, out, n);
}
const char* instruction_set() { return HWY_DYNAMIC_DISPATCH(instruction_set)(); }

}  // namespace tabgrad::cpu
#endif
