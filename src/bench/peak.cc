#include "bench/peak.h"

#include <algorithm>

#include "bench/run_timer.h"
#include "bench/statistics.h"
#include "graph/compose/compose.h"

namespace tabgrad::bench {
namespace {

double seconds_a_run(Graph& graph, Tensor result, const SessionOptions& options, double seconds) {
  graph.outputs = {{"result", result.value}, {"probe", reshape(slice(slice(result, 0, 0, 1), 1, 0, 1), {}).value}};
  Session session = make_session({{"peak", graph}}, options);
  write_some_inputs(session);
  return median(time_runs(session, "peak", "probe", seconds));
}

}  // namespace

std::vector<PeakRun> peak_runs(const SessionOptions& options, double seconds) {
  constexpr double kQuick = 2e-3;  // of a product: eight times the work is then still little
  std::vector<PeakRun> runs;
  for (const std::int64_t n : {1024, 2048, 4096}) {
    Graph g;
    const Tensor c = matmul(input(g, "a", {n, n}), input(g, "b", {n, n}));
    const double each = seconds_a_run(g, c, options, seconds), size = static_cast<double>(n);
    runs.push_back({str("product of ", n), 2 * size * size * size, 12 * size * size, each});
    if (each > kQuick) break;
  }
  constexpr std::int64_t kElements = 1 << 23;  // 32 MB read, 32 MB written
  Graph g;
  const Tensor y = input(g, "x", {kElements / 1024, 1024}) * 2.0;
  runs.push_back({"memory", 0, 8.0 * kElements, seconds_a_run(g, y, options, seconds)});
  return runs;
}

Peak measure_peak(const SessionOptions& options, double seconds) {
  Peak peak;
  for (const PeakRun& run : peak_runs(options, seconds)) {
    peak.flops = std::max(peak.flops, run.flops / run.seconds);
    if (run.flops == 0) peak.bytes = run.bytes / run.seconds;
  }
  return peak;
}

}  // namespace tabgrad::bench
