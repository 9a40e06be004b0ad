// bench gpu_kernels: single kernels on a GPU, by its own timestamps: matrix products in the three forms of training, and the
// kernels that memory bounds. Prints the time of each launch (the best of all runs), its GFLOP/s and GB/s.
//
// Needs an adapter with timestamp queries. On a software adapter the numbers say nothing about GPUs; the device is printed.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <cstdlib>

#include "engine/engine.h"
#include "graph/compose/compose.h"

namespace tabgrad {
namespace {

struct Shape {
  std::int64_t m, n, k;
};

void run_graph(const std::string& name, Graph g, int repeats, const SessionOptions& options) {
  Session session = make_session({{name, std::move(g)}}, options);
  for (const Buffer& b : session.program().buffers) {
    if (b.role == BufferRole::kActivation || b.role == BufferRole::kOutput || b.dtype == DType::kI32) continue;
    std::vector<float> values(static_cast<std::size_t>(num_elements(b.dims)));
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i * 7919 % 1000) * 1e-3f - 0.5f;
    session.write(b.name, values.data(), static_cast<std::int64_t>(values.size()));
  }
  for (int i = 0; i < repeats; ++i) session.run(name);
}

// An idle GPU clocks at a fraction of its speed: keeps it busy for a while.
void warm_up(const SessionOptions& options) {
  unsetenv("TABGRAD_DEBUG");
  Graph g;
  g.outputs = {{"c", matmul(input(g, "a", {2048, 2048}), input(g, "b", {2048, 2048})).value}};
  Session session = make_session({{"warm_up", std::move(g)}}, options);
  for (int i = 0; i < 400; ++i) session.run("warm_up");
  setenv("TABGRAD_DEBUG", "2", 1);  // the runner's own times of each launch
}

void matmul_form(const Shape& s, int form, int repeats, const SessionOptions& options) {
  const bool ta = form == 2, tb = form == 1;
  Graph g;
  const Tensor a = input(g, "a", ta ? Dims{s.k, s.m} : Dims{s.m, s.k}), b = input(g, "b", tb ? Dims{s.n, s.k} : Dims{s.k, s.n});
  g.outputs = {{"c", matmul(a, b, ta, tb).value}};
  const char* forms[] = {"NN", "NT", "TN"};
  run_graph(str("matmul ", forms[form], " ", s.m, "x", s.n, "x", s.k), std::move(g), repeats, options);
}

void rows_kernel(const char* what, std::int64_t rows, std::int64_t cols, int repeats, const SessionOptions& options) {
  Graph g;
  const Tensor x = input(g, "x", {rows, cols});
  const std::string kind = what;
  Tensor y;
  if (kind == "softmax") y = softmax(x);
  if (kind == "layer_norm") y = layer_norm(x, input(g, "gamma", {cols}), input(g, "beta", {cols}));
  if (kind == "scale") y = x * 2.0;
  g.outputs = {{"y", y.value}};
  run_graph(str(what, " ", rows, "x", cols), std::move(g), repeats, options);
}

void adamw(std::int64_t n, int repeats, const SessionOptions& options) {
  Graph g;
  const Tensor p = input(g, "p", {n}, Role::kParameter), x = input(g, "x", {n});
  optimizer_update(p, x, constant(g, 1.0), OptimizerConfig{}, 0.1);
  run_graph(str("adamw ", n), std::move(g), repeats, options);
}

int run(const std::vector<std::int64_t>& cubes, bool presets, bool memory, int repeats, const SessionOptions& options) {
  std::vector<Shape> shapes;
  for (std::int64_t n : cubes) shapes.push_back({n, n, n});
  if (presets)
    for (const Shape& s : {Shape{1536, 1024, 256},
                           {1536, 384, 384},
                           {1024, 256, 1024},
                           {384, 384, 1536},
                           {256, 1024, 1536},
                           {1024, 384, 96},
                           {1024, 96, 384},
                           {96, 384, 1024},
                           {1024, 768, 256},
                           {1536, 576, 192}})
      shapes.push_back(s);
  if (repeats >= 20) warm_up(options);
  for (const Shape& s : shapes)
    for (int form = 0; form < 3; ++form) matmul_form(s, form, repeats, options);
  if (!memory) return 0;
  for (const char* what : {"scale", "softmax", "layer_norm"}) rows_kernel(what, 16384, 1024, repeats, options);
  adamw(std::int64_t{1} << 24, repeats, options);
  return 0;
}

}  // namespace
}  // namespace tabgrad

int main(int argc, char** argv) {
  tabgrad::SessionOptions options;
  options.device = "webgpu";
  std::vector<std::int64_t> cubes{1024, 2048, 4096};
  bool presets = true, memory = true;
  int repeats = 100;
  CLI::App app("Times single kernels on a GPU");
  app.add_option("--webgpu", options.webgpu, "WebGPU's library: dawn, wgpu or a path; what is found otherwise");
  app.add_option("--cubes", cubes, "Sizes of square products, by comma")->delimiter(',')->capture_default_str();
  app.add_flag("--presets,!--no-presets", presets, "Products of the GPT presets' shapes too (the default)");
  app.add_flag("--memory,!--no-memory", memory, "Kernels that memory bounds too (the default)");
  app.add_option("--repeats", repeats, "Runs of each")->check(CLI::PositiveNumber)->capture_default_str();
  CLI11_PARSE(app, argc, argv);
  try {
    return tabgrad::run(cubes, presets, memory, repeats, options);
  } catch (const std::exception& e) {
    std::fprintf(stderr, "bench gpu_kernels: %s\n", e.what());
    return 1;
  }
}
