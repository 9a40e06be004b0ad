// What the subcommands of `tabgrad bench` share: options, targets with their adapters, and what a result says about its machine.
//
// Invariant: a target that is a software adapter is used only where that was allowed, and its JSON and its table say so.
#pragma once

#include <string>
#include <vector>

#include "cli/cli.h"
#include "train/json_fields.h"

namespace tabgrad::cli {

struct BenchOptions {
  Common common;
  bool allow_software = false;
  std::vector<std::string> targets;  // none: cpu, and webgpu where there is a GPU
};
// --webgpu, --allow-software
void add_gpu_options(CLI::App& app, BenchOptions& options);
// --json, --threads, and those.
void add_bench_options(CLI::App& app, BenchOptions& options);
// --targets
void add_targets_option(CLI::App& app, BenchOptions& options);

struct BenchTarget {
  std::string id;  // "cpu", "webgpu"
  SessionOptions options;
  Json about;  // library, version, backend, threads, device, driver, software, notes
  bool software = false;

  std::string heading() const;  // "webgpu: NVIDIA H200, Vulkan, libwebgpu_dawn.so.0, driver …"
};
// Throws Error where a target is unknown, has no adapter, or is a software adapter that was not allowed.
std::vector<BenchTarget> open_targets(const BenchOptions& options);

// date, runtime, cpu, cores, isolated, timer_resolution_ms, gpu, power; load and outside are the caller's to fill.
Json result_head(const char* schema, const std::vector<BenchTarget>& targets);

// {"median", "p10", "p90", "n"} of times.
Json spread_json(const std::vector<double>& values);
// Three digits that count: "0.427", "12.3", "142".
std::string digits3(double value);

void add_bench_curve(CLI::App& bench, Command& command);
void add_bench_dispatch(CLI::App& bench, Command& command);
void add_bench_kernels(CLI::App& bench, Command& command);
void add_bench_lstm(CLI::App& bench, Command& command);
void add_bench_recommend(CLI::App& bench, Command& command);
void add_bench_compare(CLI::App& bench, Command& command);

}  // namespace tabgrad::cli
