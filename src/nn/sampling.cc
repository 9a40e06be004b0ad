#include "nn/sampling.h"

namespace tabgrad {
namespace {

constexpr std::uint32_t kGumbelStream = 0x47554D42;
constexpr double kLeftOut = -1e30;      // finite: GPU languages have no infinity
constexpr double kLeast = 0x1p-25;      // of what a logarithm is taken: half of a uniform's step
constexpr double kColdest = 1e-6;       // temperature of top-p's probabilities
constexpr int kWays = 32,
              kRounds = 4;  // an edge is found to 32⁻⁴ ≈ 10⁻⁶ of the logits' range: some steps of an f32 of that size

// How far below the top the edge lies: the least distance within which the tokens have `target` of `weight` together. Each round
// looks at kWays places in what is left.
// below, weight (1,V), the rest (1).
Tensor edge(Tensor below, Tensor weight, Tensor target, Tensor range) {
  Graph& g = *below.graph;
  Tensor low = constant(g, 0.0, {1}), width = range;
  for (int round = 0; round < kRounds; ++round) {
    const Tensor step = width * (1.0 / kWays);
    const Tensor places = reshape(low, {1, 1}) + (iota(g, {kWays, 1}, 0) + 1.0) * reshape(step, {1, 1});
    const Tensor within = sum(select(less(places, below), constant(g, 0.0), weight), {1});  // (kWays)
    low = low + sum(less(within, target), {0}, true) * step;
    width = step;
  }
  return low + width;
}

}  // namespace

Tensor sample_token(Tensor logits) {
  Graph& g = *logits.graph;
  const std::int64_t v = logits.dim(0);
  const Tensor scores = reshape(logits, {1, v});
  const auto scalar = [&](const char* name) { return reshape(uniform(g, name), {1}); };
  const Tensor temperature = scalar("sample.temperature");
  const Tensor below = reshape(max(scores, {1}), {1, 1}) - scores;
  const Tensor range = max(below, {1});
  const Tensor ones = constant(g, 1.0, {1, v}), zero = constant(g, 0.0);
  const Tensor top_k = reshape(edge(below, ones, scalar("sample.top_k"), range), {1, 1});
  const Tensor mass =
      select(less(top_k, below), zero, exp(-below / reshape(maximum(temperature, constant(g, kColdest)), {1, 1})));
  const Tensor top_p = reshape(edge(below, mass, sum(mass, {1}) * scalar("sample.top_p"), range), {1, 1});
  const Tensor least = constant(g, kLeast);
  const Tensor noise = -log(maximum(-log(maximum(random_uniform(g, {1, v}, kGumbelStream), least)), least));
  const Tensor left_out = maximum(less(top_k, below), less(top_p, below));
  const Tensor drawn = select(left_out, constant(g, kLeftOut), scores + reshape(temperature, {1, 1}) * noise);
  const Tensor best = reshape(max(drawn, {1}), {1, 1});
  const auto count = static_cast<double>(v);
  const Tensor from_end = select(equal(drawn, best), constant(g, count) - iota(g, {1, v}, 1), zero);
  return constant(g, count) - max(from_end, {1});
}

}  // namespace tabgrad
