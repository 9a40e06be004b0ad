// Programs run by targets, and how their results are compared.
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdlib>

#include "optest/optest.h"

namespace tabgrad::optest {
namespace {

bool has_buffer(const Program& program, const std::string& name) {
  return std::any_of(program.buffers.begin(), program.buffers.end(),
                     [&](const Buffer& b) { return b.name == name && b.role != BufferRole::kActivation; });
}

void read_outputs(Session& session, const Graph& graph, int step, Result& into) {
  for (const Graph::Output& o : graph.outputs) into[at_step(o.name, step)] = session.read(o.name).f32;
}

// One for each number of threads, for all cases: WebAssembly has only the threads that it started with.
std::shared_ptr<ThreadPool> pool_of(int threads) {
  static std::map<int, std::shared_ptr<ThreadPool>> pools;
  std::shared_ptr<ThreadPool>& pool = pools[threads];
  if (!pool) pool = std::make_shared<ThreadPool>(threads);
  return pool;
}

bool same_bits(float a, float b) { return std::bit_cast<std::uint32_t>(a) == std::bit_cast<std::uint32_t>(b); }

}  // namespace

namespace {

std::vector<Target> make_targets() {
  std::vector<Target> rows{
      {"cpu", {.threads = 2}, false, false},
      {"cpu_noclaim", {.threads = 2, .claim = false}, false, false},
      {"cpu_nofuse", {.threads = 2, .fuse = false}, false, false},
      {"cpu_noarena", {.threads = 2, .arena = false}, true, false},
      {"cpu_1_thread", {.threads = 1}, true, false},
      {"cpu_3_threads", {.threads = 3}, true, false},
      {"cpu_reloaded", {.threads = 2}, true, true},
#if !defined(__EMSCRIPTEN__) || defined(TABGRAD_TEST_PAGE)
      {"webgpu", {.device = "webgpu"}, false, false},
      {"webgpu_workgroups", {.device = "webgpu", .features = WebgpuFeatures{}}, false, false},
      // f16 is off by up to 2^-11 of a number; on its way through a case a number is rounded up to four times.
      {"webgpu_f16", {.device = "webgpu", .f16 = true}, false, false, 4 * 0x1p-11},
      {"webgpu_noclaim", {.device = "webgpu", .claim = false}, false, false},
      {"webgpu_nofuse", {.device = "webgpu", .fuse = false}, false, true},
#endif
#ifdef TABGRAD_TEST_PAGE  // WebGL is in browsers alone
      {"webgl", {.device = "webgl"}, false, false},
      {"webgl_nofuse", {.device = "webgl", .fuse = false}, false, true},
      {"webgl_64_texels", {.device = "webgl", .max_texture_dim = 64}, false, false},
      {"webgl_4_outputs", {.device = "webgl", .max_outputs = 4}, false, false},
      {"webgl_1_output", {.device = "webgl", .max_outputs = 1}, false, false},
#endif
  };
#ifndef __EMSCRIPTEN__
  if (const char* wgpu = std::getenv("TABGRAD_WGPU"))
    rows.push_back({"wgpu", {.device = "webgpu", .webgpu = wgpu}, false, false});
#endif
  return rows;
}

}  // namespace

const std::vector<Target>& targets() {
  static const std::vector<Target> rows = make_targets();
  return rows;
}

Session open(const Target& target, const std::vector<EntryGraph>& entries) {
  SessionOptions options = target.options;
  options.pool = pool_of(options.threads);
  if (!target.reload) return make_session(entries, options);
  const std::vector<std::uint8_t> bytes = serialize(compile(entries, device_caps(options), options.device));
  std::unique_ptr<Backend> backend = make_backend(parse_program(bytes.data(), bytes.size(), "bytes"), options, *options.pool);
  return Session(std::move(backend), options.pool);
}

Result run(const Target& target, const Case& test, const Prepared& prepared) {
  Session session = open(target, {{"backward", prepared.backward}, {"forward", prepared.forward}});
  if (target.options.f16 && with_features(target.options).features->f16 && !session.program().f16)
    fail("nothing of this case is stored as f16");
  for (const auto& [name, tensor] : prepared.inputs)
    if (has_buffer(session.program(), name)) session.write(name, tensor);
  Result result;
  auto run_step = [&](const std::string& entry, const Graph& graph, int step) {
    for (const auto& [name, value] : uniforms_of(test, std::min(step, test.steps - 1)))
      session.set_uniform(name, static_cast<float>(value));
    session.set_random(seed_of(test), static_cast<std::uint32_t>(std::min(step, test.steps - 1)));
    session.run(entry);
    read_outputs(session, graph, entry == "forward" ? 0 : step, result);
  };
  for (int step = 0; step < test.steps; ++step) {
    run_step("backward", prepared.backward, step);
    for (const Graph::Update& u : prepared.backward.updates) {
      const std::string& name = prepared.backward.node(u.target).name;
      result[name + "@" + std::to_string(step + 1)] = session.read(name).f32;
    }
  }
  run_step("forward", prepared.forward, test.steps - 1);
  if (!prepared.backward.updates.empty()) return result;
  // Once more, now that memory holds what the first runs left there.
  const Result first = result;
  run_step("backward", prepared.backward, 0);
  const std::string problems = check_same_bits(first, result);
  if (!problems.empty()) fail("a second run differs: ", problems);
  return result;
}

std::string check_one(const std::string& name, const std::vector<double>& want, const std::vector<float>& got,
                      Tolerance tolerance) {
  if (want.size() != got.size()) return str(name, ": ", got.size(), " values instead of ", want.size(), "\n");
  double error = 0, size = 0, worst = 0, largest = 0;
  std::size_t where = 0;
  for (std::size_t i = 0; i < want.size(); ++i) {
    const auto narrow = static_cast<float>(want[i]);
    if (!std::isfinite(narrow)) {
      if (std::isnan(narrow) ? std::isnan(got[i]) : got[i] == narrow) continue;
      return str(name, "[", i, "]: ", got[i], " instead of ", narrow, "\n");
    }
    const double d = std::fabs(static_cast<double>(got[i]) - want[i]);
    if (!(d <= worst)) {
      worst = d;
      where = i;
    }
    if (std::isnan(d)) break;
    error += d * d;
    size += want[i] * want[i];
    largest = std::max(largest, std::fabs(want[i]));
  }
  const double n = static_cast<double>(want.size());
  const double allowed = tolerance.rel * std::sqrt(size) + tolerance.abs * std::sqrt(n);
  const double allowed_worst = 10 * (tolerance.rel * largest + tolerance.abs);
  if (std::sqrt(error) <= allowed && worst <= allowed_worst) return {};
  return str(name, ": |error| ", std::sqrt(error), " of |reference| ", std::sqrt(size), " (allowed ", allowed, "); worst at ",
             where, " of ", want.size(), ": ", got[where], " instead of ", want[where], " (allowed ", allowed_worst, ")\n");
}

std::string check_near(const Case& test, const Reference& reference, const Result& result, double rounding) {
  std::string problems;
  const auto rounded = [&](const Tolerance& t) { return Tolerance{t.rel + rounding, t.abs}; };
  for (const auto& [name, want] : reference) {
    const auto got = result.find(name);
    const bool gradient = name.starts_with("d_");
    problems += got == result.end() ? name + ": missing\n"
                                    : check_one(name, want, got->second, rounded(gradient ? test.backward : test.forward));
  }
  return problems;
}

std::string check_same_bits(const Result& want, const Result& got) {
  std::string problems;
  for (const auto& [name, a] : want) {
    const std::vector<float>& b = got.at(name);
    for (std::size_t i = 0; i < a.size(); ++i) {
      if (same_bits(a[i], b[i])) continue;
      problems += str(name, "[", i, "] of ", a.size(), ": ", b[i], " instead of ", a[i], "\n");
      break;
    }
  }
  return problems;
}

}  // namespace tabgrad::optest
