// tabgrad bench lstm: train steps of two LSTMs on each target, which take turns (BENCHMARKS §4).
#include <CLI/CLI.hpp>
#include <cstdio>
#include <memory>
#include <thread>

#include "base/clock.h"
#include "bench/lstm_model.h"
#include "bench/statistics.h"
#include "bench/train_bench.h"
#include "cli/bench/bench.h"
#include "cli/machine.h"
#include "cli/output.h"
#include "tensor/philox.h"

namespace tabgrad::cli {
namespace {

using bench::TrainBench;

constexpr std::uint64_t kSeed = 1;
constexpr int kWarmUps = 5;
constexpr LstmShape kShapes[] = {{32, 24, 1, 32}, {128, 48, 8, 64}};

struct LstmOptions : BenchOptions {
  double seconds = 2;
};

struct Row {
  const BenchTarget* target;
  std::unique_ptr<TrainBench> bench;
  HostTensor x, y;
  std::vector<double> ms;
  double loss = 0;

  double steps(std::int64_t count) {
    const auto start = std::chrono::steady_clock::now();
    loss = bench
               ->steps(count,
                       [&](std::int64_t) {
                         bench->session().write("x", x);
                         bench->session().write("y", y);
                       })
               .back();
    return 1e3 * seconds_since(start) / static_cast<double>(count);
  }
};

HostTensor normals(Dims dims, std::uint32_t stream) {
  HostTensor t = HostTensor::zeros(std::move(dims));
  for (std::size_t i = 0; i < t.f32.size(); ++i) t.f32[i] = normal(kSeed, stream, i);
  return t;
}

int run(const LstmOptions& o) {
  const std::vector<BenchTarget> targets = open_targets(o);
  std::FILE* out = is_stdout(o.common.json) ? stderr : stdout;
  for (const BenchTarget& t : targets) std::fprintf(out, "%s\n", t.heading().c_str());
  Json json = result_head("tabgrad-lstm/1", targets);
  json["step"] = "batch uploaded, forward, mean squared error, backward, clip by global norm 1.0, AdamW, loss on the host; f32";
  for (const BenchTarget& t : targets) json["targets"].push_back({{"id", t.id}, {"about", t.about}});
  std::vector<std::vector<std::string>> cells{
      {"units/steps/features/batch", "target", "launches", "ms", "p10", "p90", "n", "GFLOP/s"}};
  for (const LstmShape& s : kShapes) {
    const std::string name = str(s.units, "/", s.steps, "/", s.features, "/", s.batch);
    const BuiltModel model = build_lstm(s, OptimizerConfig{}, 1.0);
    std::vector<Row> rows;
    for (const BenchTarget& t : targets) {
      Row& row = rows.emplace_back(Row{&t,
                                       std::make_unique<TrainBench>(model, OptimizerConfig{}, 1e-3, t.options),
                                       normals({s.batch, s.steps, s.features}, 1000),
                                       normals({s.batch, 1}, 1001),
                                       {},
                                       0});
      write_initial_values(row.bench->session(), model.parameters, kSeed);
      row.steps(kWarmUps);
    }
    const auto start = std::chrono::steady_clock::now();
    while (seconds_since(start) < o.seconds * static_cast<double>(rows.size())) {
      for (Row& row : rows) {
        const std::int64_t group = row.bench->group();
        row.steps(group);  // untimed: threads wake, clocks rise
        const auto turn = std::chrono::steady_clock::now();
        do row.ms.insert(row.ms.end(), static_cast<std::size_t>(group), row.steps(group));
        while (seconds_since(turn) < 0.1);
      }
    }
    for (const Row& row : rows) {
      const double ms = bench::median(row.ms), gflops = 1e-6 * total_flops(row.bench->work()) / ms;
      const double launches = total_launches(row.bench->work());
      cells.push_back({name, row.target->id + (row.target->software ? " (no GPU)" : ""), fixed(launches, 0), digits3(ms),
                       digits3(bench::quantile(row.ms, 0.1)), digits3(bench::quantile(row.ms, 0.9)),
                       std::to_string(row.ms.size()), digits3(gflops)});
      json["rows"].push_back({{"name", name},
                              {"target", row.target->id},
                              {"parameters", parameter_count(model.parameters)},
                              {"launches", launches},
                              {"flops", total_flops(row.bench->work())},
                              {"ms", spread_json(row.ms)},
                              {"samples_ms", row.ms},
                              {"gflops", gflops},
                              {"loss", row.loss}});
    }
  }
  for (const std::string& line : table(cells)) std::fprintf(out, "%s\n", line.c_str());
  if (!o.common.json.empty()) write_output(o.common.json, json.dump(1) + "\n");
  return kOk;
}

}  // namespace

void add_bench_lstm(CLI::App& bench, Command& command) {
  CLI::App* sub = bench.add_subcommand("lstm", "Train steps of two LSTMs");
  const auto o = std::make_shared<LstmOptions>();
  add_bench_options(*sub, *o);
  add_targets_option(*sub, *o);
  sub->add_option("--seconds", o->seconds, "Timing of each row")->check(CLI::PositiveNumber)->capture_default_str();
  sub->callback([&command, o] { command = [o] { return run(*o); }; });
}

}  // namespace tabgrad::cli
