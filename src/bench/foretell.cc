#include "bench/foretell.h"

#include <algorithm>

#include "base/clock.h"
#include "bench/peak.h"
#include "bench/run_timer.h"
#include "bench/statistics.h"
#include "models/gpt.h"
#include "nn/train_step.h"

namespace tabgrad::bench {

CostModel calibrate(const SessionOptions& options, double seconds) {
  const auto start = std::chrono::steady_clock::now();
  const double each = seconds / 12;  // of five things, with as much to warm up, and time to compile
  std::vector<MeasuredStep> steps;
  for (const PeakRun& run : peak_runs(options, each)) steps.push_back({run.name, {{1, run.flops, run.bytes}}, run.seconds});
  for (const char* preset : {"tiny", "small"}) {
    if (seconds_since(start) > 0.6 * seconds && steps.back().name == "tiny") break;
    const BuiltModel model = build_gpt(gpt_preset(preset));
    Session session = make_session(model.entries, options);
    write_initial_values(session, model.parameters, 1);
    set_step_uniforms(session, gpt_optimizer(), kGptLearningRate, 1);
    steps.push_back({preset, work_of(session.program()), median(time_runs(session, "train_step", "loss", each))});
  }
  return fit_cost_model(steps);
}

std::vector<Foretold> foretell(const std::map<std::string, CostModel>& devices, const std::vector<std::string>& presets) {
  std::vector<Foretold> list;
  for (const std::string& preset : presets) {
    const BuiltModel model = build_gpt(gpt_preset(preset));
    for (const auto& [device, cost] : devices) {
      SessionOptions options;
      options.device = device;
      const Program program = compile(model.entries, device_caps(options), device);
      list.push_back({preset, device, 1e3 * predict(cost, work_of(program)).seconds});
    }
  }
  return list;
}

Recommended recommend(const std::vector<Foretold>& list, double steps, double seconds) {
  std::vector<std::string> order;
  std::map<std::string, const Foretold*> fastest;
  for (const Foretold& f : list) {
    const Foretold*& best = fastest[f.preset];
    if (!best) order.push_back(f.preset);
    if (!best || f.ms < best->ms) best = &f;
  }
  Recommended found;
  for (const std::string& preset : order) {
    const Foretold& f = *fastest[preset];
    const double all = 1e-3 * f.ms * steps;
    if (all <= seconds) found = {f.preset, f.device, all};
  }
  return found;
}

}  // namespace tabgrad::bench
