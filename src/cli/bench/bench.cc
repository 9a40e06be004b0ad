#include "cli/bench/bench.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <thread>

#include "backend/cpu/kernels.h"
#include "backend/webgpu/native/adapters.h"
#include "base/threads.h"
#include "bench/statistics.h"
#include "cli/machine.h"
#include "cli/output.h"

namespace tabgrad::cli {
namespace {

BenchTarget cpu_target(const BenchOptions& o) {
  BenchTarget t;
  t.id = "cpu";
  t.options.pool = std::make_shared<ThreadPool>(o.common.threads);
  t.about = {{"library", "tabgrad"},
             {"version", TABGRAD_VERSION},
             {"backend", "cpu"},
             {"threads", t.options.pool->threads()},
             {"device", str(processor_name(), ", ", cpu::instruction_set())},
             {"driver", ""},
             {"software", false},
             {"notes", Json::array()}};
  return t;
}

BenchTarget webgpu_target(const BenchOptions& o, const webgpu::AdapterFacts& a) {
  BenchTarget t;
  t.id = "webgpu";
  t.options.device = "webgpu";
  t.options.webgpu = o.common.webgpu;
  t.options.pool = std::make_shared<ThreadPool>(1);
  t.software = a.software;
  t.about = {{"library", "tabgrad"}, {"version", TABGRAD_VERSION}, {"backend", "webgpu"},    {"threads", 0},
             {"device", a.name},     {"driver", a.driver},         {"software", a.software}, {"notes", {a.library, a.backend}}};
  Common common = o.common;
  common.device = "webgpu";
  t.options.f16 = training_options(common, [](const std::string& line) { fail(line); }).f16;
  if (t.options.f16) t.about["notes"].push_back("activations in f16");
  return t;
}

}  // namespace

void add_gpu_options(CLI::App& app, BenchOptions& o) {
  app.add_option("--webgpu", o.common.webgpu, "WebGPU's library: dawn, wgpu or a path; what is found otherwise")
      ->type_name("LIBRARY");
  app.add_flag("--allow-software", o.allow_software, "Measure a software adapter too, which is no GPU: for tests");
}

void add_bench_options(CLI::App& app, BenchOptions& o) {
  app.add_option("--json", o.common.json, "Also write the result as JSON to FILE; - is standard output")->type_name("FILE");
  app.add_option("--threads", o.common.threads, "CPU threads; 0 means TABGRAD_THREADS, or all cores")
      ->check(CLI::Range(0, 256))
      ->type_name("N")
      ->capture_default_str();
  add_gpu_options(app, o);
}

void add_targets_option(CLI::App& app, BenchOptions& o) {
  app.add_option("--targets", o.targets, "cpu, webgpu; the first is the baseline [cpu, and webgpu where there is a GPU]")
      ->delimiter(',')
      ->type_name("LIST");
}

std::string BenchTarget::heading() const {
  std::string text = id + ": " + about.at("device").get<std::string>();
  if (software) text += " (A SOFTWARE ADAPTER, NO GPU)";
  if (const int threads = about.at("threads"); threads > 0) text += str(", ", threads, threads == 1 ? " thread" : " threads");
  for (const Json& note : about.at("notes")) text += ", " + note.get<std::string>();
  if (const std::string driver = about.at("driver"); !driver.empty()) text += ", " + driver;
  return text;
}

std::vector<BenchTarget> open_targets(const BenchOptions& o) {
  const bool choose = o.targets.empty();
  std::vector<BenchTarget> out;
  for (const std::string& id : choose ? std::vector<std::string>{"cpu", "webgpu"} : o.targets) {
    if (id != "cpu" && id != "webgpu") fail("--targets ", id, ": not one of cpu, webgpu");
    if (id == "cpu") {
      out.push_back(cpu_target(o));
      continue;
    }
    std::vector<webgpu::AdapterFacts> adapters;
    try {
      adapters = webgpu::list_adapters(o.common.webgpu);
    } catch (const Error&) {
      if (!choose) throw;
    }
    if (choose && (adapters.empty() || (adapters.front().software && !o.allow_software))) continue;
    if (adapters.empty()) fail("--targets webgpu: no adapter; `tabgrad devices` lists what there is");
    if (adapters.front().software && !o.allow_software)
      fail("--targets webgpu: ", adapters.front().name,
           " is a software adapter, and its times say nothing about a GPU. --allow-software measures it all the same.");
    out.push_back(webgpu_target(o, adapters.front()));
  }
  return out;
}

Json result_head(const char* schema, const std::vector<BenchTarget>& targets) {
  const bool software = std::any_of(targets.begin(), targets.end(), [](const BenchTarget& t) { return t.software; });
  const bool gpu = std::any_of(targets.begin(), targets.end(), [](const BenchTarget& t) { return t.id == "webgpu"; });
  return {{"schema", schema},
          {"date", date_text()},
          {"runtime", "native"},
          {"cpu", processor_name()},
          {"cores", std::thread::hardware_concurrency()},
          {"isolated", nullptr},
          {"timer_resolution_ms", timer_resolution_ms()},
          {"gpu", software ? "software"
                  : gpu    ? "hardware"
                           : "none"},
          {"power", power_hints()}};
}

Json spread_json(const std::vector<double>& values) {
  return {{"median", bench::median(values)},
          {"p10", bench::quantile(values, 0.1)},
          {"p90", bench::quantile(values, 0.9)},
          {"n", values.size()}};
}

std::string digits3(double value) {
  return fixed(value, value <= 0 ? 0 : std::clamp(2 - static_cast<int>(std::floor(std::log10(value))), 0, 6));
}

void add_bench(CLI::App& app, Command& command) {
  CLI::App* bench = app.add_subcommand("bench", "Measure this machine: train steps, launches, kernels; compare results");
  bench->require_subcommand(1);
  add_bench_curve(*bench, command);
  add_bench_dispatch(*bench, command);
  add_bench_kernels(*bench, command);
  add_bench_lstm(*bench, command);
  add_bench_recommend(*bench, command);
  add_bench_compare(*bench, command);
}

}  // namespace tabgrad::cli
