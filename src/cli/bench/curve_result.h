// What `tabgrad bench curve` found, as JSON (tabgrad-curve/2, bench/README.md) and as tables.
#pragma once

#include <cmath>
#include <map>
#include <string>
#include <vector>

#include "bench/peak.h"
#include "cli/bench/bench.h"
#include "cost/cost_model.h"

namespace tabgrad::cli {

// A preset on a target.
struct CurveRow {
  const BenchTarget* target = nullptr;
  StepWork work;
  double setup_ms = 0, first_ms = 0;
  std::vector<double> ms;     // of each timed step
  std::vector<float> losses;  // of the first steps, untimed ones included
  double gradient_error = NAN;
  std::string gradient_reference;  // "oracle", or the target that it is the distance from; "" where not looked at
  std::string error;               // why there are no times
};

struct CurvePreset {
  std::string name, parameters_hash, batches_hash;
  std::int64_t parameters = 0, tokens = 0;
  std::vector<CurveRow> rows;  // one a target, in order
};

struct Curve {
  std::vector<BenchTarget> targets;  // the first is the baseline
  std::map<std::string, bench::Peak> peaks;
  std::map<std::string, double> load_ms;  // of a target: opening the device
  std::vector<CurvePreset> presets;
  Json load;  // one-minute load average before and after, or null
};

// Beyond BENCHMARKS §5 S2 in gradients or losses.
bool parity_failed(const CurvePreset& preset, const CurveRow& row);
// The cost model of each target with at least three measured presets.
std::map<std::string, CostFit> cost_fits(const Curve& curve);

Json curve_json(const Curve& curve);
std::vector<std::string> curve_table(const Curve& curve);
// "webgpu: 2.1 µs a launch, 36 TFLOP/s, …" and a table of residuals, for each target.
std::vector<std::string> cost_table(const Curve& curve);

}  // namespace tabgrad::cli
