// tabgrad bench dispatch: what a launch costs through WebGPU (BENCHMARKS §3), by five methods, split by stage; and what fusing is worth.
//
// The kernel adds 1 to 256 numbers, so that the time is the launch's. Pipeline, buffers and bind groups are made before. Checks that
// every dispatch took place. The fifth method replays one of the engine's own Programs. JSON: tabgrad-dispatch/2 (bench/README.md).
#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "backend/webgpu/native/device.h"
#include "base/error.h"
#include "bench/ablation.h"
#include "cli/bench/bench.h"
#include "cli/output.h"
#include "models/gpt_config.h"

namespace tabgrad::cli {
namespace {

using webgpu::Api;
using webgpu::Device;
using webgpu::view;

constexpr std::uint32_t kElements = 256, kWorkgroup = 64;
constexpr int kDispatches = 100, kPassDispatches = 1000;
constexpr const char* kKernel = R"(
@group(0) @binding(0) var<storage, read_write> data : array<f32>;
@compute @workgroup_size(64) fn main(@builtin(global_invocation_id) id : vec3<u32>) { data[id.x] = data[id.x] + 1.0; }
)";

double now_us() {
  return std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

// What a method measured: microseconds a dispatch, one number a repeat; and the mean of each stage a dispatch.
struct Measured {
  std::string method;
  int dispatches = 1;  // of a repeat
  std::vector<double> us;
  std::map<std::string, double> stages;  // sums, divided in the end

  double quantile(double q) const {
    std::vector<double> sorted = us;
    std::sort(sorted.begin(), sorted.end());
    return sorted[static_cast<std::size_t>(std::lround(q * static_cast<double>(sorted.size() - 1)))];
  }
  double mean() const {
    double sum = 0;
    for (const double t : us) sum += t;
    return sum / static_cast<double>(us.size());
  }
  double deviation() const {
    double sum = 0;
    for (const double t : us) sum += (t - mean()) * (t - mean());
    return us.size() > 1 ? std::sqrt(sum / static_cast<double>(us.size() - 1)) : 0;
  }
};

class Bench {
 public:
  explicit Bench(const std::string& library) : device_(Device::open(library)), api_(device_->api()) {
    WGPUShaderSourceWGSL source{};
    source.chain.sType = WGPUSType_ShaderSourceWGSL;
    source.code = {kKernel, WGPU_STRLEN};
    WGPUShaderModuleDescriptor module{};
    module.nextInChain = &source.chain;
    WGPUShaderModule shader = api_.DeviceCreateShaderModule(device_->get(), &module);
    WGPUComputePipelineDescriptor pipeline{};
    pipeline.compute.module = shader;
    pipeline.compute.entryPoint = {"main", 4};
    pipeline_ = api_.DeviceCreateComputePipeline(device_->get(), &pipeline);
    api_.ShaderModuleRelease(shader);
    for (int i = 0; i < kPassDispatches; ++i) {
      WGPUBufferDescriptor buffer{};
      buffer.size = kElements * 4;
      buffer.usage = WGPUBufferUsage_Storage | WGPUBufferUsage_CopySrc | WGPUBufferUsage_CopyDst;
      buffers_.push_back(api_.DeviceCreateBuffer(device_->get(), &buffer));
      WGPUBindGroupEntry entry{};
      entry.buffer = buffers_.back();
      entry.size = buffer.size;
      WGPUBindGroupLayout layout = api_.ComputePipelineGetBindGroupLayout(pipeline_, 0);
      WGPUBindGroupDescriptor group{};
      group.layout = layout;
      group.entryCount = 1;
      group.entries = &entry;
      groups_.push_back(api_.DeviceCreateBindGroup(device_->get(), &group));
      api_.BindGroupLayoutRelease(layout);
    }
    device_->check();
  }

  const webgpu::AdapterFacts& facts() const { return device_->facts(); }
  double expected() const { return expected_; }

  // Each dispatch alone, waited for.
  Measured single_op(int repeats) {
    Measured m{.method = "single-op", .us = {}, .stages = {}};
    for (int r = -10; r < repeats; ++r) {
      stages_ = r >= 0 ? &m.stages : nullptr;
      const double start = now_us();
      WGPUCommandEncoder encoder = begin();
      pass(encoder, 1, false);
      submit(encoder);
      wait();
      if (r >= 0) m.us.push_back(now_us() - start);
    }
    return m;
  }

  // Encoder, pass and submit of their own for each dispatch, one wait in the end.
  Measured sequential(int rounds) {
    return in_rounds("sequential", kDispatches, rounds, [&] {
      for (int i = 0; i < kDispatches; ++i) {
        WGPUCommandEncoder encoder = begin();
        pass(encoder, 1, false);
        submit(encoder);
      }
    });
  }

  // A pass of its own for each dispatch, one encoder and submit.
  Measured one_command_buffer(int rounds) {
    return in_rounds("one command buffer", kDispatches, rounds, [&] {
      WGPUCommandEncoder encoder = begin();
      for (int i = 0; i < kDispatches; ++i) pass(encoder, 1, false);
      submit(encoder);
    });
  }

  Measured one_pass(int rounds, bool independent) {
    return in_rounds(independent ? "one pass, independent" : "one pass, dependent", kPassDispatches, rounds, [&] {
      WGPUCommandEncoder encoder = begin();
      pass(encoder, kPassDispatches, independent);
      submit(encoder);
    });
  }

  // Dispatches in submits of `chunk`, the engine's way (one encoder and pass each): encoding and execution overlap.
  Measured chunked(int rounds, int chunk) {
    return in_rounds(str("submits of ", chunk), kPassDispatches, rounds, [&] {
      for (int i = 0; i < kPassDispatches; i += chunk) {
        WGPUCommandEncoder encoder = begin();
        pass(encoder, std::min(chunk, kPassDispatches - i), false);
        submit(encoder);
      }
    });
  }

  // The first buffer's numbers count its dispatches.
  double counted() {
    WGPUBufferDescriptor d{};
    d.size = kElements * 4;
    d.usage = WGPUBufferUsage_MapRead | WGPUBufferUsage_CopyDst;
    WGPUBuffer staging = api_.DeviceCreateBuffer(device_->get(), &d);
    WGPUCommandEncoder encoder = api_.DeviceCreateCommandEncoder(device_->get(), nullptr);
    api_.CommandEncoderCopyBufferToBuffer(encoder, buffers_[0], 0, staging, 0, d.size);
    stages_ = nullptr;
    submit(encoder);
    bool done = false;
    WGPUBufferMapCallbackInfo callback{};
    callback.mode = WGPUCallbackMode_AllowProcessEvents;
    callback.userdata1 = &done;
    callback.callback = [](WGPUMapAsyncStatus, WGPUStringView, void* to, void*) { *static_cast<bool*>(to) = true; };
    api_.BufferMapAsync(staging, WGPUMapMode_Read, 0, d.size, callback);
    device_->wait(&done);
    const float value = static_cast<const float*>(api_.BufferGetConstMappedRange(staging, 0, d.size))[kElements - 1];
    api_.BufferRelease(staging);
    return static_cast<double>(value);
  }

 private:
  template <typename Work>
  auto stage(const char* name, Work work) {
    const double start = now_us();
    auto result = work();
    if (stages_) (*stages_)[name] += now_us() - start;
    return result;
  }

  WGPUCommandEncoder begin() {
    return stage("encoder", [&] { return api_.DeviceCreateCommandEncoder(device_->get(), nullptr); });
  }

  void pass(WGPUCommandEncoder encoder, int dispatches, bool independent) {
    WGPUComputePassEncoder p = stage("begin pass", [&] { return api_.CommandEncoderBeginComputePass(encoder, nullptr); });
    const auto set_pipeline = [&] { return api_.ComputePassEncoderSetPipeline(p, pipeline_), 0; };
    stage("set pipeline", set_pipeline);
    for (int i = 0; i < dispatches; ++i) {
      const auto group = groups_[independent ? static_cast<std::size_t>(i) : 0];
      // Timing each of a thousand calls would cost as much as they do.
      if (dispatches == 1) {
        stage("set bind group", [&] { return api_.ComputePassEncoderSetBindGroup(p, 0, group, 0, nullptr), 0; });
        stage("dispatch", [&] { return api_.ComputePassEncoderDispatchWorkgroups(p, kElements / kWorkgroup, 1, 1), 0; });
      } else {
        api_.ComputePassEncoderSetBindGroup(p, 0, group, 0, nullptr);
        api_.ComputePassEncoderDispatchWorkgroups(p, kElements / kWorkgroup, 1, 1);
      }
    }
    expected_ += independent ? 1 : dispatches;
    stage("end pass", [&] { return api_.ComputePassEncoderEnd(p), api_.ComputePassEncoderRelease(p), 0; });
  }

  void submit(WGPUCommandEncoder encoder) {
    WGPUCommandBuffer commands = stage("finish", [&] { return api_.CommandEncoderFinish(encoder, nullptr); });
    stage("submit", [&] { return api_.QueueSubmit(device_->queue(), 1, &commands), 0; });
    api_.CommandBufferRelease(commands);
    api_.CommandEncoderRelease(encoder);
  }

  void wait() {
    stage("wait", [&] {
      bool done = false;
      WGPUQueueWorkDoneCallbackInfo callback{};
      callback.mode = WGPUCallbackMode_AllowProcessEvents;
      callback.userdata1 = &done;
      callback.callback = [](WGPUQueueWorkDoneStatus, WGPUStringView, void* to, void*) { *static_cast<bool*>(to) = true; };
      api_.QueueOnSubmittedWorkDone(device_->queue(), callback);
      device_->wait(&done);
      return 0;
    });
    device_->check();
  }

  Measured in_rounds(std::string method, int dispatches, int rounds, const std::function<void()>& round) {
    constexpr int kWarmUp = 5;
    Measured m{.method = std::move(method), .dispatches = dispatches, .us = {}, .stages = {}};
    for (int r = -kWarmUp; r < rounds; ++r) {
      stages_ = r >= 0 ? &m.stages : nullptr;
      const double start = now_us();
      round();
      wait();
      if (r >= 0) m.us.push_back((now_us() - start) / dispatches);
    }
    return m;
  }

  std::shared_ptr<Device> device_;
  const Api& api_;
  WGPUComputePipeline pipeline_ = nullptr;
  std::vector<WGPUBuffer> buffers_;
  std::vector<WGPUBindGroup> groups_;
  std::map<std::string, double>* stages_ = nullptr;
  double expected_ = 0;
};

struct DispatchOptions : BenchOptions {
  int repeats = 500, rounds = 50;
  std::string ablation = "tiny";
  double seconds = 0.5;
};

Json row_json(const Measured& m) {
  // 95 % of means of this many repeats lie within 1.96 standard errors.
  const double half = 1.96 * m.deviation() / std::sqrt(static_cast<double>(m.us.size()));
  Json stages = Json::object();
  for (const auto& [name, sum] : m.stages) stages[name] = sum / (static_cast<double>(m.us.size()) * m.dispatches);
  return {{"method", m.method},
          {"dispatches", m.dispatches},
          {"n", m.us.size()},
          {"us_median", m.quantile(0.5)},
          {"us_mean", m.mean()},
          {"us_mean_ci95", {m.mean() - half, m.mean() + half}},
          {"us_p10", m.quantile(0.1)},
          {"us_p90", m.quantile(0.9)},
          {"cv", m.deviation() / m.mean()},
          {"stages_us", std::move(stages)}};
}

int run(DispatchOptions o) {
  o.targets = {"webgpu"};
  const std::vector<BenchTarget> targets = open_targets(o);
  Bench bench(o.common.webgpu);
  std::FILE* out = is_stdout(o.common.json) ? stderr : stdout;
  const auto print = [&](const std::string& line) {
    std::fprintf(out, "%s\n", line.c_str());
    std::fflush(out);
  };
  print(targets.front().heading());
  std::vector<Measured> rows;
  // An idle card clocks low: the first round of everything only warms it up.
  for (const bool warm : {true, false}) {
    const int repeats = warm ? o.repeats / 5 : o.repeats, rounds = warm ? o.rounds / 5 : o.rounds;
    rows = {bench.single_op(repeats),      bench.sequential(rounds),     bench.one_command_buffer(rounds),
            bench.one_pass(rounds, false), bench.one_pass(rounds, true), bench.chunked(rounds, 50)};
  }
  const double counted = bench.counted();
  if (counted != bench.expected()) fail("the kernel ran ", counted, " times instead of ", bench.expected());
  const bench::Replay replay = bench::time_replay(targets.front().options, o.seconds);

  std::vector<std::vector<std::string>> cells{{"method", "µs a launch", "mean", "p10", "p90", "CV", "stages, µs"}};
  Json json = result_head("tabgrad-dispatch/2", targets);
  json["targets"] = Json::array({{{"id", "webgpu"}, {"about", targets.front().about}}});
  json["timer"] = "std::chrono::steady_clock";
  json["kernel"] = "data[i] += 1 on 256 f32, workgroup 64";
  json["rows"] = Json::array();
  for (const Measured& m : rows) {
    json["rows"].push_back(row_json(m));
    std::string stages;
    for (const auto& [name, us] : json["rows"].back()["stages_us"].items())
      stages += str(stages.empty() ? "" : ", ", name, " ", fixed(us.get<double>(), 2));
    cells.push_back({m.method, fixed(m.quantile(0.5), 2), fixed(m.mean(), 2), fixed(m.quantile(0.1), 2),
                     fixed(m.quantile(0.9), 2), fixed(100 * m.deviation() / m.mean(), 1) + " %", stages});
  }
  cells.push_back({str("replay of ", replay.launches), fixed(replay.us_median, 2), "", fixed(replay.us_p10, 2),
                   fixed(replay.us_p90, 2), "", "a Program of the engine"});
  for (const std::string& line : table(cells)) print(line);
  const double ratio = rows[0].quantile(0.5) / rows[1].quantile(0.5);
  print("single-op / sequential: " + fixed(ratio, 1));
  json["single_op_over_sequential"] = ratio;
  json["replay"] = bench::replay_json(replay);
  json["ablation"] = nullptr;
  if (!o.ablation.empty()) {
    const GptConfig& config = gpt_preset(o.ablation);
    std::vector<std::vector<std::string>> ablation{{config.name, "of", "launches", "ms"}};
    const std::vector<bench::AblationRow> list = bench::run_ablation(config, targets.front().options, o.seconds);
    for (const bench::AblationRow& r : list)
      ablation.push_back({r.variant, r.entry, std::to_string(r.launches), digits3(r.ms)});
    json["ablation"] = {{"preset", config.name}, {"rows", bench::ablation_json(list)}};
    print("");
    for (const std::string& line : table(ablation)) print(line);
  }
  if (!o.common.json.empty()) write_output(o.common.json, json.dump(1) + "\n");
  return kOk;
}

}  // namespace

void add_bench_dispatch(CLI::App& bench, Command& command) {
  CLI::App* sub = bench.add_subcommand("dispatch", "What a launch costs through WebGPU, and what fusing launches is worth");
  const auto o = std::make_shared<DispatchOptions>();
  add_bench_options(*sub, *o);
  sub->add_option("--repeats", o->repeats, "Of the single dispatch")->check(CLI::Range(5, 100000))->capture_default_str();
  sub->add_option("--rounds", o->rounds, "Of the other methods")->check(CLI::Range(5, 100000))->capture_default_str();
  sub->add_option("--ablation", o->ablation, "Size whose train step and decode are run with parts of the fusing; '' for none")
      ->capture_default_str();
  sub->add_option("--seconds", o->seconds, "Of replay and of each variant")->check(CLI::PositiveNumber)->capture_default_str();
  sub->callback([&command, o] { command = [o] { return run(*o); }; });
}

}  // namespace tabgrad::cli
