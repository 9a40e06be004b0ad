// Cases, their graphs, and the oracle against finite differences.
#include "optest/optest.h"

#include <cmath>

#include "graph/autodiff.h"
#include "graph/rewrite.h"
#include "tensor/philox.h"

namespace tabgrad::optest {
namespace {

std::vector<Case>& registry() {
  static std::vector<Case> cases;
  return cases;
}

HostTensor draw(const Spec& spec, std::uint64_t seed, std::uint32_t stream) {
  const std::int64_t n = num_elements(spec.dims);
  std::vector<float> values(spec.values.begin(), spec.values.end());
  if (spec.values.empty()) {
    values = spec.ids ? random_values(seed, stream, n, 0, static_cast<double>(spec.ids))
                      : random_values(seed, stream, n, spec.low, spec.high);
    for (float& v : values)
      if (spec.whole || spec.ids) v = std::floor(v);
  }
  if (spec.ids) return HostTensor::of_ids(spec.dims, {values.begin(), values.end()});
  return HostTensor::of(spec.dims, std::move(values));
}

std::vector<double> as_doubles(const HostTensor& t) {
  return t.dtype == DType::kF32 ? std::vector<double>(t.f32.begin(), t.f32.end())
                                : std::vector<double>(t.i32.begin(), t.i32.end());
}

std::vector<Tensor> build_outputs(const Case& test, Graph& g, std::vector<Tensor>& inputs) {
  for (const Spec& spec : test.inputs)
    inputs.push_back(input(g, spec.name, spec.dims, spec.role, spec.ids ? DType::kI32 : DType::kF32));
  return test.build(g, inputs);
}

EvaluateInputs oracle_inputs(const Case& test, const Prepared& prepared) {
  EvaluateInputs in;
  for (const auto& [name, tensor] : prepared.inputs) in.values[name] = as_doubles(tensor);
  in.uniforms = uniforms_of(test, 0);
  in.seed = seed_of(test);
  return in;
}

// The weighted sum whose gradient is taken, and the sum of its terms' sizes: what rounding errors are relative to.
struct Loss {
  double value = 0, size = 0;
};
Loss loss(const Graph& forward, const EvaluateInputs& in) {
  Loss result;
  const Evaluation e = evaluate(forward, in);
  for (std::size_t i = 0; i < forward.outputs.size(); ++i) {
    const std::vector<double>& y = e.outputs.at("f" + std::to_string(i));
    const std::vector<double>& w = in.values.at("w" + std::to_string(i));
    for (std::size_t j = 0; j < y.size(); ++j) {
      result.value += y[j] * w[j];
      result.size += std::fabs(y[j] * w[j]);
    }
  }
  return result;
}

double norm(const std::vector<double>& x) {
  double s = 0;
  for (double v : x) s += v * v;
  return std::sqrt(s);
}

// Every coordinate of a small input; three random directions and four coordinates of a large one.
std::vector<std::vector<double>> directions(std::size_t n) {
  std::vector<std::vector<double>> result;
  for (std::size_t i = 0; i < (n <= 24 ? n : 4); ++i) {
    result.emplace_back(n, 0.0);
    result.back()[n <= 24 ? i : philox_u32(1, 1, i) % n] = 1.0;
  }
  for (std::uint32_t r = 0; n > 24 && r < 3; ++r) {
    const std::vector<float> v = random_values(2, r, static_cast<std::int64_t>(n), -1, 1);
    result.emplace_back(v.begin(), v.end());
  }
  return result;
}

}  // namespace

const std::vector<Case>& all_cases() { return registry(); }

bool add_cases(std::vector<Case> cases) {
  for (Case& c : cases) registry().push_back(std::move(c));
  return true;
}

std::vector<float> random_values(std::uint64_t seed, std::uint32_t stream, std::int64_t n, double low, double high) {
  std::vector<float> values;
  for (std::int64_t i = 0; i < n; ++i)
    values.push_back(
        static_cast<float>(low + (high - low) * static_cast<double>(uniform01(seed, stream, static_cast<std::uint64_t>(i)))));
  return values;
}

std::map<std::string, double> uniforms_of(const Case& test, int step) {
  std::map<std::string, double> uniforms = test.uniforms ? test.uniforms(step) : std::map<std::string, double>{};
  for (auto& [name, value] : uniforms) value = static_cast<double>(static_cast<float>(value));
  return uniforms;
}

std::uint64_t seed_of(const Case& test) {  // FNV-1a of the name: the same inputs on every toolchain
  std::uint64_t h = 0xcbf29ce484222325u;
  for (char c : test.name) h = (h ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
  return h;
}

Prepared prepare(const Case& test) {
  Prepared p;
  const std::uint64_t seed = seed_of(test);
  std::uint32_t stream = 0;
  for (const Spec& spec : test.inputs) p.inputs.emplace_back(spec.name, draw(spec, seed, stream++));
  {
    std::vector<Tensor> inputs;
    const std::vector<Tensor> outputs = build_outputs(test, p.forward, inputs);
    for (std::size_t i = 0; i < outputs.size(); ++i) p.forward.outputs.push_back({"f" + std::to_string(i), outputs[i].value});
    p.forward.updates.clear();
  }
  std::vector<Tensor> inputs;
  const std::vector<Tensor> outputs = build_outputs(test, p.backward, inputs);
  Tensor total;
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    p.backward.outputs.push_back({"y" + std::to_string(i), outputs[i].value});
    if (!test.gradients) continue;
    const std::string name = "w" + std::to_string(i);
    const Spec weights{.name = name, .dims = outputs[i].dims()};
    p.inputs.emplace_back(name, draw(weights, seed, stream++));
    Dims axes;
    for (int d = 0; d < outputs[i].rank(); ++d) axes.push_back(d);
    const Tensor part = sum(outputs[i] * input(p.backward, name, outputs[i].dims()), axes);
    total = total.graph ? total + part : part;
  }
  if (!test.gradients) return p;
  std::vector<Tensor> wrt;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (!test.inputs[i].grad || test.inputs[i].ids) continue;
    wrt.push_back(inputs[i]);
    p.differentiated.push_back(test.inputs[i].name);
  }
  const std::vector<Tensor> grads = gradients(total, wrt);
  for (std::size_t i = 0; i < grads.size(); ++i) p.backward.outputs.push_back({"d_" + p.differentiated[i], grads[i].value});
  return p;
}

Reference oracle(const Case& test, const Prepared& prepared) {
  Reference reference;
  EvaluateInputs in = oracle_inputs(test, prepared);
  for (const Node& node : prepared.backward.nodes) {  // parameters and state that the build function made start at zero
    if (node.op != Op::kInput || node.literal >= 0 || in.values.contains(node.name)) continue;
    in.values[node.name].assign(static_cast<std::size_t>(num_elements(node.outputs[0].dims)), 0.0);
  }
  for (int step = 0; step < test.steps; ++step) {
    in.uniforms = uniforms_of(test, step);
    in.step = static_cast<std::uint32_t>(step);
    const Evaluation e = evaluate(prepared.backward, in);
    for (const auto& [name, value] : e.outputs) reference[at_step(name, step)] = value;
    for (const auto& [name, value] : e.updates) {
      in.values[name] = value;
      reference[name + "@" + std::to_string(step + 1)] = value;
    }
  }
  if (prepared.backward.updates.empty()) {
    for (std::size_t i = 0; i < prepared.forward.outputs.size(); ++i)
      reference["f" + std::to_string(i)] = reference.at("y" + std::to_string(i));
  } else {
    for (const auto& [name, value] : evaluate(prepared.forward, in).outputs) reference[name] = value;
  }
  return reference;
}

std::string check_differences(const Case& test, const Prepared& prepared, const Reference& reference) {
  std::string problems;
  const Graph forward =
      without_dead_nodes(decompose_graph(prepared.forward, [](void*, const Node&) { return false; }, nullptr));
  EvaluateInputs in = oracle_inputs(test, prepared);
  const Loss base = loss(forward, in);
  for (const std::string& name : prepared.differentiated) {
    const std::vector<double> x = in.values.at(name);
    const std::vector<double>& g = reference.at("d_" + name);
    const double typical = norm(g) / std::sqrt(static_cast<double>(g.size()));
    for (const std::vector<double>& v : directions(x.size())) {
      auto moved = [&](double by) {
        std::vector<double>& at = in.values[name];
        for (std::size_t i = 0; i < x.size(); ++i) at[i] = x[i] + by * v[i];
        return loss(forward, in).value;
      };
      const double h = test.h;
      const double near_pair = moved(h) - moved(-h), far_pair = moved(2 * h) - moved(-2 * h);
      const double measured = (8 * near_pair - far_pair) / (12 * h);  // error of order h^4
      double expected = 0;
      for (std::size_t i = 0; i < g.size(); ++i) expected += g[i] * v[i];
      const double allowed = 1e-6 * std::max(std::fabs(expected), typical * norm(v)) + 1e-14 * base.size / h;
      if (!(std::fabs(measured - expected) <= allowed))
        problems += str("d_", name, ": gradient ", expected, ", by differences ", measured, " (allowed ", allowed, ")\n");
    }
    in.values[name] = x;
  }
  return problems;
}

}  // namespace tabgrad::optest
