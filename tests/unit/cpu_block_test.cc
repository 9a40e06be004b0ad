// Block functions: accuracy of every scalar op over its domain and at special values, tails and in-place use, constant
// forms, reductions in 16 lanes, Philox bits.
#include <algorithm>
#include <limits>

#include "graph/evaluate.h"
#include "unit/cpu_test_util.h"

namespace tabgrad::cpu::testing {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();

// The documented error: 4 ULP of the result (half for what IEEE rounds, one for Rsqrt's two roundings), and for those with
// zeros an absolute 1e-7 where the result is below 1e-3.
double allowed(ScalarOp op, double result) {
  const double size = std::max(std::fabs(result), static_cast<double>(std::numeric_limits<float>::min()));
  const double ulp = std::ldexp(1.0, std::ilogb(size) - 23);
  switch (op) {
    case ScalarOp::kTanh:
    case ScalarOp::kErf:
    case ScalarOp::kSin:
    case ScalarOp::kCos: return std::fabs(result) < 1e-3 ? 1e-7 : 4 * ulp;
    case ScalarOp::kExp:
    case ScalarOp::kLog:
    case ScalarOp::kSigmoid: return 4 * ulp;
    case ScalarOp::kGelu:
    case ScalarOp::kGeluSlope: return std::max(5e-7, 4 * ulp);  // Φ is 1 + erf in f32: absolute in the negative tail
    case ScalarOp::kRsqrt: return 1.5 * ulp;
    default: return 0.5000001 * ulp;
  }
}

TG_CPU_TEST(CpuBlock, EveryOpIsAsAccurateAsItSays) {
  constexpr int64_t kSize = 1000;  // no whole number of vectors
  for (int i = 0; i < kScalarOpCount; ++i) {
    const auto op = static_cast<ScalarOp>(i);
    const ScalarInfo& info = scalar_info(op);
    const auto low = static_cast<float>(info.low), high = static_cast<float>(info.high);
    for (std::uint64_t round = 0; round < 200; ++round) {
      Floats a = random_floats(kSize, 3 * round + 1, low, high), b = random_floats(kSize, 3 * round + 2, low, high);
      const Floats c = random_floats(kSize, 3 * round + 3, low, high);
      for (std::size_t k = 0; k < a.size(); k += 7) b[k] = a[k];  // equal arguments
      if (info.low < 0) {
        for (std::size_t k = 3; k < a.size(); k += 7) a[k] *= 1e-3f;  // near zero
        if (op == ScalarOp::kSelect || op == ScalarOp::kSign) a[5] = 0.0f;
      }
      Floats out(a.size());
      block_op(op)(a.data(), info.arity > 1 ? b.data() : nullptr, info.arity > 2 ? c.data() : nullptr, out.data(), kSize);
      for (std::size_t k = 0; k < a.size(); ++k) {
        const double want = scalar_value(op, static_cast<double>(a[k]), static_cast<double>(b[k]), static_cast<double>(c[k]));
        const double error = std::fabs(static_cast<double>(out[k]) - want);
        ASSERT_LE(error, allowed(op, want))
            << info.name << "(" << a[k] << ", " << b[k] << ") = " << out[k] << ", want " << want;
      }
    }
  }
}

float one(ScalarOp op, float x) {
  float out = 0.0f;
  block_op(op)(&x, nullptr, nullptr, &out, 1);
  return out;
}

TG_CPU_TEST(CpuBlock, SpecialValues) {
  EXPECT_EQ(one(ScalarOp::kExp, 89.0f), kInf);
  EXPECT_EQ(one(ScalarOp::kExp, 1e9f), kInf);
  EXPECT_EQ(one(ScalarOp::kExp, -1e9f), 0.0f);
  EXPECT_EQ(one(ScalarOp::kExp, 0.0f), 1.0f);
  EXPECT_EQ(one(ScalarOp::kExp, kInf), kInf);
  EXPECT_EQ(one(ScalarOp::kExp, -kInf), 0.0f);
  EXPECT_NEAR(static_cast<double>(one(ScalarOp::kExp, -100.0f)), std::exp(-100.0), 1e-44);
  EXPECT_NEAR(static_cast<double>(one(ScalarOp::kExp, 88.7f)), std::exp(static_cast<double>(88.7f)), 1e32);
  EXPECT_EQ(one(ScalarOp::kLog, 0.0f), -kInf);
  EXPECT_EQ(one(ScalarOp::kLog, kInf), kInf);
  EXPECT_TRUE(std::isnan(one(ScalarOp::kLog, -1.0f)));
  EXPECT_NEAR(static_cast<double>(one(ScalarOp::kLog, 1e-40f)), std::log(static_cast<double>(1e-40f)), 1e-4);
  EXPECT_EQ(one(ScalarOp::kTanh, 1e9f), 1.0f);
  EXPECT_EQ(one(ScalarOp::kTanh, -kInf), -1.0f);
  EXPECT_EQ(one(ScalarOp::kTanh, 0.0f), 0.0f);
  EXPECT_EQ(one(ScalarOp::kSigmoid, 1e9f), 1.0f);
  EXPECT_LT(one(ScalarOp::kSigmoid, -1e9f), 1e-37f);
  EXPECT_EQ(one(ScalarOp::kSigmoid, 0.0f), 0.5f);
  EXPECT_EQ(one(ScalarOp::kErf, 1e9f), 1.0f);
  EXPECT_EQ(one(ScalarOp::kErf, -kInf), -1.0f);
  EXPECT_EQ(one(ScalarOp::kErf, 0.0f), 0.0f);
  for (const ScalarOp op : {ScalarOp::kNeg, ScalarOp::kExp, ScalarOp::kLog, ScalarOp::kSqrt, ScalarOp::kTanh,
                            ScalarOp::kSigmoid, ScalarOp::kErf, ScalarOp::kSin, ScalarOp::kCos, ScalarOp::kSign}) {
    EXPECT_TRUE(std::isnan(one(op, NAN))) << scalar_info(op).name;
  }
  for (const ScalarOp op : {ScalarOp::kMax, ScalarOp::kMin}) {
    const float a[] = {NAN, 1.0f}, b[] = {1.0f, NAN};
    float out[2];
    block_op(op)(a, b, nullptr, out, 2);
    EXPECT_TRUE(std::isnan(out[0]) && std::isnan(out[1])) << scalar_info(op).name;
  }
}

TG_CPU_TEST(CpuBlock, TailsInPlaceAndConstants) {
  for (const int64_t n : {1, 7, 33, 130, 1024}) {
    const Floats a = random_floats(n, 1, 0.5f, 2), b = random_floats(n, 2, 0.5f, 2);
    for (int i = 0; i < kScalarOpCount; ++i) {
      const auto op = static_cast<ScalarOp>(i);
      Floats out(a.size() + 1, 9.0f), in_place = a;
      block_op(op)(a.data(), b.data(), b.data(), out.data(), n);
      block_op(op)(in_place.data(), b.data(), b.data(), in_place.data(), n);
      EXPECT_EQ(out.back(), 9.0f) << scalar_info(op).name;
      out.pop_back();
      EXPECT_TRUE(same_bits(out, in_place)) << scalar_info(op).name;
      const Floats constant(a.size(), 1.25f);
      if (const BlockOpConst right = block_op_const_right(op); right != nullptr) {
        Floats want(a.size()), got(a.size());
        block_op(op)(a.data(), constant.data(), nullptr, want.data(), n);
        right(a.data(), 1.25f, got.data(), n);
        EXPECT_TRUE(same_bits(want, got)) << scalar_info(op).name;
        block_op(op)(constant.data(), a.data(), nullptr, want.data(), n);
        block_op_const_left(op)(a.data(), 1.25f, got.data(), n);
        EXPECT_TRUE(same_bits(want, got)) << scalar_info(op).name;
      } else {
        EXPECT_NE(scalar_info(op).arity, 2) << scalar_info(op).name;
      }
    }
  }
}

TG_CPU_TEST(CpuBlock, ReductionsInSixteenLanes) {
  for (const int64_t n : {0, 1, 7, 16, 33, 130, 1024}) {
    const Floats x = random_floats(n, 1);
    float lanes[16] = {}, best = -kInf;
    for (int64_t i = 0; i < n; ++i) {
      lanes[i % 16] += x[static_cast<std::size_t>(i)];
      best = std::max(best, x[static_cast<std::size_t>(i)]);
    }
    for (int half = 8; half > 0; half /= 2) {
      for (int i = 0; i < half; ++i) lanes[i] += lanes[i + half];
    }
    EXPECT_EQ(block_sum(x.data(), n), lanes[0]) << n;
    EXPECT_EQ(block_max(x.data(), n), best) << n;
    Floats sum = random_floats(n, 2), max = sum;
    const Floats before = sum;
    block_accumulate_sum(x.data(), sum.data(), n);
    block_accumulate_max(x.data(), max.data(), n);
    for (std::size_t i = 0; i < x.size(); ++i) {
      EXPECT_EQ(sum[i], before[i] + x[i]);
      EXPECT_EQ(max[i], std::max(before[i], x[i]));
    }
  }
}

TG_CPU_TEST(CpuBlock, RandomHasPhiloxBits) {
  const std::uint64_t seed = 0x123456789ABCDEFull;
  for (const std::uint64_t first : {std::uint64_t{0}, std::uint64_t{3}, std::uint64_t{0xFFFFFFFFull} * 4 - 100}) {
    for (const std::uint32_t step : {0u, 7u}) {
      Floats out(1000);
      block_random(seed, 5, step, first, out.data(), 1000);
      for (std::uint64_t i = 0; i < 1000; ++i) {
        const std::uint64_t block = (first + i) / 4;
        const PhiloxWords words =
            philox4x32({static_cast<std::uint32_t>(seed), static_cast<std::uint32_t>(seed >> 32)},
                       {static_cast<std::uint32_t>(block), static_cast<std::uint32_t>(block >> 32), 5u, step});
        ASSERT_EQ(out[i], uniform01_from_u32(words[(first + i) % 4])) << first + i;
        if (step == 0) ASSERT_EQ(out[i], uniform01(seed, 5, first + i));
      }
    }
  }
}

TG_CPU_TEST(CpuBlock, NamesItsInstructionSet) { EXPECT_NE(std::string(instruction_set()), ""); }

}  // namespace
}  // namespace tabgrad::cpu::testing
