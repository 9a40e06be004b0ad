// tabgrad bench curve: train steps of the GPT presets on each target, which take turns; speed against the first target, with
// parity, and the cost model fitted to the steps (BENCHMARKS §2). JSON: tabgrad-curve/2 (bench/README.md).
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <memory>
#include <optional>
#include <thread>

#include "base/clock.h"
#include "bench/peak.h"
#include "bench/statistics.h"
#include "bench/train_bench.h"
#include "cli/bench/curve_result.h"
#include "cli/machine.h"
#include "cli/output.h"
#include "models/gpt.h"
#include "tensor/philox.h"

namespace tabgrad::cli {
namespace {

using Clock = std::chrono::steady_clock;
using namespace bench;

constexpr std::uint64_t kSeed = 1;
constexpr int kBatches = 8;          // made beforehand, used in turn
constexpr int kWarmUps = 5;          // steps
constexpr double kTurnSeconds = 0.15;
constexpr auto kPause = std::chrono::milliseconds(20);  // our threads sleep a millisecond after their last task
constexpr std::int64_t kParitySteps = 200;

struct CurveOptions : BenchOptions {
  std::vector<std::string> presets{"tiny", "small", "medium", "large", "xl"}, oracle{"tiny"};
  int steps = 30;
  double seconds = 2, minutes = 10, loss_seconds = 20;
  bool parity = true;
};

struct Batches {
  std::vector<std::vector<std::int32_t>> tokens, targets;

  // Each token follows from the one before with 8 choices, so that the loss has somewhere to go.
  explicit Batches(const GptConfig& c) {
    for (int batch = 0; batch < kBatches; ++batch) {
      auto& in = tokens.emplace_back();
      auto& out = targets.emplace_back();
      std::int32_t token = 0;
      for (std::int64_t i = 0; i < c.batch * c.context; ++i) {
        const std::uint32_t word = philox_u32(kSeed, 3000u + static_cast<std::uint32_t>(batch), static_cast<std::uint64_t>(i));
        if (i % c.context == 0) token = static_cast<std::int32_t>(word >> 8) % 256;
        in.push_back(token);
        token = (token * 5 + 7 * static_cast<std::int32_t>(word % 8)) % 256;
        out.push_back(token);
      }
    }
  }

  std::string hash() const {
    NamedTensors values;  // small whole numbers, exact as floats
    for (const auto* list : {&tokens, &targets})
      for (const auto& ids : *list)
        values.push_back({"", HostTensor::of({static_cast<std::int64_t>(ids.size())}, {ids.begin(), ids.end()})});
    return hash_text(hash_values(values));
  }
};

// A preset on a target, with what runs it.
struct Row : CurveRow {
  std::unique_ptr<TrainBench> bench;
  std::int64_t taken = 0;  // steps

  template <typename F>
  void attempt(F&& body) {
    if (!error.empty()) return;
    try {
      body();
    } catch (const Error& e) {
      error = e.what();
      bench.reset();
    }
  }

  // Gives the mean milliseconds of a step.
  double steps(std::int64_t count, const Batches& batches) {
    const auto start = Clock::now();
    const std::vector<float> got = bench->steps(count, [&](std::int64_t i) {
      const auto at = static_cast<std::size_t>((taken + i) % kBatches);
      const auto elements = static_cast<std::int64_t>(batches.tokens[at].size());
      bench->session().write("tokens", batches.tokens[at].data(), elements);
      bench->session().write("targets", batches.targets[at].data(), elements);
    });
    const double each = 1e3 * seconds_since(start) / static_cast<double>(count);
    taken += count;
    for (const float loss : got) {
      if (!std::isfinite(loss)) fail("the loss is not finite at step ", taken);
      if (losses.size() < static_cast<std::size_t>(kParitySteps)) losses.push_back(loss);
    }
    return each;
  }
  double timed_seconds() const {
    double sum = 0;
    for (const double t : ms) sum += t * 1e-3;
    return sum;
  }
};

void time_rows(std::vector<Row>& rows, const Batches& batches, const CurveOptions& o) {
  const auto done = [&](const Row& row) {
    const double seconds = row.timed_seconds();
    if (seconds >= 10 * o.seconds) return true;
    return static_cast<int>(row.ms.size()) >= o.steps && seconds >= o.seconds;
  };
  for (bool more = true; more;) {
    more = false;
    for (Row& row : rows) {
      if (!row.error.empty() || done(row)) continue;
      more = true;
      row.attempt([&] {
        if (rows.size() > 1) std::this_thread::sleep_for(kPause);
        const std::int64_t group = row.bench->group();  // each step of one took the mean
        // Untimed: threads wake, clocks rise.
        for (const auto start = Clock::now(); rows.size() > 1 && seconds_since(start) < kTurnSeconds / 8;)
          row.steps(group, batches);
        const auto start = Clock::now();
        do {
          const double each = row.steps(group, batches);
          row.ms.insert(row.ms.end(), static_cast<std::size_t>(group), each);
        } while (seconds_since(start) < kTurnSeconds && !done(row));
      });
    }
  }
}

void judge_parity(std::vector<Row>& rows, const GptConfig& preset, const Batches& batches, const NamedTensors& parameters,
                  const CurveOptions& o) {
  for (Row& row : rows) {
    row.attempt([&] {
      const auto start = Clock::now();
      while (row.taken < kParitySteps && seconds_since(start) < o.loss_seconds) row.steps(1, batches);
    });
    row.bench.reset();  // its memory is wanted
  }
  const bool exact = std::find(o.oracle.begin(), o.oracle.end(), preset.name) != o.oracle.end();
  if (!exact && rows.size() < 2) return;
  const GradientInputs inputs{parameters, batches.tokens[0], batches.targets[0]};
  Gradients reference;
  if (exact) reference = exact_gpt_gradients(preset, inputs);
  for (Row& row : rows) {
    row.attempt([&] {
      Gradients got = gpt_gradients(preset, inputs, row.target->options);
      if (reference.empty()) {
        reference = std::move(got);
        return;
      }
      row.gradient_error = gradient_distance(got, reference);
      row.gradient_reference = exact ? "oracle" : rows.front().target->id;
    });
  }
}

CurvePreset measure(const GptConfig& config, const std::vector<BenchTarget>& targets, const CurveOptions& o) {
  const BuiltModel model = build_gpt(config);
  const NamedTensors parameters = initial_values(model.parameters, kSeed);
  const Batches batches(config);
  std::vector<Row> rows;
  for (const BenchTarget& t : targets) {
    Row& row = rows.emplace_back();
    row.target = &t;
    row.attempt([&] {
      const auto start = Clock::now();
      row.bench = std::make_unique<TrainBench>(model, gpt_optimizer(), kGptLearningRate, t.options);
      for (const auto& [name, value] : parameters) row.bench->session().write(name, value);
      row.setup_ms = 1e3 * seconds_since(start);
      row.work = row.bench->work();
      row.first_ms = row.steps(1, batches);
      for (int i = 1; i < kWarmUps; ++i) row.steps(1, batches);
    });
  }
  time_rows(rows, batches, o);
  if (o.parity) judge_parity(rows, config, batches, parameters, o);
  CurvePreset preset{config.name,
                     hash_text(hash_values(parameters)),
                     batches.hash(),
                     parameter_count(model.parameters),
                     config.batch * config.context,
                     {}};
  for (Row& row : rows) preset.rows.push_back(std::move(row));
  return preset;
}

int run(const CurveOptions& o) {
  Curve curve;
  std::vector<const GptConfig*> configs;
  for (const std::string& name : o.presets) configs.push_back(&gpt_preset(name));
  for (const std::string& name : o.oracle) gpt_preset(name);
  curve.targets = open_targets(o);
  std::FILE* out = is_stdout(o.common.json) ? stderr : stdout;
  const auto print = [&](const std::string& line) {
    std::fprintf(out, "%s\n", line.c_str());
    std::fflush(out);
  };
  const std::optional<double> before = load_average();
  for (const BenchTarget& t : curve.targets) {
    const Peak peak = measure_peak(t.options);
    curve.peaks[t.id] = peak;
    print(str(t.heading(), "; peak ", digits3(1e-9 * peak.flops), " GFLOP/s, ", digits3(1e-9 * peak.bytes), " GB/s"));
  }
  const auto start = Clock::now();
  for (const GptConfig* config : configs) {
    if (seconds_since(start) > 60 * o.minutes) {
      print("left out, --minutes are used up: " + config->name);
      continue;
    }
    print(str(config->name, " …"));
    curve.presets.push_back(measure(*config, curve.targets, o));
  }
  if (const std::optional<double> after = load_average(); before && after) curve.load = {*before, *after};
  print("");
  for (const std::string& line : curve_table(curve)) print(line);
  print("");
  for (const std::string& line : cost_table(curve)) print(line);
  if (!o.common.json.empty()) write_output(o.common.json, curve_json(curve).dump(1) + "\n");
  for (const CurvePreset& preset : curve.presets)
    for (const CurveRow& row : preset.rows)
      if (parity_failed(preset, row)) return kFailed;
  return kOk;
}

}  // namespace

void add_bench_curve(CLI::App& bench, Command& command) {
  CLI::App* sub = bench.add_subcommand("curve", "Train steps of the GPT presets: speed against model size, with parity");
  const auto o = std::make_shared<CurveOptions>();
  add_bench_options(*sub, *o);
  add_targets_option(*sub, *o);
  add_precision_option(*sub, o->common);
  sub->add_option("--presets", o->presets, "Sizes to measure, by comma")->delimiter(',')->capture_default_str();
  sub->add_option("--seconds", o->seconds, "Timing of each row at least; at most ten times that")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  sub->add_option("--steps", o->steps, "Timed steps of each row at least")->check(CLI::PositiveNumber)->capture_default_str();
  sub->add_option("--minutes", o->minutes, "No further size is begun after these")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  sub->add_flag("--parity,!--no-parity", o->parity, "Hold gradients and 200 losses against the first target's (the default)");
  sub->add_option("--oracle", o->oracle,
                  "Sizes whose gradients are held against the double-precision oracle; minutes from medium up")
      ->delimiter(',')
      ->capture_default_str();
  sub->callback([&command, o] { command = [o] { return run(*o); }; });
}

}  // namespace tabgrad::cli
