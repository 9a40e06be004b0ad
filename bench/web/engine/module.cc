// The engine as the browser benchmarks see it: models with given weights, train steps, matrix products, as C functions.
//
// Does: builds a GPT or the LSTM of lstm_model.h with the peers' optimizer settings, writes parameters by name, runs steps;
// compares a GPT's gradients with the double-precision oracle.
// Does not: ship (packages/tabgrad has bindings/wasm), or choose weights and data (bench/web/jobs.ts makes them for all sides).
//
// With device "webgpu" or "webgl" the functions that load or run suspend (backend/webgpu/web), so JavaScript must call them as promises.
//
// Invariants: nothing thrown crosses into JavaScript; a function that failed returns kFailed and bench_error() says why.
// Pointers are into the module's memory, made with malloc by the caller.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <exception>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "backend/cpu/kernels.h"
#include "engine/engine.h"
#include "graph/evaluate.h"
#include "lstm_model.h"
#include "models/gpt.h"
#include "nn/train_step.h"
#include "train/burst.h"

namespace tabgrad::bench {
namespace {

constexpr int kDone = 0, kFailed = 1;

struct State {
  SessionOptions options;
  std::unique_ptr<Session> session;
  GptConfig gpt;
  std::map<std::string, std::vector<float>> parameters;  // as written, for gradient_error
  OptimizerConfig optimizer;
  double learning_rate = 0, flops = 0;
  std::int64_t step = 0;
  std::string error, device;
};
State& state() {
  static State s;
  return s;
}

template <typename F>
int guarded(F&& body) {
  try {
    body();
    return kDone;
  } catch (const std::exception& e) {
    state().error = e.what();
    return kFailed;
  }
}

void load(const BuiltModel& model, const OptimizerConfig& optimizer, double learning_rate) {
  State& s = state();
  s.session.reset();
  s.parameters.clear();
  s.session = std::make_unique<Session>(make_session(model.entries, s.options));
  s.optimizer = optimizer;
  s.learning_rate = learning_rate;
  s.step = 0;
  s.flops = 0;
  for (const Entry& entry : s.session->program().entries) {
    if (entry.name != "train_step") continue;
    for (const Launch& launch : entry.launches) s.flops += launch.flops;
  }
}

template <typename A, typename B>
void steps(int count, const char* first, const A* a, int a_count, const char* second, const B* b, int b_count, float* losses) {
  State& s = state();
  const auto issue = [&](std::int64_t i) {
    s.session->write(first, a + i * a_count, a_count);
    s.session->write(second, b + i * b_count, b_count);
    set_step_uniforms(*s.session, s.optimizer, s.learning_rate, ++s.step);
    s.session->run("train_step");
  };
  const auto settle = [&](std::int64_t i, int runs_ago) {
    losses[i] = s.session->read_scalar_earlier("loss", runs_ago);
    return true;
  };
  for (std::int64_t done = 0; done < count;) {
    const std::int64_t taken = run_burst(*s.session, count - done, issue, settle);
    done += taken;
    a += taken * a_count;
    b += taken * b_count;
    losses += taken;
  }
}

std::vector<double> doubles(const auto* values, std::int64_t count) { return {values, values + count}; }

// The largest ‖Δ‖ / max(‖g‖, 1e-6·‖all g‖) over the parameters: a key projection's bias has no gradient in exact arithmetic.
double gradient_error(const std::int32_t* tokens, const std::int32_t* targets, int count) {
  State& s = state();
  const BuiltModel model = build_gpt_gradients(s.gpt);
  Session session = make_session(model.entries, s.options);
  EvaluateInputs inputs;
  inputs.values["tokens"] = doubles(tokens, count);
  inputs.values["targets"] = doubles(targets, count);
  session.write("tokens", tokens, count);
  session.write("targets", targets, count);
  for (const auto& [name, values] : s.parameters) {
    const auto size = static_cast<std::int64_t>(values.size());
    inputs.values[name] = doubles(values.data(), size);
    session.write(name, values.data(), size);
  }
  session.run("gradients");
  const Evaluation oracle = evaluate(model.entries.front().graph, inputs);
  double all = 0;
  for (const ParameterSpec& p : model.parameters)
    for (const double g : oracle.outputs.at("grad." + p.name)) all += g * g;
  double worst = 0;
  for (const ParameterSpec& p : model.parameters) {
    const std::vector<double>& exact = oracle.outputs.at("grad." + p.name);
    const HostTensor got = session.read("grad." + p.name);
    double difference = 0, norm = 0;
    for (std::size_t i = 0; i < exact.size(); ++i) {
      difference += (got.f32[i] - exact[i]) * (got.f32[i] - exact[i]);
      norm += exact[i] * exact[i];
    }
    const double ratio = std::sqrt(difference) / std::max(std::sqrt(norm), 1e-6 * std::sqrt(all));
    worst = ratio <= worst ? worst : ratio;  // NaN stays
  }
  return worst;
}

}  // namespace
}  // namespace tabgrad::bench

#define TG_EXPORT(name) __attribute__((export_name(#name)))

extern "C" {
using namespace tabgrad;
using namespace tabgrad::bench;

TG_EXPORT(bench_error) const char* bench_error() { return state().error.c_str(); }

// device: "cpu", or "webgpu" or "webgl" through the page's runner.
TG_EXPORT(bench_init) int bench_init(int threads, const char* device) {
  return guarded([&] {
    state().options.pool = std::make_shared<ThreadPool>(threads);
    state().options.device = device;
  });
}

// For people: "cpu: 2 threads, WASM".
TG_EXPORT(bench_device) const char* bench_device() {
  state().device = str("cpu: ", state().options.pool->threads(), " threads, ", cpu::instruction_set());
  return state().device.c_str();
}

TG_EXPORT(bench_gpt) int bench_gpt(int layers, int width, int heads, int context, int batch) {
  return guarded([&] {
    GptConfig& config = state().gpt;
    config = {};
    config.layers = layers;
    config.width = width;
    config.heads = heads;
    config.context = context;
    config.batch = batch;
    load(build_gpt(config), gpt_optimizer(), kGptLearningRate);
  });
}

// Adam without clipping, at rate 1e-3: what the peers' LSTM examples train with.
TG_EXPORT(bench_lstm) int bench_lstm(int units, int steps, int features, int batch) {
  return guarded([&] {
    OptimizerConfig adam;
    adam.kind = OptimizerConfig::Kind::kAdam;
    adam.weight_decay = 0;
    load(build_lstm({units, steps, features, batch}, adam, 0.0), adam, 1e-3);
  });
}

TG_EXPORT(bench_write) int bench_write(const char* name, const float* data, int count) {
  return guarded([&] {
    state().session->write(name, data, count);
    state().parameters[name] = {data, data + count};
  });
}

TG_EXPORT(bench_read) int bench_read(const char* name, float* data, int count) {
  return guarded([&] { state().session->read(name, data, count); });
}

// Of the GPT with the parameters as written, whatever steps have done since.
TG_EXPORT(bench_gradient_error)
int bench_gradient_error(const std::int32_t* tokens, const std::int32_t* targets, int count, double* error) {
  return guarded([&] { *error = gradient_error(tokens, targets, count); });
}

TG_EXPORT(bench_flops) double bench_flops() { return state().flops; }

// `count` steps on batches that lie one after another; the loss of each.
TG_EXPORT(bench_steps_gpt)
int bench_steps_gpt(int count, const std::int32_t* tokens, const std::int32_t* targets, int tokens_count, float* losses) {
  return guarded([&] { steps(count, "tokens", tokens, tokens_count, "targets", targets, tokens_count, losses); });
}

TG_EXPORT(bench_steps_lstm)
int bench_steps_lstm(int count, const float* x, int x_count, const float* y, int y_count, float* losses) {
  return guarded([&] { steps(count, "x", x, x_count, "y", y, y_count, losses); });
}

TG_EXPORT(bench_unload) void bench_unload() { state().session.reset(); }

// C (m,n) = A·B, `repeats` times. A is stored (k,m) if transposed_a, else (m,k); B (n,k) if transposed_b, else (k,n).
// scratch: null to ask for its size, which is returned in floats; else 0 is returned.
TG_EXPORT(bench_matmul)
int bench_matmul(int m, int n, int k, bool transposed_a, bool transposed_b, const float* a, const float* b, float* c,
                 float* scratch, int scratch_floats, int repeats) {
  cpu::Gemm g;
  g.m = m;
  g.n = n;
  g.k = k;
  g.a = a;
  g.a_m = transposed_a ? 1 : k;
  g.a_k = transposed_a ? m : 1;
  g.b = b;
  g.b_k = transposed_b ? 1 : n;
  g.b_n = transposed_b ? k : 1;
  g.c = c;
  g.c_m = n;
  ThreadPool& pool = *state().options.pool;
  if (scratch == nullptr) return static_cast<int>(cpu::gemm_scratch_floats(g, pool.threads()));
  for (int i = 0; i < repeats; ++i) cpu::gemm(g, pool, {scratch, scratch_floats});
  return 0;
}
}
