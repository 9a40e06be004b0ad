// Counter-based random numbers: Philox4x32-10, and uniforms and normals derived from it.
//
// Does: maps (seed, stream, index) to a number. No state: any element can be made alone, in any order, by any thread.
// Does not: keep a generator object, draw dropout masks on a device (they use the same words by integer compare there).
//
// Invariants:
// - The same (seed, stream, index) gives the same bits on every target and toolchain. So normal() calls no libm function
//   but sqrt, which IEEE 754 rounds exactly, and its operations are in a fixed order. A compiler that fuses a*b+c into
//   one rounding breaks that: files that include this are compiled with -ffp-contract=off.
// - tools/make_golden.py has the same routine in numpy; tests/golden/philox.* holds values both must give.
#pragma once

#include <array>
#include <bit>
#include <cmath>
#include <cstdint>

namespace tabgrad {

using PhiloxWords = std::array<std::uint32_t, 4>;

// Ten rounds of Philox4x32 (Salmon, Moraes, Dror, Shaw: "Parallel random numbers: as easy as 1, 2, 3", SC 2011).
inline PhiloxWords philox4x32(std::array<std::uint32_t, 2> key, PhiloxWords counter) {
  constexpr std::uint64_t kMul0 = 0xD2511F53u, kMul1 = 0xCD9E8D57u;    // the paper's multipliers
  constexpr std::uint32_t kWeyl0 = 0x9E3779B9u, kWeyl1 = 0xBB67AE85u;  // key steps: golden ratio, sqrt(3) - 1
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t p0 = kMul0 * counter[0];
    const std::uint64_t p1 = kMul1 * counter[2];
    counter = {static_cast<std::uint32_t>(p1 >> 32) ^ counter[1] ^ key[0], static_cast<std::uint32_t>(p1),
               static_cast<std::uint32_t>(p0 >> 32) ^ counter[3] ^ key[1], static_cast<std::uint32_t>(p0)};
    key[0] += kWeyl0;
    key[1] += kWeyl1;
  }
  return counter;
}

// The four words of elements 4·block … 4·block+3 of a stream. Making a block once serves four elements.
inline PhiloxWords philox_block(std::uint64_t seed, std::uint32_t stream, std::uint64_t block) {
  return philox4x32({static_cast<std::uint32_t>(seed), static_cast<std::uint32_t>(seed >> 32)},
                    {static_cast<std::uint32_t>(block), static_cast<std::uint32_t>(block >> 32), stream, 0u});
}

inline std::uint32_t philox_u32(std::uint64_t seed, std::uint32_t stream, std::uint64_t i) {
  return philox_block(seed, stream, i / 4)[i % 4];
}

// Uniform in [0, 1): 24 bits, so that every value is exact in float and 1 is never reached.
inline float uniform01_from_u32(std::uint32_t word) { return static_cast<float>(word >> 8) * 0x1p-24f; }

namespace detail {

// Natural logarithm of a normal, positive x. x = m·2^e with m in [√½, √2); ln m = 2·atanh(s), s = (m-1)/(m+1),
// |s| ≤ 0.1716, as a series in s² up to s^23: its remainder is below 1e-19, under double's rounding.
inline double ln_fixed_order(double x) {
  const std::uint64_t bits = std::bit_cast<std::uint64_t>(x);
  std::int64_t e = static_cast<std::int64_t>(bits >> 52) - 1023;
  double m = std::bit_cast<double>((bits & 0x000FFFFFFFFFFFFFull) | 0x3FF0000000000000ull);
  if (m > 1.4142135623730951) {
    m = m * 0.5;
    e = e + 1;
  }
  const double s = (m - 1.0) / (m + 1.0);
  const double z = s * s;
  double p = 1.0 / 23.0;
  p = p * z + 1.0 / 21.0;
  p = p * z + 1.0 / 19.0;
  p = p * z + 1.0 / 17.0;
  p = p * z + 1.0 / 15.0;
  p = p * z + 1.0 / 13.0;
  p = p * z + 1.0 / 11.0;
  p = p * z + 1.0 / 9.0;
  p = p * z + 1.0 / 7.0;
  p = p * z + 1.0 / 5.0;
  p = p * z + 1.0 / 3.0;
  p = p * z + 1.0;
  return static_cast<double>(e) * 0.6931471805599453 + (2.0 * s) * p;
}

// Tail of Acklam's approximation: u ≤ 0.02425 gives a value ≤ -1.97.
inline double acklam_tail(double u) {
  const double q = std::sqrt(-2.0 * ln_fixed_order(u));
  double num = -7.784894002430293e-03;
  num = num * q + -3.223964580411365e-01;
  num = num * q + -2.400758277161838e+00;
  num = num * q + -2.549732539343734e+00;
  num = num * q + 4.374664141464968e+00;
  num = num * q + 2.938163982698783e+00;
  double den = 7.784695709041462e-03;
  den = den * q + 3.224671290700398e-01;
  den = den * q + 2.445134137142996e+00;
  den = den * q + 3.754408661907416e+00;
  den = den * q + 1.0;
  return num / den;
}

}  // namespace detail

// Standard normal by the inverse of its distribution function (P. J. Acklam's rational approximation, relative error
// below 1.2e-9, so the one rounding to float hides it). The smallest word gives -6.34, the largest 6.34.
inline float normal_from_u32(std::uint32_t word) {
  const double u = (static_cast<double>(word) + 0.5) * 0x1p-32;  // in (0, 1), exact
  if (u < 0.02425) return static_cast<float>(detail::acklam_tail(u));
  if (u > 1.0 - 0.02425) return static_cast<float>(-detail::acklam_tail(1.0 - u));  // 1 - u is exact
  const double q = u - 0.5;
  const double r = q * q;
  double num = -3.969683028665376e+01;
  num = num * r + 2.209460984245205e+02;
  num = num * r + -2.759285104469687e+02;
  num = num * r + 1.383577518672690e+02;
  num = num * r + -3.066479806614716e+01;
  num = num * r + 2.506628277459239e+00;
  double den = -5.447609879822406e+01;
  den = den * r + 1.615858368580409e+02;
  den = den * r + -1.556989798598866e+02;
  den = den * r + 6.680131188771972e+01;
  den = den * r + -1.328068155288572e+01;
  den = den * r + 1.0;
  return static_cast<float>((num * q) / den);
}

inline float uniform01(std::uint64_t seed, std::uint32_t stream, std::uint64_t i) {
  return uniform01_from_u32(philox_u32(seed, stream, i));
}

// Element i of a stream at a step: what graph op kRandom (dropout) draws.
inline float random_at(std::uint64_t seed, std::uint32_t stream, std::uint32_t step, std::uint64_t i) {
  const std::uint64_t block = i / 4;
  const PhiloxWords words =
      philox4x32({static_cast<std::uint32_t>(seed), static_cast<std::uint32_t>(seed >> 32)},
                 {static_cast<std::uint32_t>(block), static_cast<std::uint32_t>(block >> 32), stream, step});
  return uniform01_from_u32(words[i % 4]);
}

inline float normal(std::uint64_t seed, std::uint32_t stream, std::uint64_t i) {
  return normal_from_u32(philox_u32(seed, stream, i));
}

}  // namespace tabgrad
