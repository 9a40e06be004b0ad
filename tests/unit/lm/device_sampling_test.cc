// Drawing on the device: the likeliest at temperature 0, the distribution otherwise, and the same sets for top-k and top-p as the
// Sampler keeps.
#include <gtest/gtest.h>

#include <cmath>

#include "engine/engine.h"
#include "lm/generator.h"
#include "models/lm_entries.h"
#include "nn/parameters.h"
#include "tensor/philox.h"

namespace tabgrad {
namespace {

class DeviceSampler {
 public:
  explicit DeviceSampler(const std::vector<float>& logits)
      : session_(make_session({sampling_entry(static_cast<std::int64_t>(logits.size()))}, {.threads = 2})),
        size_(static_cast<std::int64_t>(logits.size())) {
    session_.write("cache.logits", logits.data(), size_);
  }
  std::int32_t pick(const SamplingOptions& o, std::uint32_t draw) {
    session_.set_uniform("sample.temperature", static_cast<float>(o.temperature));
    session_.set_uniform("sample.top_k", static_cast<float>(o.top_k > 0 ? std::min(o.top_k, size_) : size_));
    session_.set_uniform("sample.top_p", static_cast<float>(o.top_p));
    session_.set_random(o.seed, draw);
    session_.run("sample");
    return static_cast<std::int32_t>(session_.read_scalar("sample.token"));
  }

 private:
  Session session_;
  std::int64_t size_;
};

std::vector<float> some_logits(std::size_t size) {
  std::vector<float> logits(size);
  for (std::size_t i = 0; i < size; ++i) logits[i] = 2 * normal(4, 1, i);
  return logits;
}

TEST(DeviceSampling, ZeroTemperatureTakesTheLikeliest) {
  for (const std::size_t size : {1u, 7u, 33u, 130u, 5000u}) {
    std::vector<float> logits = some_logits(size);
    DeviceSampler device(logits);
    Sampler sampler({.temperature = 0});
    for (std::uint32_t draw = 0; draw < 5; ++draw)
      EXPECT_EQ(device.pick({.temperature = 0}, draw), sampler.pick(logits, {}, draw)) << size;
  }
  EXPECT_EQ(DeviceSampler({1, 3, 3, 2}).pick({.temperature = 0}, 0), 1);  // equal ones by id
}

TEST(DeviceSampling, DrawsAsOftenAsTheProbabilitySays) {
  const std::vector<float> logits = some_logits(33);
  DeviceSampler device(logits);
  constexpr int kDraws = 4000;
  for (const SamplingOptions& options : {SamplingOptions{.temperature = 1, .seed = 3},
                                         {.temperature = 0.5, .seed = 3},
                                         {.temperature = 2, .top_k = 5, .seed = 3},
                                         {.temperature = 1, .top_p = 0.7, .seed = 3},
                                         {.temperature = 1.5, .top_k = 20, .top_p = 0.8, .seed = 3}}) {
    Sampler sampler(options);
    sampler.pick(logits, {}, 0);
    std::vector<int> counts(logits.size());
    for (std::uint32_t draw = 0; draw < kDraws; ++draw) ++counts[static_cast<std::size_t>(device.pick(options, draw))];
    std::vector<double> expected(logits.size());
    for (const Candidate& c : sampler.likeliest(logits.size()))
      expected[static_cast<std::size_t>(c.token)] = static_cast<double>(c.probability) * kDraws;
    for (std::size_t i = 0; i < logits.size(); ++i) {
      if (expected[i] == 0) EXPECT_EQ(counts[i], 0) << "token " << i << " is left out, top-k " << options.top_k;
      EXPECT_NEAR(counts[i], expected[i], 5 * std::sqrt(expected[i]) + 1) << "token " << i << ", top-k " << options.top_k;
    }
  }
}

TEST(DeviceSampling, ALargeVocabularyStaysWithinItsEdges) {
  const std::vector<float> logits = some_logits(65536);
  DeviceSampler device(logits);
  for (const SamplingOptions& options : {SamplingOptions{.temperature = 1, .top_k = 40}, {.temperature = 1, .top_p = 0.01}}) {
    Sampler sampler(options);
    sampler.pick(logits, {}, 0);
    const auto kept = sampler.likeliest(logits.size());
    float least = logits[static_cast<std::size_t>(kept.back().token)];
    for (std::uint32_t draw = 0; draw < 40; ++draw)
      EXPECT_GE(logits[static_cast<std::size_t>(device.pick(options, draw))],
                least - 1e-4f);  // 10⁻⁶ of the range, and rounding
  }
}

TEST(DeviceSampling, TheGeneratorWritesTheSameGreedily) {
  for (const LmKind kind : {LmKind::kGpt, LmKind::kLstm}) {
    LmConfig c;
    c.kind = kind;
    c.layers = 1;
    c.width = 24;
    c.context = 12;
    BuiltModel model = build_lm_generation(c, true);
    model.entries.push_back(sampling_entry(c.vocabulary));
    Session session = make_session(model.entries, {.threads = 2});
    write_initial_values(session, model.parameters, 1);
    std::vector<std::vector<std::int32_t>> texts;
    for (const bool on_device : {false, true}) {
      Generator generator(session, c, {.temperature = 0, .on_device = on_device});
      generator.start({1, 2, 3});
      texts.emplace_back();
      for (int i = 0; i < 40; ++i) texts.back().push_back(generator.next());
    }
    EXPECT_EQ(texts[0], texts[1]) << lm_kind_name(kind);
  }
}

}  // namespace
}  // namespace tabgrad
