// tabgrad bench kernels on WebGPU: single kernels by the GPU's own clock, so that no launch or wait is in the times.
//
// A run has several copies of a small kernel, so that the GPU is busy between two waits: an idle one lowers its clock. For the same
// reason a kernel runs untimed for a while before. The clock is read before and after all of a run's launches, since a reading takes
// longer than a small launch; a row's time is that of one copy (a product that is cut along k has two launches), the median of all runs.
#include <algorithm>
#include <functional>
#include <utility>

#include "base/clock.h"
#include "bench/run_timer.h"
#include "bench/statistics.h"
#include "cli/bench/bench.h"
#include "cli/bench/timing.h"
#include "graph/compose/compose.h"
#include "models/gpt_config.h"

namespace tabgrad::bench {
namespace {

using std::int64_t;

constexpr double kWarmSeconds = 0.3, kSeconds = 0.3;
constexpr int kLeastRuns = 5;
constexpr double kBusy = 2e9;  // FLOPs of a run that keep a large GPU busy for much longer than a wait takes
constexpr int64_t kMostCopies = 64;

// Each output of the graph, or its update, is a copy of the kernel, which does `flops` and must move `bytes`.
void time_row(Report& report, const std::string& name, Graph graph, double flops, double bytes, SessionOptions options) {
  const auto copies = static_cast<double>(std::max<std::size_t>(1, graph.outputs.size()));
  options.fuse = copies == 1;  // copies must not share launches
  Session session = make_session({{"run", std::move(graph)}}, options);
  write_some_inputs(session);
  const int all = static_cast<int>(session.program().entries.front().launches.size());
  for (const auto start = std::chrono::steady_clock::now(); seconds_since(start) < kWarmSeconds;) session.run_timed("run", all);
  std::vector<double> times;
  for (const auto start = std::chrono::steady_clock::now(); times.size() < kLeastRuns || seconds_since(start) < kSeconds;) {
    times.push_back(session.run_timed("run", all).front() / copies);
  }
  const Timing t = summary(std::move(times));
  const double seconds = 1e-3 * t.median;
  report.add({name, 0, 0, 0, 0, t, flops > 0 ? 1e-9 * flops / seconds : 0, flops > 0 ? 0 : 1e-9 * bytes / seconds});
}

struct Bench {
  Report& report;
  const SessionOptions& options;

  // The three products of a layer with weights (in, out): forward, and the gradients of its input and of the weights.
  void layer(int64_t tokens, int64_t out, int64_t in) {
    product("A·B", tokens, out, in, false, false);
    product("A·Bt", tokens, in, out, false, true);
    product("At·B", in, out, tokens, true, false);
  }

  void product(const char* form, int64_t m, int64_t n, int64_t k, bool ta, bool tb) {
    const std::string name = str("product ", form, " ", m, "x", n, "x", k);
    if (!report.wanted(name)) return;
    const double flops = 2.0 * static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(k);
    const int64_t copies = std::clamp(static_cast<int64_t>(kBusy / flops), int64_t{1}, kMostCopies);
    Graph g;
    for (int64_t i = 0; i < copies; ++i) {
      const Tensor a = input(g, str("a", i), ta ? Dims{k, m} : Dims{m, k}),
                   b = input(g, str("b", i), tb ? Dims{n, k} : Dims{k, n});
      g.outputs.push_back({str("c", i), matmul(a, b, ta, tb).value});
    }
    time_row(report, name, std::move(g), flops, 0, options);
  }

  // Reads x and writes y; `make` builds it.
  void row_kernel(const char* what, int64_t rows, int64_t cols, const std::function<Tensor(Graph&, Tensor)>& make) {
    const std::string name = str(what, " ", rows, "x", cols);
    if (!report.wanted(name)) return;
    const auto elements = static_cast<double>(rows * cols);
    const int64_t copies = std::clamp(static_cast<int64_t>(kBusy / (32 * elements)), int64_t{1}, kMostCopies);
    Graph g;
    for (int64_t i = 0; i < copies; ++i) g.outputs.push_back({str("y", i), make(g, input(g, str("x", i), {rows, cols})).value});
    time_row(report, name, std::move(g), 0, 8 * elements, options);
  }

  void adamw(int64_t n) {
    const std::string name = str("AdamW ", n);
    if (!report.wanted(name)) return;
    Graph g;
    const Tensor p = input(g, "p", {n}, Role::kParameter);
    optimizer_update(p, input(g, "gradient", {n}), constant(g, 1.0), OptimizerConfig{}, 0.1);
    time_row(report, name, std::move(g), 0, 28.0 * static_cast<double>(n), options);
  }
};

}  // namespace

void gpu_kernel_rows(Report& report, const SessionOptions& options) {
  Graph probe;
  probe.outputs = {{"y", (input(probe, "x", {4}) * 2.0).value}};
  if (make_session({{"run", probe}}, options).run_timed("run").empty())
    fail("--targets webgpu: the adapter has no timestamp queries, by which kernels are timed");
  Bench b{report, options};
  for (const int64_t n : {1024, 2048, 4096}) b.layer(n, n, n);
  for (const char* name : {"small", "medium", "large", "xl"}) {
    const GptConfig& c = gpt_preset(name);
    const int64_t tokens = c.batch * c.context, width = c.width;
    for (const auto& [out, in] :
         {std::pair{3 * width, width}, {width, width}, {4 * width, width}, {width, 4 * width}, {c.vocabulary, width}})
      b.layer(tokens, out, in);
  }
  for (const auto& [rows, cols] :
       {std::pair<int64_t, int64_t>{1536, 192}, {16384, 1024}, {87040, 768}, {65536, 1024}, {16384, 4096}}) {
    b.row_kernel("copy", rows, cols, [](Graph&, Tensor x) { return x * 2.0; });
    b.row_kernel("softmax", rows, cols, [](Graph&, Tensor x) { return softmax(x); });
    b.row_kernel("layer norm", rows, cols, [cols](Graph& g, Tensor x) {
      const std::string of = str(g.nodes.size());
      return layer_norm(x, input(g, "gamma" + of, {cols}), input(g, "beta" + of, {cols}));
    });
  }
  for (const int64_t n : {6416896, 1 << 24}) b.adamw(n);
}

}  // namespace tabgrad::bench
