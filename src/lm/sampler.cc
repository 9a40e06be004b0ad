#include "lm/sampler.h"

#include <algorithm>
#include <cmath>

#include "base/option_check.h"
#include "tensor/philox.h"

namespace tabgrad {
namespace {

constexpr std::uint32_t kDrawStream = 0x44524157;

}  // namespace

void check_sampling(const SamplingOptions& o) {
  need_option(o.temperature >= 0 && o.temperature <= 100, "temperature", o.temperature,
              "give a number from 0 (the likeliest) to 100");
  need_option(o.top_k >= 0, "top-k", o.top_k, "give a number of tokens, or 0 for all");
  need_option(o.top_p > 0 && o.top_p <= 1, "top-p", o.top_p, "give a probability above 0, at most 1");
  need_option(o.repetition_penalty >= 1 && o.repetition_penalty <= 100, "repetition-penalty", o.repetition_penalty,
              "give a number from 1 (none) to 100");
}

Sampler::Sampler(const SamplingOptions& options) : options_(options) { check_sampling(options_); }

std::int32_t Sampler::pick(std::span<const float> logits, std::span<const std::int32_t> recent, std::int64_t draw) {
  scores_.assign(logits.begin(), logits.end());
  for (const float score : scores_)
    if (!std::isfinite(score))
      fail("the model's output is not a finite number: its weights are damaged or its training diverged");
  if (options_.repetition_penalty != 1) {
    const auto penalty = static_cast<float>(options_.repetition_penalty);
    for (const std::int32_t id : recent) {  // each once, however often it occurred
      float& score = scores_[static_cast<std::size_t>(id)];
      const float original = logits[static_cast<std::size_t>(id)];
      score = original > 0 ? original / penalty : original * penalty;
    }
  }
  candidates_.resize(scores_.size());
  for (std::size_t i = 0; i < scores_.size(); ++i) candidates_[i] = {static_cast<std::int32_t>(i), scores_[i]};
  // Equal scores by id, so that every target draws alike.
  std::sort(candidates_.begin(), candidates_.end(), [](const Candidate& a, const Candidate& b) {
    return a.probability != b.probability ? a.probability > b.probability : a.token < b.token;
  });
  const bool greedy = options_.temperature == 0;
  if (options_.top_k > 0 && static_cast<std::size_t>(options_.top_k) < candidates_.size())
    candidates_.resize(static_cast<std::size_t>(options_.top_k));
  const double temperature = greedy ? 1.0 : options_.temperature;
  const double top = static_cast<double>(candidates_.front().probability);
  double total = 0;
  for (Candidate& c : candidates_) {
    const double weight = std::exp((static_cast<double>(c.probability) - top) / temperature);
    c.probability = static_cast<float>(weight);
    total += weight;
  }
  double kept = 0;
  std::size_t count = 0;
  while (count < candidates_.size() && (count == 0 || kept < options_.top_p * total))
    kept += static_cast<double>(candidates_[count++].probability);
  candidates_.resize(count);
  for (Candidate& c : candidates_) c.probability = static_cast<float>(static_cast<double>(c.probability) / kept);
  if (greedy) return candidates_.front().token;
  double left = static_cast<double>(uniform01(options_.seed, kDrawStream, static_cast<std::uint64_t>(draw)));
  for (const Candidate& c : candidates_) {
    left -= static_cast<double>(c.probability);
    if (left < 0) return c.token;
  }
  return candidates_.back().token;  // rounding
}

}  // namespace tabgrad
