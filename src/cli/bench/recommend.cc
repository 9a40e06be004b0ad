// tabgrad bench recommend: which size to train on which target, and how long it will take, from a calibration of seconds.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <memory>

#include "bench/foretell.h"
#include "cli/bench/bench.h"
#include "cli/output.h"
#include "cli/progress.h"
#include "models/gpt_config.h"

namespace tabgrad::cli {
namespace {

struct RecommendOptions : BenchOptions {
  double steps = 2000, minutes = 10, seconds = 4;
};

int run(const RecommendOptions& o) {
  const std::vector<BenchTarget> targets = open_targets(o);
  std::FILE* out = is_stdout(o.common.json) ? stderr : stdout;
  Json json = result_head("tabgrad-recommend/1", targets);
  std::map<std::string, CostModel> devices;
  for (const BenchTarget& t : targets) {
    const CostModel cost = bench::calibrate(t.options, o.seconds);
    devices[t.id] = cost;
    std::fprintf(out, "%s\n  %s µs a launch at least, %s GFLOP/s, %s GB/s\n", t.heading().c_str(),
                 digits3(1e6 * cost.overhead).c_str(), digits3(1e-9 * cost.rate).c_str(),
                 digits3(1e-9 * cost.bandwidth).c_str());
  }
  std::vector<std::string> presets;
  for (const GptConfig& c : gpt_presets()) presets.push_back(c.name);
  const auto list = bench::foretell(devices, presets);
  std::vector<std::vector<std::string>> cells{{"size", "target", "ms a step, foretold", str(o.steps, " steps")}};
  json["rows"] = Json::array();
  for (const bench::Foretold& f : list) {
    cells.push_back({f.preset, f.device, digits3(f.ms), clock_text(1e-3 * f.ms * o.steps)});
    json["rows"].push_back({{"preset", f.preset}, {"target", f.device}, {"ms", {{"median", f.ms}}}});
  }
  for (const std::string& line : table(cells)) std::fprintf(out, "%s\n", line.c_str());
  const bench::Recommended best = bench::recommend(list, o.steps, 60 * o.minutes);
  json["best"] = nullptr;
  if (best.preset.empty()) {
    std::fprintf(out, "No size is done with %g steps within %g minutes here.\n", o.steps, o.minutes);
  } else {
    std::fprintf(out, "Recommended for %g steps within %g minutes: %s on %s, about %s.\n", o.steps, o.minutes,
                 best.preset.c_str(), best.device.c_str(), clock_text(best.seconds).c_str());
    json["best"] = {{"preset", best.preset}, {"target", best.device}, {"seconds", best.seconds}};
  }
  if (!o.common.json.empty()) write_output(o.common.json, json.dump(1) + "\n");
  return kOk;
}

}  // namespace

void add_bench_recommend(CLI::App& bench, Command& command) {
  CLI::App* sub =
      bench.add_subcommand("recommend", "Which size to train where, and how long it takes, from seconds of measuring");
  const auto o = std::make_shared<RecommendOptions>();
  add_bench_options(*sub, *o);
  add_targets_option(*sub, *o);
  sub->add_option("--steps", o->steps, "Steps of the run")->check(CLI::PositiveNumber)->capture_default_str();
  sub->add_option("--minutes", o->minutes, "It should be done by then")->check(CLI::PositiveNumber)->capture_default_str();
  sub->add_option("--seconds", o->seconds, "Of measuring on each target")->check(CLI::PositiveNumber)->capture_default_str();
  sub->callback([&command, o] { command = [o] { return run(*o); }; });
}

}  // namespace tabgrad::cli
