// bench step: how long a whole train step takes for the GPT presets and for two LSTMs.
//
// A step is: the next batch is written, forward, loss, backward, clipping by global norm, AdamW, and the loss read back
// (BENCHMARKS §2, §4). Compiling and the first steps are not timed. The rows take turns, one step each, so that a machine that
// slows down or is shared does so for all of them. TABGRAD_DEBUG=2 prints each launch's time and rate in the end.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>

#include "engine/engine.h"
#include "lstm_model.h"
#include "models/gpt.h"
#include "tensor/philox.h"
#include "train/burst.h"

namespace tabgrad {
namespace {

using Clock = std::chrono::steady_clock;
constexpr std::uint64_t kSeed = 1;
constexpr int kBatches = 8;  // made beforehand, used in turn

struct NamedLstm {
  const char* name;
  LstmShape shape;
};
constexpr NamedLstm kLstms[] = {{"lstm 32/24/1/32", {32, 24, 1, 32}}, {"lstm 128/48/8/64", {128, 48, 8, 64}}};

class Row {
 public:
  Row(std::string name, const BuiltModel& model, OptimizerConfig optimizer, double lr, const SessionOptions& options)
      : name(std::move(name)),
        parameters(parameter_count(model.parameters)),
        optimizer_(optimizer),
        lr_(lr),
        session(make_session(model.entries, options)) {
    write_initial_values(session, model.parameters, kSeed);
    for (const Launch& l : session.program().entries.front().launches) flops += l.flops;
    std::uint32_t stream = 1000;
    for (const Buffer& buffer : session.program().buffers) {
      if (buffer.role != BufferRole::kInput) continue;
      for (int i = 0; i < kBatches; ++i) batches_.push_back({buffer.name, make_values(buffer, stream++)});
    }
  }

  // One step; where the device runs behind (train/burst.h) a few, each of which took their mean.
  void step() {
    constexpr std::int64_t kGroup = 8;
    const auto start = Clock::now();
    const auto issue = [&](std::int64_t) {
      for (std::size_t i = static_cast<std::size_t>(steps_ % kBatches); i < batches_.size(); i += kBatches)
        session.write(batches_[i].first, batches_[i].second);
      ++steps_;
      set_step_uniforms(session, optimizer_, lr_, steps_);
      session.run("train_step");
    };
    const auto settle = [&](std::int64_t, int runs_ago) {
      loss = session.read_scalar_earlier("loss", runs_ago);
      return true;
    };
    const std::int64_t taken = run_burst(session, kGroup, issue, settle);
    const double each = std::chrono::duration<double, std::milli>(Clock::now() - start).count() / static_cast<double>(taken);
    ms.insert(ms.end(), static_cast<std::size_t>(taken), each);
    if (!std::isfinite(loss)) fail(name, ": the loss is not finite at step ", steps_);
  }
  void forget_times() { ms.clear(); }

  // q of the sorted times: 0.5 is the median.
  double quantile(double q) const {
    std::vector<double> sorted = ms;
    std::sort(sorted.begin(), sorted.end());
    return sorted[static_cast<std::size_t>(std::lround(q * static_cast<double>(sorted.size() - 1)))];
  }
  double total_ms() const {
    double total = 0;
    for (const double t : ms) total += t;
    return total;
  }

  std::string name;
  std::int64_t parameters = 0;
  double flops = 0, loss = 0;
  std::vector<double> ms;

 private:
  static HostTensor make_values(const Buffer& buffer, std::uint32_t stream) {
    HostTensor t = HostTensor::zeros(buffer.dims);
    t.dtype = buffer.dtype;
    for (std::int64_t i = 0; i < t.size(); ++i) {
      const auto at = static_cast<std::uint64_t>(i);
      if (buffer.dtype == DType::kI32)
        t.i32.push_back(static_cast<std::int32_t>(philox_u32(kSeed, stream, at) % 256));
      else
        t.f32[static_cast<std::size_t>(i)] = normal(kSeed, stream, at);
    }
    return t;
  }

  OptimizerConfig optimizer_;
  double lr_;
  std::int64_t steps_ = 0;
  std::vector<std::pair<std::string, HostTensor>> batches_;

 public:
  Session session;
};

struct Options {
  std::vector<std::string> presets{"tiny", "small", "medium", "large", "xl"};
  bool lstm = true;
  int threads = 0, steps = 30, warmup = 5;
  std::string device = "cpu", webgpu;
  double seconds = 2;
  std::string json;
};

int run(const Options& o) {
  SessionOptions session;
  session.threads = o.threads;
  session.device = o.device;
  session.webgpu = o.webgpu;
  std::vector<std::unique_ptr<Row>> rows;
  if (o.lstm)
    for (const NamedLstm& l : kLstms)
      rows.push_back(
          std::make_unique<Row>(l.name, build_lstm(l.shape, OptimizerConfig{}, 1.0), OptimizerConfig{}, 1e-3, session));
  for (const std::string& preset : o.presets)
    rows.push_back(std::make_unique<Row>(preset, build_gpt(gpt_preset(preset)), gpt_optimizer(), kGptLearningRate, session));
  if (rows.empty()) fail("nothing to run");
  for (auto& row : rows) {
    for (int i = 0; i < o.warmup; ++i) row->step();
    row->forget_times();
  }
  // Fast rows go on for `seconds` each, since few of their steps would be noise.
  for (bool more = true; more;) {
    more = false;
    for (auto& row : rows) {
      if (static_cast<int>(row->ms.size()) >= o.steps && row->total_ms() >= o.seconds * 1e3) continue;
      row->step();
      more = true;
    }
  }
  const std::string device = rows.front()->session.device();
  std::printf("%s\n%-18s %11s %9s %9s %9s %9s %9s %6s\n", device.c_str(), "", "parameters", "launches", "median", "p10", "p90",
              "GFLOP/s", "n");
  nlohmann::ordered_json json{{"bench", "step"},
                              {"device", device},
                              {"step", "batch written, forward, loss, backward, clip 1.0, AdamW, loss read"},
                              {"rows", nlohmann::ordered_json::array()}};
  for (const auto& row : rows) {
    const double median = row->quantile(0.5), rate = row->flops / median * 1e-6;
    const std::size_t launches = row->session.program().entries.front().launches.size();
    std::printf("%-18s %11lld %9zu %6.2f ms %6.2f ms %6.2f ms %9.1f %6zu\n", row->name.c_str(),
                static_cast<long long>(row->parameters), launches, median, row->quantile(0.1), row->quantile(0.9), rate,
                row->ms.size());
    json["rows"].push_back({{"name", row->name},
                            {"params", row->parameters},
                            {"launches", launches},
                            {"flops", row->flops},
                            {"ms_median", median},
                            {"ms_p10", row->quantile(0.1)},
                            {"ms_p90", row->quantile(0.9)},
                            {"gflops", rate},
                            {"n", row->ms.size()},
                            {"loss", row->loss}});
  }
  if (!o.json.empty()) {
    std::ofstream file(o.json);
    file << json.dump(2) << "\n";
    if (!file.flush()) fail("cannot write ", o.json);
  }
  return 0;
}

}  // namespace
}  // namespace tabgrad

int main(int argc, char** argv) {
  tabgrad::Options o;
  CLI::App app("Times whole train steps");
  app.add_option("--presets", o.presets, "GPT presets, by comma; none: --presets ''")->delimiter(',')->capture_default_str();
  app.add_flag("--lstm,!--no-lstm", o.lstm, "The LSTM steps too (the default)");
  app.add_option("--threads", o.threads, "0: TABGRAD_THREADS or all cores")->check(CLI::Range(0, 256))->capture_default_str();
  app.add_option("--device", o.device, "cpu or webgpu")->capture_default_str();
  app.add_option("--webgpu", o.webgpu, "WebGPU's library: dawn, wgpu or a path; what is found otherwise");
  app.add_option("--steps", o.steps, "Timed steps of a row, at least")->check(CLI::PositiveNumber)->capture_default_str();
  app.add_option("--seconds", o.seconds, "Time of a row, at least")->check(CLI::NonNegativeNumber)->capture_default_str();
  app.add_option("--json", o.json, "Write the result to FILE")->type_name("FILE");
  CLI11_PARSE(app, argc, argv);
  o.presets.erase(std::remove(o.presets.begin(), o.presets.end(), ""), o.presets.end());
  try {
    return tabgrad::run(o);
  } catch (const std::exception& e) {
    std::fprintf(stderr, "bench step: %s\n", e.what());
    return 1;
  }
}
