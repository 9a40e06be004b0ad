#include "engine/self_test.h"

#include <cmath>
#include <map>

#include "graph/autodiff.h"
#include "graph/compose/compose.h"
#include "tensor/philox.h"

namespace tabgrad {
namespace {

// Sizes that no tile divides.
constexpr std::int64_t kRows = 50, kIn = 37, kHidden = 70, kClasses = 19;
constexpr std::uint64_t kSeed = 1;
// Targets differ by some 1e-6; a wrong kernel by far more.
constexpr double kTolerance = 1e-4;
// The step stores five activations one after another as f16, each off by up to 2^-11 of itself.
constexpr double kTolerance16 = 5 * 0x1p-11;

using Values = std::map<std::string, std::vector<float>>;

EntryGraph small_step() {
  EntryGraph entry;
  entry.name = "test";
  Graph& g = entry.graph;
  const Tensor x = input(g, "x", {kRows, kIn}), w1 = input(g, "w1", {kIn, kHidden}), gamma = input(g, "gamma", {kHidden}),
               beta = input(g, "beta", {kHidden}), w2 = input(g, "w2", {kHidden, kClasses});
  const Tensor ids = input(g, "ids", {kRows}, Role::kInput, DType::kI32);
  const Tensor hidden = layer_norm(gelu(matmul(x, w1)), gamma, beta);
  const Tensor loss = mean(cross_entropy(matmul(dropout(hidden, 0.25, 1), w2), ids), {0});
  g.outputs = {{"loss", loss.value}, {"random", random_uniform(g, {kRows, kIn}, 2).value}};
  const std::vector<Tensor> wrt{w1, gamma, beta, w2};
  const std::vector<Tensor> grads = gradients(loss, wrt);
  for (std::size_t i = 0; i < wrt.size(); ++i) g.outputs.push_back({"d_" + g.node(wrt[i].value).name, grads[i].value});
  return entry;
}

Values run(const EntryGraph& entry, const SessionOptions& options) {
  Session session = make_session({entry}, options);
  std::uint32_t stream = 0;
  for (const Buffer& b : session.program().buffers) {
    if (b.role != BufferRole::kInput) continue;
    const std::int64_t n = num_elements(b.dims);
    std::vector<float> numbers;
    std::vector<std::int32_t> ids;
    for (std::int64_t i = 0; i < n; ++i) {
      numbers.push_back(normal(kSeed, stream, static_cast<std::uint64_t>(i)));
      ids.push_back(static_cast<std::int32_t>(i % kClasses));
    }
    ++stream;
    if (b.dtype == DType::kI32) {
      session.write(b.name, ids.data(), n);
    } else {
      session.write(b.name, numbers.data(), n);
    }
  }
  session.set_random(kSeed, 3);
  session.run(entry.name);
  Values values;
  for (const Graph::Output& o : entry.graph.outputs) values[o.name] = session.read(o.name).f32;
  return values;
}

double norm(const std::vector<float>& a, const std::vector<float>* minus = nullptr) {
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const double d = static_cast<double>(a[i]) - (minus ? static_cast<double>((*minus)[i]) : 0.0);
    sum += d * d;
  }
  return std::sqrt(sum);
}

// What of the small step differs from the CPU's; empty: nothing.
std::string difference(const SessionOptions& options, double tolerance) {
  SessionOptions cpu = options;
  cpu.device = "cpu";
  const EntryGraph entry = small_step();
  const Values want = run(entry, cpu), got = run(entry, options);
  if (want.at("random") != got.at("random")) return "its random numbers are not the CPU's";
  for (const auto& [name, values] : want) {
    const double error = norm(got.at(name), &values) / norm(values);
    if (!(error <= tolerance)) return str("its results are not the CPU's: ", name, " differs by ", error);
  }
  return {};
}

}  // namespace

std::string self_test(const SessionOptions& options) { return difference(options, kTolerance); }

std::string f16_refusal(const SessionOptions& options) {
  SessionOptions half = with_features(options);
  if (!half.features || !half.features->f16) return "the device has no f16 in its shaders (shader-f16)";
  half.f16 = true;
  const std::string problem = difference(half, kTolerance16);
  return problem.empty() ? problem : "in f16 " + problem;
}

}  // namespace tabgrad
