// tabgrad plan: what a model's train step will cost, before anything is allocated or run.
//
// Does: builds the graphs, compiles them for a target, adds up. Does not: need the target's device.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <map>
#include <memory>
#include <optional>

#include "cli/cli.h"
#include "cli/output.h"
#include "graph/recompute.h"
#include "models/forecaster.h"
#include "models/language_model.h"
#include "plan/plan.h"

namespace tabgrad::cli {
namespace {

struct PlanOptions {
  Common common;
  std::string preset, model, target = "cpu";
  ForecasterConfig forecaster;
  std::int64_t batch = 64;
  std::optional<std::int64_t> units, layers, heads;  // otherwise the model's default
  bool dump = false, recompute = false;
};

struct Planned {
  std::string name, about;  // for people
  BuiltModel model;
};

Planned build_model(const PlanOptions& o) {
  if (o.preset.empty() && o.model.empty()) {
    std::string presets;
    for (const GptConfig& c : gpt_presets()) presets += (presets.empty() ? "" : ", ") + c.name;
    fail("say what to plan: --preset NAME (", presets, ") for a language model, or --model NAME (lstm, gru, transformer)");
  }
  if (!o.preset.empty()) {
    const LmConfig c = lm_preset(o.preset, lm_kind_from(o.model.empty() ? "gpt" : o.model));
    BuiltModel model = build_lm(c, gpt_optimizer(), kGptClipNorm, 1);
    if (o.recompute)
      for (EntryGraph& entry : model.entries) entry.graph = recompute(entry.graph, lm_layer_names(c));
    const std::string sizes =
        c.recurrent() ? str(" layers of ", c.width, " units") : str(" layers, width ", c.width, ", ", c.heads, " heads");
    return {str(c.recurrent() ? c.kind == LmKind::kLstm ? "LSTM '" : "GRU '" : "GPT '", c.name, "'"),
            str(c.layers, sizes, "; a step sees ", c.batch, " texts of ", c.context, " tokens"), std::move(model)};
  }
  if (o.recompute) fail("--recompute goes with --preset: a forecaster's layers keep their activations.");
  ForecasterConfig c = default_forecaster(forecaster_kind_from(o.model));
  c.window = o.forecaster.window;
  c.horizon = o.forecaster.horizon;
  c.channels = o.forecaster.channels;
  c.future_channels = o.forecaster.future_channels;
  c.units = o.units.value_or(c.units);
  c.layers = o.layers.value_or(c.layers);
  c.heads = o.heads.value_or(c.heads);
  const std::string heads = c.kind == ForecasterKind::kTransformer ? str(", ", c.heads, " heads") : "";
  return {o.model + " forecaster",
          str(c.layers, c.layers == 1 ? " layer of " : " layers of ", c.units, " units", heads, "; a step sees ", o.batch,
              " windows of ", c.window, " steps with ", c.channels, " channels, forecasting ", c.horizon),
          build_forecaster(c, o.batch, o.batch, OptimizerConfig{}, 1.0)};
}

// "12.3 M", "7 " with the largest prefix that leaves a number of at least 1.
std::string amount(double value) {
  const char* prefixes[] = {"", " k", " M", " G", " T"};
  std::size_t i = 0;
  for (; value >= 1000.0 && i + 1 < std::size(prefixes); ++i) value /= 1000.0;
  char text[32];
  std::snprintf(text, sizeof text, i == 0 || value >= 100 ? "%.0f" : value < 10 ? "%.2f" : "%.1f", value);
  return text + std::string(i == 0 ? " " : prefixes[i]);
}

std::string grouped(std::int64_t value) {  // 366432 → "366,432"
  std::string text = std::to_string(value);
  for (std::int64_t at = static_cast<std::int64_t>(text.size()) - 3; at > 0; at -= 3)
    text.insert(static_cast<std::size_t>(at), ",");
  return text;
}

struct Cost {
  std::int64_t launches = 0;
  double flops = 0, bytes = 0;
  void add(const Launch& l) {
    ++launches;
    flops += l.flops;
    bytes += l.bytes;
  }
};
Cost total(const Entry& entry) {
  Cost cost;
  for (const Launch& l : entry.launches) cost.add(l);
  return cost;
}

const char* work_of(const Kernel& k) {
  switch (k.kind) {
    case KernelKind::kMap: return "elementwise, fused";
    case KernelKind::kReduce: return "sums and maxima, fused";
    case KernelKind::kContract: return "matrix products";
    case KernelKind::kGather:
    case KernelKind::kSegmentSum: return "embedding";
    case KernelKind::kComposite: return composite_name(k.composite);
    case KernelKind::kShader: return k.shader.name.c_str();
  }
  TG_CHECK(false);
}

// What the launches of an entry do, the most expensive first.
std::vector<std::string> work_table(const Program& program, const Entry& entry) {
  std::map<std::string, Cost> kinds;
  for (const Launch& l : entry.launches) kinds[work_of(program.kernels[static_cast<std::size_t>(l.kernel)])].add(l);
  std::vector<std::pair<std::string, Cost>> sorted(kinds.begin(), kinds.end());
  std::stable_sort(sorted.begin(), sorted.end(), [](const auto& a, const auto& b) {
    return a.second.flops != b.second.flops ? a.second.flops > b.second.flops : a.second.bytes > b.second.bytes;
  });
  std::vector<std::vector<std::string>> rows{{"kernels", "launches", "FLOPs", "bytes"}};
  for (const auto& [kind, cost] : sorted)
    rows.push_back({kind, std::to_string(cost.launches), cost.flops > 0 ? amount(cost.flops) : "", amount(cost.bytes) + "B"});
  return table(rows);
}

int plan(const PlanOptions& o) {
  SessionOptions session = session_options(o.common);
  session.device = o.target;
  const Planned planned = build_model(o);
  const Program program = compile(planned.model.entries, device_caps(session), o.target);
  const MemoryUse memory = memory_use(program);
  const Entry& step = program.entries.front();
  TG_CHECK(step.name == "train_step");
  const Cost cost = total(step);
  const std::int64_t parameters = parameter_count(planned.model.parameters);

  std::FILE* out = is_stdout(o.common.json) ? stderr : stdout;
  const auto line = [&](const std::string& text) { std::fprintf(out, "%s\n", text.c_str()); };
  const auto bytes = [](std::int64_t n) { return amount(static_cast<double>(n)) + "B"; };
  line(planned.name + " on " + o.target);
  line("  " + planned.about);
  line("");
  line("parameters  " + grouped(parameters));
  line(str("train step  ", cost.launches, " launches, ", amount(cost.flops), "FLOP, ", amount(cost.bytes), "B moved"));
  line(str("memory      ", bytes(memory.total()), " at the peak: parameters ", bytes(memory.parameters), ", optimizer ",
           bytes(memory.state), ", activations ", bytes(memory.arena), ", inputs, outputs and constants ",
           bytes(memory.inputs_outputs + memory.constants)));
  line("");
  for (const std::string& text : work_table(program, step)) line(text);
  line("");
  line("Launch: one kernel started. FLOPs: multiplications and additions of matrix products. Bytes: read and written, each");
  line("buffer once a launch. Memory is known now because the planner places every buffer before anything runs.");
  if (o.dump) {
    line("");
    std::fputs(dump(program).c_str(), out);
  }
  if (o.common.json.empty()) return kOk;

  Json json{{"preset", o.preset.empty() ? o.model : o.preset},
            {"target", o.target},
            {"params", parameters},
            {"launches", cost.launches},
            {"flops", cost.flops},
            {"bytes", cost.bytes},
            {"peak_bytes", memory.total()},
            {"memory",
             {{"parameters", memory.parameters},
              {"state", memory.state},
              {"inputs_outputs", memory.inputs_outputs},
              {"constants", memory.constants},
              {"activations", memory.arena}}}};
  for (const Entry& entry : program.entries) {
    const Cost c = total(entry);
    json["entries"][entry.name] = {{"launches", c.launches}, {"flops", c.flops}, {"bytes", c.bytes}};
  }
  write_output(o.common.json, json.dump(2) + "\n");
  return kOk;
}

}  // namespace

void add_plan(CLI::App& app, Command& command) {
  CLI::App* sub = app.add_subcommand("plan", "Show what training a model costs: parameters, launches, FLOPs, bytes, memory");
  const auto o = std::make_shared<PlanOptions>();
  std::string presets;
  for (const GptConfig& c : gpt_presets()) presets += (presets.empty() ? "" : "|") + c.name;
  sub->add_option("--preset", o->preset, "A language model: " + presets)->type_name("NAME");
  sub->add_option("--model", o->model,
                  "A forecaster: lstm|gru|transformer; with --preset the kind of language model: gpt|lstm|gru")
      ->type_name("NAME");
  sub->add_option("--target", o->target, "The target to compile for: cpu|webgpu|webgl; needs no such device")
      ->type_name("NAME")
      ->capture_default_str();
  sub->add_flag("--recompute", o->recompute, "Compute layers' activations again in the backward pass: less memory, more work");
  sub->add_flag("--dump", o->dump, "List every launch with its kernel's code");
  add_common_options(*sub, o->common);
  const auto size = [&](const char* name, auto& value, const char* help) {
    return sub->add_option(name, value, help)->type_name("N")->group("Size of a forecaster (with --model)");
  };
  size("--window", o->forecaster.window, "Time steps that the model sees")->capture_default_str();
  size("--horizon", o->forecaster.horizon, "Time steps that it forecasts")->capture_default_str();
  size("--channels", o->forecaster.channels, "Numbers given for each step")->capture_default_str();
  size("--future-channels", o->forecaster.future_channels, "Numbers known of each step to forecast (calendar)")
      ->capture_default_str();
  size("--units", o->units, "Hidden units of a layer [64; transformer 32]");
  size("--layers", o->layers, "Layers [1; transformer 2]");
  size("--heads", o->heads, "Attention heads of a transformer [4]");
  size("--batch", o->batch, "Windows a step")->capture_default_str();
  sub->callback([&command, o] { command = [o] { return plan(*o); }; });
}

}  // namespace tabgrad::cli
