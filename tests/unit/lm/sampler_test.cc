// Drawing tokens: each option alone, the distribution, and that a draw can be repeated.
#include "lm/sampler.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/error.h"
#include "tensor/philox.h"

namespace tabgrad {
namespace {

const std::vector<float> kLogits{1.0f, 3.0f, -2.0f, 2.0f};

TEST(Sampler, ZeroTemperatureTakesTheLikeliest) {
  Sampler s({.temperature = 0});
  for (int i = 0; i < 5; ++i) EXPECT_EQ(s.pick(kLogits, {}, i), 1);
}

TEST(Sampler, DrawsAsOftenAsTheProbabilitySays) {
  Sampler s({.temperature = 0.5, .seed = 3});
  std::vector<int> counts(4);
  constexpr int kDraws = 20000;
  for (int i = 0; i < kDraws; ++i) ++counts[static_cast<std::size_t>(s.pick(kLogits, {}, i))];
  double total = 0;
  for (const float x : kLogits) total += std::exp(static_cast<double>(x) / 0.5);
  for (std::size_t i = 0; i < 4; ++i) {
    const double p = std::exp(static_cast<double>(kLogits[i]) / 0.5) / total;
    EXPECT_NEAR(counts[i], p * kDraws, 5 * std::sqrt(p * kDraws) + 1) << i;
  }
}

TEST(Sampler, ADrawDependsOnSeedAndNumberAlone) {
  Sampler a({.temperature = 2, .seed = 9}), b({.temperature = 2, .seed = 9}), c({.temperature = 2, .seed = 10});
  int same = 0;
  for (int i = 0; i < 100; ++i) {
    const std::int32_t x = a.pick(kLogits, {}, i);
    EXPECT_EQ(b.pick(kLogits, {}, i), x);
    same += c.pick(kLogits, {}, i) == x;
  }
  EXPECT_LT(same, 90);
}

TEST(Sampler, TopKAndTopPLeaveOutTheRest) {
  Sampler k({.temperature = 1, .top_k = 2});
  k.pick(kLogits, {}, 0);
  const auto kept = k.likeliest(10);
  ASSERT_EQ(kept.size(), 2u);
  EXPECT_EQ(kept[0].token, 1);
  EXPECT_EQ(kept[1].token, 3);
  EXPECT_NEAR(kept[0].probability, 1 / (1 + std::exp(-1.0)), 1e-6);
  EXPECT_EQ(k.likeliest(1).size(), 1u);
  Sampler p({.temperature = 1, .top_p = 0.6});  // the likeliest has 0.66
  for (int i = 0; i < 20; ++i) EXPECT_EQ(p.pick(kLogits, {}, i), 1);
  Sampler all({.temperature = 1});
  all.pick(kLogits, {}, 0);
  EXPECT_EQ(all.likeliest(10).size(), 4u);
}

// What sorting the whole vocabulary and walking down from the likeliest draws.
std::int32_t drawn_by_sorting(const std::vector<float>& logits, const SamplingOptions& o, std::int64_t draw) {
  std::vector<std::int32_t> order(logits.size());
  std::iota(order.begin(), order.end(), 0);
  const auto score = [&](std::int32_t id) { return static_cast<double>(logits[static_cast<std::size_t>(id)]); };
  std::stable_sort(order.begin(), order.end(), [&](std::int32_t a, std::int32_t b) { return score(a) > score(b); });
  if (o.top_k > 0) order.resize(std::min(order.size(), static_cast<std::size_t>(o.top_k)));
  std::vector<double> p;
  for (const std::int32_t id : order) p.push_back(std::exp((score(id) - score(order[0])) / o.temperature));
  const double total = std::accumulate(p.begin(), p.end(), 0.0);
  double kept = 0;
  std::size_t count = 0;
  while (count < p.size() && (count == 0 || kept < o.top_p * total)) kept += p[count++];
  double left = kept * static_cast<double>(uniform01(o.seed, 0x44524157, static_cast<std::uint64_t>(draw)));
  for (std::size_t i = 0; i < count; ++i) {
    left -= p[i];
    if (left < 0) return order[i];
  }
  return order[count - 1];
}

TEST(Sampler, SelectsWhatSortingWould) {
  for (const std::size_t size : {1u, 7u, 33u, 130u, 5000u}) {
    std::vector<float> logits(size);
    for (std::size_t i = 0; i < size; ++i) logits[i] = 2 * normal(4, 1, i);
    for (std::size_t i = 0; i + 1 < size; i += 5) logits[i] = logits[i + 1];  // equal ones
    for (const std::int64_t top_k : {0, 1, 3, 100})
      for (const double top_p : {1.0, 0.9, 0.3})
        for (const double temperature : {0.3, 1.0, 5.0}) {
          const SamplingOptions options{.temperature = temperature, .top_k = top_k, .top_p = top_p, .seed = 11};
          Sampler sampler(options);
          for (std::int64_t draw = 0; draw < 50; ++draw)
            ASSERT_EQ(sampler.pick(logits, {}, draw), drawn_by_sorting(logits, options, draw))
                << size << " tokens, top-k " << top_k << ", top-p " << top_p << ", temperature " << temperature;
        }
  }
}

TEST(Sampler, RepetitionPenaltyWeakensBothSigns) {
  const std::vector<std::int32_t> recent{1, 2, 1, 1};
  Sampler s({.temperature = 0, .repetition_penalty = 2});
  EXPECT_EQ(s.pick(kLogits, recent, 0), 3);  // 3/2 < 2
  Sampler drawn({.temperature = 1, .repetition_penalty = 2});
  drawn.pick(kLogits, recent, 0);
  EXPECT_EQ(drawn.likeliest(10).back().token, 2);  // −4
}

TEST(Sampler, BadOptionsAndBadLogitsAreNamed) {
  EXPECT_THROW(Sampler({.temperature = -1}), Error);
  EXPECT_THROW(Sampler({.top_p = 0}), Error);
  EXPECT_THROW(Sampler({.top_k = -1}), Error);
  EXPECT_THROW(Sampler({.repetition_penalty = 0.5}), Error);
  Sampler s({});
  EXPECT_THROW(s.pick(std::vector<float>{1, NAN}, {}, 0), Error);
}

}  // namespace
}  // namespace tabgrad
