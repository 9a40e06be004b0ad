// Initial values: their distributions, that they are the same bits each time, and that their hash notices a change.
#include <gtest/gtest.h>

#include <cmath>

#include "nn/module.h"
#include "nn/parameters.h"
#include "nn/train_step.h"

namespace tabgrad {
namespace {

struct Moments {
  double mean = 0, std = 0, low = 0, high = 0;
};

Moments moments(const HostTensor& t) {
  Moments m;
  double squares = 0;
  for (const float v : t.f32) {
    m.mean += static_cast<double>(v);
    squares += static_cast<double>(v) * static_cast<double>(v);
    m.low = std::min(m.low, static_cast<double>(v));
    m.high = std::max(m.high, static_cast<double>(v));
  }
  const auto n = static_cast<double>(t.size());
  m.mean /= n;
  m.std = std::sqrt(squares / n - m.mean * m.mean);
  return m;
}

TEST(Parameters, Constants) {
  EXPECT_EQ(initial_value({"b", {3}, Init::zeros(), false}, 0, 1).f32, (std::vector<float>{0, 0, 0}));
  EXPECT_EQ(initial_value({"g", {2}, Init::ones(), false}, 0, 1).f32, (std::vector<float>{1, 1}));
  EXPECT_EQ(initial_value({"b", {4}, Init::segment(2.0, 1, 3), false}, 0, 1).f32, (std::vector<float>{0, 2, 2, 0}));
}

TEST(Parameters, Normal) {
  const Moments m = moments(initial_value({"w", {200, 301}, Init::normal(0.02), true}, 3, 7));
  EXPECT_NEAR(m.mean, 0, 3e-4);  // 0.02/√60200 = 8e-5
  EXPECT_NEAR(m.std, 0.02, 3e-4);
}

TEST(Parameters, Uniform) {
  const Moments m = moments(initial_value({"w", {100, 101}, Init::uniform(0.5), true}, 0, 7));
  EXPECT_GE(m.low, -0.5);
  EXPECT_LT(m.high, 0.5);
  EXPECT_NEAR(m.std, 0.5 / std::sqrt(3.0), 0.01);
  const double bound = std::sqrt(6.0 / (3.0 * (40 + 20)));  // three taps
  const Moments conv = moments(initial_value({"w", {3, 40, 20}, Init::glorot_uniform(), true}, 0, 7));
  EXPECT_GE(conv.low, -bound);
  EXPECT_LT(conv.high, bound);
  EXPECT_GT(conv.high, 0.98 * bound);
}

// Largest difference between W·Wᵀ (or WᵀW, where that is the smaller) and the identity, for a block of W's columns.
double frame_error(const HostTensor& w, std::int64_t blocks = 1, std::int64_t block = 0) {
  const std::int64_t rows = w.dims[0], columns = w.dims[1] / blocks;
  const bool wide = rows <= columns;
  const std::int64_t n = wide ? rows : columns, k = wide ? columns : rows;
  auto at = [&](std::int64_t i, std::int64_t j) {
    return static_cast<double>(w.f32[static_cast<std::size_t>((wide ? i : j) * w.dims[1] + block * columns + (wide ? j : i))]);
  };
  double worst = 0;
  for (std::int64_t a = 0; a < n; ++a)
    for (std::int64_t b = 0; b < n; ++b) {
      double dot = 0;
      for (std::int64_t i = 0; i < k; ++i) dot += at(a, i) * at(b, i);
      worst = std::max(worst, std::abs(dot - (a == b ? 1.0 : 0.0)));
    }
  return worst;
}

TEST(Parameters, Orthogonal) {
  for (const Dims& dims : {Dims{32, 128}, Dims{64, 64}, Dims{50, 13}, Dims{1, 4}, Dims{5, 1}})
    EXPECT_LT(frame_error(initial_value({"wh", dims, Init::orthogonal(), true}, 2, 11)), 2e-6) << to_string(dims);
  const HostTensor gates = initial_value({"wh", {32, 128}, Init::orthogonal(1.0, 4), true}, 2, 11);
  for (std::int64_t gate = 0; gate < 4; ++gate) EXPECT_LT(frame_error(gates, 4, gate), 2e-6);
}

// The bits are pinned: another compiler or target must give these hashes, or runs can no longer be repeated.
TEST(Parameters, SameBitsEverywhere) {
  const std::vector<ParameterSpec> list{
      {"n", {33, 7}, Init::normal(0.02), true},       {"u", {5}, Init::uniform(0.1), false},
      {"g", {12, 34}, Init::glorot_uniform(), true},  {"o", {24, 96}, Init::orthogonal(), true},
      {"tall", {40, 9}, Init::orthogonal(1.5), true}, {"gates", {8, 24}, Init::orthogonal(1.0, 3), true},
      {"b", {96}, Init::segment(1.0, 24, 48), false},
  };
  EXPECT_EQ(parameter_count(list), 231 + 5 + 408 + 2304 + 360 + 192 + 96);
  EXPECT_EQ(hash_text(hash_values(initial_values(list, 1))), "0x739e470566d1cfb9");
  EXPECT_EQ(hash_text(hash_values(initial_values(list, 0x123456789ABCDEF0u))), "0x909ee088cbe59c8a");
}

TEST(Parameters, HashNoticesOneBit) {
  NamedTensors values = initial_values({{"n", {33, 7}, Init::normal(0.02), true}}, 1);
  const std::uint64_t before = hash_values(values);
  values[0].second.f32[100] = std::nextafter(values[0].second.f32[100], 1.0f);
  EXPECT_NE(hash_values(values), before);
}

TEST(Builder, SharesAParameterAndRefusesAContradiction) {
  Graph g;
  Builder b(g, true);
  const Tensor w = b.param("w", {2, 3}, Init::zeros(), true);
  EXPECT_EQ(b.param("w", {2, 3}, Init::zeros(), true).value, w.value);
  EXPECT_EQ(b.parameters().size(), 1u);
  EXPECT_THROW(b.param("w", {3, 2}, Init::zeros(), true), Error);
}

TEST(Builder, DropoutIsInTrainingOnly) {
  for (const bool training : {true, false}) {
    Graph g;
    Builder b(g, training);
    const Tensor x = input(g, "x", {4, 4});
    EXPECT_EQ(b.dropout(x, 0.5).value == x.value, !training);
    EXPECT_EQ(b.dropout(x, 0.0).value, x.value);
  }
}

TEST(TrainStep, UniformsOfAdam) {
  const OptimizerConfig adam;
  const StepUniforms first = step_uniforms(adam, 1e-3, 1), later = step_uniforms(adam, 1e-3, 1000);
  EXPECT_FLOAT_EQ(first.bias1, 0.1f);
  EXPECT_FLOAT_EQ(first.bias2, 0.001f);
  EXPECT_FLOAT_EQ(later.bias1, static_cast<float>(1 - std::pow(0.9, 1000)));
  EXPECT_FLOAT_EQ(later.bias2, static_cast<float>(1 - std::pow(0.999, 1000)));
}

}  // namespace
}  // namespace tabgrad
