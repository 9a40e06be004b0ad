// `tabgrad export`: a model as other programs take it. `--to program`: its compiled train step with the data to train on, for
// a page that has tabgrad's runtime and nothing else (packages/tabgrad/src/runtime/training.ts reads both files).
#include <CLI/CLI.hpp>
#include <cstdio>
#include <memory>

#include "cli/cli.h"
#include "cli/output.h"
#include "data/atomic_file.h"
#include "data/safetensors.h"
#include "plan/plan.h"
#include "train/checkpoint.h"
#include "train/forecast_job.h"

namespace tabgrad::cli {
namespace {

constexpr const char* kProgramFile = "program.tgp";
constexpr const char* kDataFile = "training.safetensors";

struct ExportCommand {
  std::string model, csv, to, out, start = "new";
};

// Every example of a part, a row each: the inputs x, future and target of train_step and evaluate.
void add_examples(NamedTensors& tensors, const std::string& part, const WindowMaker& maker, WindowRange range) {
  if (range.count == 0) return;
  const WindowRecipe& r = maker.recipe();
  HostTensor x = HostTensor::zeros({range.count, r.window, r.channels()}), target = HostTensor::zeros({range.count, r.horizon});
  HostTensor future;
  if (r.calendar_channels() > 0) future = HostTensor::zeros({range.count, r.horizon, r.calendar_channels()});
  for (std::int64_t i = 0; i < range.count; ++i) {
    maker.inputs(range.first + i, x.f32.data() + i * r.window * r.channels(),
                 future.f32.data() + i * r.horizon * r.calendar_channels());
    maker.targets(range.first + i, target.f32.data() + i * r.horizon);
  }
  tensors.emplace_back(part + "/x", std::move(x));
  if (r.calendar_channels() > 0) tensors.emplace_back(part + "/future", std::move(future));
  tensors.emplace_back(part + "/target", std::move(target));
}

Json training_plan(const ForecastSetup& setup) {
  const TrainerConfig& t = setup.training;
  const Schedule s = schedule_of(t, setup.ranges.train.count);
  return {{"title", setup.series.source + ": " + setup.series.target_name + ", " + forecaster_title(setup.settings.model.kind)},
          {"seed", std::to_string(t.seed)},
          {"epochs", t.epochs},
          {"batch", t.batch},
          {"evalBatch", t.eval_batch},
          {"schedule",
           {{"kind", schedule_kind_name(s.kind)},
            {"peak", s.peak},
            {"warmupSteps", s.warmup_steps},
            {"totalSteps", s.total_steps},
            {"dropEvery", s.drop_every},
            {"dropFactor", s.drop_factor}}},
          {"beta1", t.optimizer.beta1},
          {"beta2", t.optimizer.beta2}};
}

int export_model(const ExportCommand& c) {
  const SavedModel saved = load_model(c.model);
  const ForecastSetup setup(make_series(read_csv_file(c.csv), saved.model.settings.series), saved.model.settings);
  // For the limits that every implementation of WebGPU grants.
  const Program program = compile(setup.model.entries, device_caps({.device = "webgpu"}), "webgpu");
  NamedTensors tensors;
  const NamedTensors weights = c.start == "new" ? initial_values(setup.model.parameters, setup.training.seed) : saved.weights;
  for (const auto& [name, value] : weights) tensors.emplace_back("weights/" + name, value);
  add_examples(tensors, "training", *setup.maker, setup.ranges.train);
  add_examples(tensors, "validation", *setup.maker, setup.ranges.validation);
  const std::string data = write_safetensors(tensors, {{"training", training_plan(setup).dump()}});
  const std::vector<std::uint8_t> bytes = serialize(program);

  prepare_folder(c.out);
  write_file_atomically(c.out + "/" + kProgramFile, {reinterpret_cast<const char*>(bytes.data()), bytes.size()});
  write_file_atomically(c.out + "/" + kDataFile, data);
  std::printf("%s/%s: %.1f kB, %zu shaders\n%s/%s: %.1f MB, %lld windows to train on\n", c.out.c_str(), kProgramFile,
              static_cast<double>(bytes.size()) * 1e-3, program.kernels.size(), c.out.c_str(), kDataFile,
              static_cast<double>(data.size()) * 1e-6, static_cast<long long>(setup.ranges.train.count));
  return kOk;
}

}  // namespace

void add_export(CLI::App& app, Command& command) {
  CLI::App* sub = app.add_subcommand("export", "Write a model for other programs");
  const auto options = std::make_shared<ExportCommand>();
  sub->add_option("--model", options->model, "Folder that 'train forecast --out' wrote")->type_name("DIR")->required();
  sub->add_option("--to", options->to, "program: its train step for WebGPU, and the data, for a page without WebAssembly")
      ->type_name("FORMAT")
      ->check(CLI::IsMember({"program"}))
      ->required();
  sub->add_option("--csv", options->csv, "The series to train on")->type_name("FILE")->required();
  sub->add_option("--start", options->start, "Where training starts: from new weights, or the model's")
      ->type_name("new|model")
      ->check(CLI::IsMember({"new", "model"}))
      ->capture_default_str();
  sub->add_option("--out", options->out, "Folder for the files")->type_name("DIR")->required();
  sub->callback([&command, options] { command = [options] { return export_model(*options); }; });
}

}  // namespace tabgrad::cli
