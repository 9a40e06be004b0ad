// Draws the next token from a model's logits.
//
// Does: repetition penalty, temperature, top-k, top-p, in this order, then draws by Philox. Does not: run the model.
//
// Invariants: what is drawn depends on (seed, number of the draw, logits, recent tokens) alone. A draw takes time in proportion to
// the vocabulary: nothing sorts it.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace tabgrad {

struct SamplingOptions {
  double temperature = 0.8;  // 0: always the likeliest
  std::int64_t top_k = 0;  // only the k likeliest; 0: all
  double top_p = 1.0;  // the smallest set of likeliest tokens that has this probability (Holtzman et al. 2020)
  double repetition_penalty = 1;  // divides (or, below 0, multiplies) the logits of recent tokens (Keskar et al. 2019)
  std::uint64_t seed = 1;
  // By the session's entry `sample`, so that no logits are read back: another draw for a seed than the Sampler's, of the same
  // distribution. Not with a repetition penalty.
  bool on_device = false;
};
// Throws Error naming the option and what is allowed.
void check_sampling(const SamplingOptions& options);

struct Candidate {
  std::int32_t token = 0;
  float probability = 0;
};

class Sampler {
 public:
  explicit Sampler(const SamplingOptions& options);

  // draw: counts from 0. recent: the tokens that the repetition penalty is about.
  std::int32_t pick(std::span<const float> logits, std::span<const std::int32_t> recent, std::int64_t draw);
  // Of the last pick, after all options, the `most` likeliest, likeliest first (all where there are fewer); those left out by
  // top-k and top-p are absent.
  std::span<const Candidate> likeliest(std::size_t most);

 private:
  SamplingOptions options_;
  std::vector<float> scores_;
  std::vector<Candidate> candidates_;  // in no order
};

}  // namespace tabgrad
