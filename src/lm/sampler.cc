#include "lm/sampler.h"

#include <algorithm>
#include <cmath>

#include "base/option_check.h"
#include "tensor/philox.h"

namespace tabgrad {
namespace {

constexpr std::uint32_t kDrawStream = 0x44524157;
constexpr std::ptrdiff_t kFew = 32;  // candidates that are sorted rather than split once more
constexpr std::ptrdiff_t kFirstLook = 128,
                         kGrowth = 8;  // so many of the likeliest are looked at first, then so many times more

// Likeliest first, by score: probabilities of close scores round to one. Equal ones by id, so that every target draws alike.
struct Likelier {
  const std::vector<float>& scores;
  bool operator()(const Candidate& a, const Candidate& b) const {
    const float x = scores[static_cast<std::size_t>(a.token)], y = scores[static_cast<std::size_t>(b.token)];
    return x != y ? x > y : a.token < b.token;
  }
};

// How many of the likeliest candidates it takes until their probabilities add up to `mass` (`beyond`: to more than that); all
// when they do not. They then stand in front, the last of them at their end. Quickselect by mass; what is wanted is nearly always
// among the first.
std::size_t take_mass(std::vector<Candidate>& candidates, const Likelier& likelier, double mass, bool beyond) {
  const auto reached = [&](double sum) { return beyond ? sum > mass : sum >= mass; };
  auto first = candidates.begin(), last = candidates.end();
  double before = 0;  // the sum of those in front of `first`
  std::ptrdiff_t look = kFirstLook;
  while (last - first > kFew) {
    const auto middle = first + std::min(look, (last - first) / 2);
    std::nth_element(first, middle, last, likelier);
    double upper = before;
    for (auto c = first; c != middle; ++c) upper += static_cast<double>(c->probability);
    if (reached(upper)) {
      last = middle;
    } else {
      first = middle;
      before = upper;
      look *= kGrowth;
    }
  }
  std::sort(first, last, likelier);
  for (auto c = first; c != last; ++c) {
    before += static_cast<double>(c->probability);
    if (reached(before)) return static_cast<std::size_t>(c - candidates.begin()) + 1;
  }
  return static_cast<std::size_t>(last - candidates.begin());
}

}  // namespace

void check_sampling(const SamplingOptions& o) {
  need_option(o.temperature >= 0 && o.temperature <= 100, "temperature", o.temperature,
              "give a number from 0 (the likeliest) to 100");
  need_option(o.top_k >= 0, "top-k", o.top_k, "give a number of tokens, or 0 for all");
  need_option(o.top_p > 0 && o.top_p <= 1, "top-p", o.top_p, "give a probability above 0, at most 1");
  need_option(o.repetition_penalty >= 1 && o.repetition_penalty <= 100, "repetition-penalty", o.repetition_penalty,
              "give a number from 1 (none) to 100");
  if (o.on_device && o.repetition_penalty != 1) fail("--sample-on-device does not go with --repetition-penalty.");
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
  const Likelier likelier{scores_};
  candidates_.resize(scores_.size());
  for (std::size_t i = 0; i < scores_.size(); ++i) candidates_[i].token = static_cast<std::int32_t>(i);
  if (options_.top_k > 0 && static_cast<std::size_t>(options_.top_k) < candidates_.size()) {
    std::nth_element(candidates_.begin(), candidates_.begin() + options_.top_k, candidates_.end(), likelier);
    candidates_.resize(static_cast<std::size_t>(options_.top_k));
  }
  const std::int32_t best = std::min_element(candidates_.begin(), candidates_.end(), likelier)->token;
  const auto score = [&](std::int32_t token) { return static_cast<double>(scores_[static_cast<std::size_t>(token)]); };
  const bool greedy = options_.temperature == 0;
  const double temperature = greedy ? 1.0 : options_.temperature;
  double total = 0;
  for (Candidate& c : candidates_) {
    c.probability = static_cast<float>(std::exp((score(c.token) - score(best)) / temperature));
    total += static_cast<double>(c.probability);
  }
  if (options_.top_p < 1) {
    candidates_.resize(take_mass(candidates_, likelier, options_.top_p * total, false));
    total = 0;
    for (const Candidate& c : candidates_) total += static_cast<double>(c.probability);
  }
  for (Candidate& c : candidates_) c.probability = static_cast<float>(static_cast<double>(c.probability) / total);
  if (greedy) return best;
  const auto u = static_cast<double>(uniform01(options_.seed, kDrawStream, static_cast<std::uint64_t>(draw)));
  return candidates_[take_mass(candidates_, likelier, u, true) - 1].token;
}

std::span<const Candidate> Sampler::likeliest(std::size_t most) {
  most = std::min(most, candidates_.size());
  std::partial_sort(candidates_.begin(), candidates_.begin() + static_cast<std::ptrdiff_t>(most), candidates_.end(),
                    Likelier{scores_});
  return std::span(candidates_).first(most);
}

}  // namespace tabgrad
