// Helpers of the CPU kernel tests: random data, runs on 1, 2 and 3 threads whose bits must agree, comparison with doubles,
// and every test once per instruction set that this machine has.
#pragma once

#include <gtest/gtest.h>
#include <hwy/targets.h>

#include <cmath>
#include <cstdint>
#include <cstring>
#include <functional>
#include <new>
#include <string>
#include <vector>

#include "backend/cpu/kernels.h"
#include "tensor/philox.h"

namespace tabgrad::cpu::testing {

using std::int64_t;
using Floats = std::vector<float>;
using Doubles = std::vector<double>;

inline Floats random_floats(int64_t n, std::uint64_t seed, float low = -1.0f, float high = 1.0f) {
  Floats x(static_cast<std::size_t>(n));
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = low + (high - low) * uniform01(seed, 0, i);
  return x;
}

inline Doubles to_double(const Floats& x) { return Doubles(x.begin(), x.end()); }

// Scratch of exactly the size asked for, aligned as promised, with a guard behind it.
class TestScratch {
 public:
  explicit TestScratch(int64_t floats) : floats_(floats) {
    data_ = static_cast<float*>(::operator new(bytes(), std::align_val_t{64}));
    for (int64_t i = 0; i < floats_ + kGuard; ++i) data_[i] = kMark;
  }
  ~TestScratch() {
    for (int64_t i = 0; i < kGuard; ++i) EXPECT_EQ(data_[floats_ + i], kMark) << "scratch overrun at " << i;
    ::operator delete(data_, std::align_val_t{64});
  }
  TestScratch(const TestScratch&) = delete;
  TestScratch& operator=(const TestScratch&) = delete;
  Scratch get() { return {data_, floats_}; }

 private:
  static constexpr int64_t kGuard = 64;
  static constexpr float kMark = 12345.0f;
  std::size_t bytes() const { return static_cast<std::size_t>(floats_ + kGuard) * sizeof(float); }
  float* data_;
  int64_t floats_;
};

inline ThreadPool& pool_of(int threads) {
  static ThreadPool one(1), two(2), three(3);
  return threads == 1 ? one : threads == 2 ? two : three;
}

inline bool same_bits(const Floats& a, const Floats& b) {
  return a.size() == b.size() && (a.empty() || std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0);
}

// Runs the body with each instruction set of this machine that the kernels were compiled for.
inline void with_every_instruction_set(void (*body)()) {
  const auto choose = [](int64_t targets) {
    hwy::SetSupportedTargetsForTest(targets);  // 0: all again
    hwy::GetChosenTarget().Update(hwy::SupportedTargets());
  };
  std::string last;
  int64_t remaining = hwy::SupportedTargets();
  while (remaining != 0) {  // lower bits are better sets; the kernels take the best one that they have
    choose(remaining);
    if (instruction_set() != last) {
      last = instruction_set();
      SCOPED_TRACE(last);
      body();
    }
    remaining &= remaining - 1;
  }
  choose(0);
}

// As TEST, on every instruction set.
#define TG_CPU_TEST(suite, name)                                    \
  static void suite##_##name();                                     \
  TEST(suite, name) { with_every_instruction_set(suite##_##name); } \
  static void suite##_##name()

// What a kernel wrote: one array per output.
using Outputs = std::vector<Floats>;

// Runs on 1, 2 and 3 threads, requires equal bits, gives the outputs.
inline Outputs run_on_threads(const std::function<Outputs(ThreadPool&)>& run) {
  const Outputs first = run(pool_of(1));
  for (int threads = 2; threads <= 3; ++threads) {
    const Outputs other = run(pool_of(threads));
    for (std::size_t i = 0; i < first.size(); ++i) {
      EXPECT_TRUE(same_bits(first[i], other[i])) << "output " << i << " differs on " << threads << " threads";
    }
  }
  return first;
}

// max |got − want| ≤ tolerance · max(1, max |want|)
inline void expect_close(const Floats& got, const Doubles& want, double tolerance, const std::string& what) {
  ASSERT_EQ(got.size(), want.size()) << what;
  double largest = 1.0, worst = 0.0;
  std::size_t at = 0;
  for (std::size_t i = 0; i < got.size(); ++i) {
    largest = std::max(largest, std::fabs(want[i]));
    const double difference = std::fabs(static_cast<double>(got[i]) - want[i]);
    if (!(difference <= worst)) {
      worst = difference;
      at = i;
    }
  }
  EXPECT_LE(worst, tolerance * largest) << what << "[" << at << "]: " << (got.empty() ? 0.0f : got[at]) << " for "
                                        << (want.empty() ? 0.0 : want[at]);
}

// Checks the gradient `dx` of loss(x) along random directions and along single elements, by central differences in double.
inline void expect_gradient(const Floats& x, const Floats& dx, const std::function<double(const Doubles&)>& loss,
                            const std::string& what, double tolerance = 2e-5) {
  ASSERT_EQ(x.size(), dx.size()) << what;
  if (x.empty()) return;
  constexpr double kStep = 1e-5;
  double norm = 0.0;
  for (const float g : dx) norm += static_cast<double>(g) * g;
  norm = std::sqrt(norm);
  for (std::uint64_t trial = 0; trial < 6; ++trial) {
    Doubles direction(x.size(), 0.0);
    if (trial < 2) {
      for (std::size_t i = 0; i < x.size(); ++i) direction[i] = 2.0 * uniform01(77, static_cast<std::uint32_t>(trial), i) - 1.0;
    } else {
      direction[static_cast<std::size_t>(philox_u32(78, 0, trial)) % x.size()] = 1.0;
    }
    Doubles up = to_double(x), down = up;
    double expected = 0.0, length = 0.0;
    for (std::size_t i = 0; i < x.size(); ++i) {
      up[i] += kStep * direction[i];
      down[i] -= kStep * direction[i];
      expected += direction[i] * static_cast<double>(dx[i]);
      length += direction[i] * direction[i];
    }
    const double measured = (loss(up) - loss(down)) / (2.0 * kStep);
    EXPECT_NEAR(expected, measured, tolerance * std::max(1.0, norm) * std::sqrt(length) + 1e-6) << what << ", trial " << trial;
  }
}

// Σ weights·y: a loss whose gradient with respect to y is `weights`.
inline double weigh(const Doubles& y, const Floats& weights) {
  double sum = 0.0;
  for (std::size_t i = 0; i < y.size(); ++i) sum += y[i] * static_cast<double>(weights[i]);
  return sum;
}

}  // namespace tabgrad::cpu::testing
