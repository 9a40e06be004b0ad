// Vectorised exp, log, tanh, sigmoid, erf, sin, cos for f32, compiled once per instruction set.
//
// Accuracy against the double result: within 4 ULP, for tanh, erf, sin, cos absolute 1e-7 where the result is below 1e-3.
// Every finite argument is legal except that sin and cos lose accuracy beyond ±39,000. NaN in gives NaN out: the engine
// finds a diverging run by its NaN, so each clamp below has the argument second, which x86's min and max return on NaN.
// Does not: raise floating-point flags on purpose, care for rounding modes.

// Per-target include guard, as Highway's own -inl headers have it.
#if defined(TABGRAD_BACKEND_CPU_SIMD_MATH_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef TABGRAD_BACKEND_CPU_SIMD_MATH_INL_H_
#undef TABGRAD_BACKEND_CPU_SIMD_MATH_INL_H_
#else
#define TABGRAD_BACKEND_CPU_SIMD_MATH_INL_H_
#endif

#include <limits>

#include <hwy/contrib/math/math-inl.h>
#include <hwy/highway.h>

#include "backend/cpu/simd/fused_inl.h"

HWY_BEFORE_NAMESPACE();
namespace tabgrad::cpu::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using F = hn::ScalableTag<float>;
using V = hn::Vec<F>;
using I = hn::RebindToSigned<F>;
using M = hn::Mask<F>;
inline constexpr int kLanes = static_cast<int>(hn::MaxLanes(F()));

HWY_INLINE V set(float x) { return hn::Set(F(), x); }

// Maximum and minimum that give NaN if either argument is NaN, on every instruction set.
HWY_INLINE V max_v(V a, V b) { return hn::IfThenElse(hn::Eq(a, a), hn::Max(a, b), a); }
HWY_INLINE V min_v(V a, V b) { return hn::IfThenElse(hn::Eq(a, a), hn::Min(a, b), a); }

// x = n·ln2 + r with |r| ≤ ln2/2; returns expm1(r) and n. ln2 is split in two so that n·kLn2High is exact.
HWY_INLINE V expm1_reduced(V x, V& n) {
  n = hn::Round(hn::Mul(x, set(1.44269504f)));
  V r = neg_mul_add(n, set(0.693359375f), x);
  r = neg_mul_add(n, set(-2.12194440e-4f), r);
  // (expm1(r) − r)/r² by weighted least squares over |r| ≤ ln2/2, relative error of exp below 4e-9.
  V p = set(0.0013950479f);
  p = mul_add(p, r, set(0.008368884f));
  p = mul_add(p, r, set(0.041666206f));
  p = mul_add(p, r, set(0.16666518f));
  p = mul_add(p, r, set(0.5f));
  return mul_add(p, hn::Mul(r, r), r);
}

// 2^n for a whole n in [-126, 127].
HWY_INLINE V pow2(V n) {
  // 2^23 + 127 + n has n + 127, the exponent, in its lowest bits. A conversion to integers costs ten operations on WebAssembly.
  return hn::BitCast(F(), hn::ShiftLeft<23>(hn::BitCast(I(), hn::Add(n, set(8388735.0f)))));
}

// exp for x in (-87, 88); outside it is held at the ends of the range, e^-87 = 1.6e-38. NaN stays.
HWY_INLINE V exp_clamped(V x) {
  x = hn::Min(set(88.0f), hn::Max(set(-87.0f), x));
  V n;
  const V q = expm1_reduced(x, n);
  const V scale = pow2(n);
  return mul_add(scale, q, scale);
}

// exp for x ≤ 0: below -87 the result is 0, so that a masked or far logit gets no weight at all.
HWY_INLINE V exp_nonpositive(V x) {
  const V y = exp_clamped(x);
  return hn::IfThenZeroElse(hn::Lt(x, set(-87.0f)), y);
}

// exp everywhere, with subnormal results and overflow to infinity: 2^n is applied in two halves.
HWY_INLINE V exp_full(V x) {
  x = hn::Min(set(89.0f), hn::Max(set(-104.0f), x));
  V n;
  const V q = expm1_reduced(x, n);
  const V half = hn::Floor(hn::Mul(n, set(0.5f)));
  const V s1 = pow2(half);
  const V s2 = pow2(hn::Sub(n, half));
  return hn::Mul(mul_add(s1, q, s1), s2);
}

// tanh(|x|) = e/(e+2) with e = expm1(2|x|); 2^n·expm1(r) + (2^n − 1) keeps the relative accuracy near 0.
HWY_INLINE V tanh_v(V x) {
  const V y = hn::Min(set(20.0f), hn::Add(hn::Abs(x), hn::Abs(x)));  // tanh(10) rounds to 1
  V n;
  const V q = expm1_reduced(y, n);
  const V scale = pow2(n);
  const V e = mul_add(scale, q, hn::Sub(scale, set(1.0f)));
  return hn::CopySignToAbs(hn::Div(e, hn::Add(e, set(2.0f))), x);
}

// With e = exp(-|x|): 1/(1+e) for x ≥ 0, e/(1+e) below. Never overflows.
HWY_INLINE V sigmoid_v(V x) {
  const V e = exp_clamped(hn::Neg(hn::Abs(x)));
  const V top = hn::IfThenElse(hn::Lt(x, hn::Zero(F())), e, set(1.0f));
  return hn::Div(top, hn::Add(e, set(1.0f)));
}

// Both parts by weighted least squares in double: erf(x)/x − 1 in x² up to 0.93 (error 2e-8 of the result), and
// ln(erfc(t))/t in t on [0.92, 4] (error of erf below 1e-9); erf(4) rounds to 1.
HWY_INLINE V erf_v(V x) {
  const V t = hn::Min(set(4.0f), hn::Abs(x));
  const V s = hn::Mul(x, x);
  V p = set(-0.0005953739f);
  p = mul_add(p, s, set(0.00498594f));
  p = mul_add(p, s, set(-0.02676172f));
  p = mul_add(p, s, set(0.112816826f));
  p = mul_add(p, s, set(-0.3761248f));
  p = mul_add(p, s, set(0.12837915f));
  const V small = mul_add(p, x, x);
  V q = set(-1.1231466e-05f);
  q = mul_add(q, t, set(0.0003228054f));
  q = mul_add(q, t, set(-0.003642465f));
  q = mul_add(q, t, set(0.023762075f));
  q = mul_add(q, t, set(-0.10623689f));
  q = mul_add(q, t, set(-0.6351513f));
  q = mul_add(q, t, set(-1.1286485f));
  const V large = hn::Sub(set(1.0f), exp_clamped(hn::Mul(q, t)));
  return hn::IfThenElse(hn::Gt(t, set(0.925f)), hn::CopySignToAbs(large, x), small);
}

// ln 0 = -inf, ln of a negative number = NaN, ln inf = inf; else Highway's.
HWY_INLINE V log_v(V x) {
  const V y = hn::Log(F(), x);
  const V infinity = set(std::numeric_limits<float>::infinity());
  const V zero = hn::Zero(F());
  const V below = hn::IfThenElse(hn::Eq(x, zero), hn::Neg(infinity), hn::NaN(F()));
  const V ordinary = hn::IfThenElse(hn::Lt(x, infinity), y, x);  // inf and NaN pass through
  return hn::IfThenElse(hn::Le(x, zero), below, ordinary);
}

HWY_INLINE V sin_v(V x) { return hn::Sin(F(), x); }
HWY_INLINE V cos_v(V x) { return hn::Cos(F(), x); }

}  // namespace tabgrad::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
