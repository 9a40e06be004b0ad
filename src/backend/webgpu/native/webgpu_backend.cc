#include "backend/webgpu/native/webgpu_backend.h"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <map>
#include <vector>

#include "backend/webgpu/native/device.h"
#include "base/flags.h"

namespace tabgrad {
namespace {

using webgpu::Api;
using webgpu::Device;
using webgpu::text;
using webgpu::view;

constexpr std::size_t kLaunchesAPass = 50;            // the CPU encodes the next ones while the GPU runs these
constexpr std::int64_t kSmallOutputBytes = 1 << 12;   // outputs up to this size are read back after every run
constexpr int kStepsInFlight = 3;

// The result of one asynchronous call.
struct Answer {
  bool done = false;
  std::string error;
};

class WebgpuBackend final : public Backend {
 public:
  WebgpuBackend(Program program, const std::string& library)
      : program_(std::move(program)), device_(Device::open(library)), api_(device_->api()) {
    check_features();
    api_.DevicePushErrorScope(device_->get(), WGPUErrorFilter_Validation);
    api_.DevicePushErrorScope(device_->get(), WGPUErrorFilter_OutOfMemory);
    make_buffers();
    make_pipelines();
    for (const Entry& e : program_.entries) make_entry(e);
    for (const char* what : {"memory", "validation"}) pop_error_scope(what);
    device_->check();
    profile_ = flags::debug() >= 2 && device_->has_timestamps();
  }

  ~WebgpuBackend() override {
    if (profile_) print_profile();
    for (const Slot& slot : ring_) // the answers to mappings under way are written into slots
      if (slot.pending) device_->wait(&slot.answer.done);
    for (auto& [name, e] : entries_) {
      for (Step& s : e.steps) api_.BindGroupRelease(s.bind_group);
      if (e.queries) api_.QuerySetRelease(e.queries);
    }
    for (WGPUComputePipeline p : pipelines_)
      if (p) api_.ComputePipelineRelease(p);
    for (WGPUBuffer b : allocations_) api_.BufferRelease(b);
  }
  WebgpuBackend(const WebgpuBackend&) = delete;
  WebgpuBackend& operator=(const WebgpuBackend&) = delete;

  std::string description() const override {
    const webgpu::AdapterFacts& f = device_->facts();
    return "webgpu: " + f.name + " (" + f.backend + (f.software ? ", a software adapter, no GPU)" : ")");
  }

  void write(const std::string& name, const void* data, std::int64_t count) override {
    const Place p = named(name, count);
    api_.QueueWriteBuffer(device_->queue(), p.buffer, p.offset, data, static_cast<std::size_t>(count) * 4);
    device_->check();
  }

  void read(const std::string& name, void* data, std::int64_t count) override {
    const Place p = named(name, count);
    const auto bytes = static_cast<std::uint64_t>(count) * 4;
    if (const auto small = small_outputs_.find(name); small != small_outputs_.end() && ring_valid_) {
      take(0, small->second, data, bytes);
      return;
    }
    if (bytes > staging_bytes_) {
      if (staging_) api_.BufferRelease(staging_);
      staging_ = make_buffer(bytes, WGPUBufferUsage_MapRead | WGPUBufferUsage_CopyDst);
      staging_bytes_ = bytes;
    }
    WGPUCommandEncoder encoder = api_.DeviceCreateCommandEncoder(device_->get(), nullptr);
    api_.CommandEncoderCopyBufferToBuffer(encoder, p.buffer, p.offset, staging_, 0, bytes);
    submit(encoder);
    read_mapped(staging_, bytes, data);
  }

  int runs_in_flight() const override { return ring_.empty() ? 1 : kStepsInFlight; }

  void read_earlier(const std::string& name, int runs_ago, void* data, std::int64_t count) override {
    named(name, count);
    const auto small = small_outputs_.find(name);
    if (small == small_outputs_.end()) fail("[read] '", name, "' is too large to be kept for later");
    TG_CHECK(runs_ago >= 0 && runs_ago < runs_in_flight());
    take(static_cast<std::size_t>(runs_ago), small->second, data, static_cast<std::size_t>(count) * 4);
  }

  void set_uniform(const std::string& name, float value) override {
    for (std::size_t i = 0; i < program_.uniforms.size(); ++i) {
      if (program_.uniforms[i] != name) continue;
      std::memcpy(&uniforms_[static_cast<std::size_t>(kUniformHeaderWords) + i], &value, 4);
      uniforms_changed_ = true;
    }
  }
  void set_random(std::uint64_t seed, std::uint32_t step) override {
    uniforms_[0] = static_cast<std::uint32_t>(seed);
    uniforms_[1] = static_cast<std::uint32_t>(seed >> 32);
    uniforms_[2] = step;
    uniforms_changed_ = true;
  }

  void run(const std::string& entry) override {
    Prepared& p = ready(entry);
    if (profile_) {
      keep_best(p, run_timed(p, 1));
    } else {
      run_steps(p);
    }
    device_->check();
  }

  std::vector<double> run_timed(const std::string& entry, int launches_at_once) override {
    if (!device_->has_timestamps()) return {};
    Prepared& p = ready(entry);
    std::vector<double> seconds = run_timed(p, static_cast<std::uint32_t>(launches_at_once));
    device_->check();
    return seconds;
  }

  const Program& program() const override { return program_; }

 private:
  struct Place {
    WGPUBuffer buffer = nullptr;
    std::uint64_t offset = 0;
  };
  struct Step {
    WGPUComputePipeline pipeline = nullptr;
    WGPUBindGroup bind_group = nullptr;
    std::array<std::uint32_t, 3> grid;
  };
  struct Prepared {
    const Entry* entry = nullptr;
    std::vector<Step> steps;
    WGPUQuerySet queries = nullptr;
    std::vector<double> seconds;  // the best of all runs
    int runs = 0;
  };

  void check_features() const {
    const int has = device_->features().subgroups;
    if (program_.subgroups > has)
      fail("[webgpu] the Program relies on subgroups of ", program_.subgroups, ", and ", device_->facts().name, " has ",
           has == 0 ? std::string("none") : str("some of ", has), ": compile it for this device, or without subgroups");
    if (program_.f16 && !device_->features().f16)
      fail("[webgpu] the Program stores activations as f16, and ", device_->facts().name,
           " has no shader-f16: compile it in f32");
  }

  WGPUBuffer make_buffer(std::uint64_t bytes, WGPUBufferUsage usage) {
    WGPUBufferDescriptor d{};
    d.usage = usage;
    d.size = std::max<std::uint64_t>(16, (bytes + 15) / 16 * 16);
    const std::uint64_t limit = device_->facts().max_buffer_bytes;
    if (d.size > limit)
      fail("[webgpu] ", device_->facts().name, " takes buffers of up to ", limit / 1000000, " MB, and ", d.size / 1000000,
           " MB are needed: lower the batch, the window or the model's size");
    WGPUBuffer buffer = api_.DeviceCreateBuffer(device_->get(), &d);
    if (!buffer) fail("[webgpu] out of memory: ", d.size / 1000000, " MB more were needed");
    return buffer;
  }

  WGPUBuffer storage(std::int64_t elements) {
    allocations_.push_back(make_buffer(static_cast<std::uint64_t>(elements) * 4,
                                       WGPUBufferUsage_Storage | WGPUBufferUsage_CopyDst | WGPUBufferUsage_CopySrc));
    return allocations_.back();
  }

  void make_buffers() {
    std::int64_t arena = 0;
    for (const Entry& e : program_.entries) arena = std::max(arena, e.arena_elements);
    WGPUBuffer arena_buffer = arena > 0 ? storage(arena) : nullptr;
    std::vector<WGPUBuffer> packs;
    for (std::int64_t n : program_.packs) packs.push_back(storage(n));
    for (const Buffer& b : program_.buffers) {
      if (b.role == BufferRole::kActivation && b.pack < 0) {
        places_.push_back({arena_buffer, static_cast<std::uint64_t>(b.arena_offset) * 4});
        continue;
      }
      Place p;
      if (b.pack >= 0) {
        p = {packs[static_cast<std::size_t>(b.pack)], static_cast<std::uint64_t>(b.pack_offset) * 4};
      } else {
        p = {storage(num_elements(b.dims)), 0};
      }
      if (b.role == BufferRole::kConstant)
        api_.QueueWriteBuffer(device_->queue(), p.buffer, p.offset, b.data.data(), b.data.size());
      if (b.role != BufferRole::kActivation) names_[b.name] = places_.size();
      places_.push_back(p);
    }
    uniforms_.assign((static_cast<std::size_t>(kUniformHeaderWords) + program_.uniforms.size() + 3) / 4 * 4, 0);
    uniform_buffer_ = make_buffer(uniforms_.size() * 4, WGPUBufferUsage_Uniform | WGPUBufferUsage_CopyDst);
    allocations_.push_back(uniform_buffer_);
    std::int64_t small = 0;
    for (const Buffer& b : program_.buffers) {
      const std::int64_t bytes = num_elements(b.dims) * 4;
      if (b.role != BufferRole::kOutput || bytes > kSmallOutputBytes || small + bytes > 4 * kSmallOutputBytes) continue;
      small_outputs_[b.name] = small;
      small += bytes;
    }
    for (int i = 0; small > 0 && i < kStepsInFlight; ++i) {
      ring_.push_back({make_buffer(static_cast<std::uint64_t>(small), WGPUBufferUsage_MapRead | WGPUBufferUsage_CopyDst),
                       std::vector<float>(static_cast<std::size_t>(small / 4))});
      allocations_.push_back(ring_.back().buffer);
    }
  }

  // All pipelines at once, since making one takes milliseconds; wgpu-native makes them one by one.
  void make_pipelines() {
    struct Request {
      Answer answer;
      WGPUComputePipeline pipeline = nullptr;
    };
    std::vector<Request> requests(program_.kernels.size());
    std::vector<WGPUShaderModule> modules;
    for (std::size_t k = 0; k < program_.kernels.size(); ++k) {
      const Kernel& kernel = program_.kernels[k];
      if (kernel.kind != KernelKind::kShader) fail("the Program was compiled for the CPU: a GPU cannot run it");
      WGPUShaderSourceWGSL source{};
      source.chain.sType = WGPUSType_ShaderSourceWGSL;
      source.code = view(kernel.shader.text);
      WGPUShaderModuleDescriptor module{};
      module.nextInChain = &source.chain;
      modules.push_back(api_.DeviceCreateShaderModule(device_->get(), &module));
      WGPUComputePipelineDescriptor d{};
      d.label = view(kernel.shader.name);
      d.compute.module = modules.back();
      d.compute.entryPoint = {"main", 4};
      if (!api_.dawn) {
        requests[k].pipeline = api_.DeviceCreateComputePipeline(device_->get(), &d);
        continue;
      }
      WGPUCreateComputePipelineAsyncCallbackInfo callback{};
      callback.mode = WGPUCallbackMode_AllowProcessEvents;
      callback.userdata1 = &requests[k];
      callback.callback = [](WGPUCreatePipelineAsyncStatus status, WGPUComputePipeline pipeline, WGPUStringView message,
                             void* to, void*) {
        auto& r = *static_cast<Request*>(to);
        r.answer.done = true;
        r.pipeline = pipeline;
        if (status != WGPUCreatePipelineAsyncStatus_Success) r.answer.error = text(message);
      };
      api_.DeviceCreateComputePipelineAsync(device_->get(), &d, callback);
    }
    for (std::size_t k = 0; k < requests.size(); ++k) {
      if (api_.dawn) device_->wait(&requests[k].answer.done);
      pipelines_.push_back(requests[k].pipeline);
    }
    for (WGPUShaderModule m : modules) api_.ShaderModuleRelease(m);
    for (std::size_t k = 0; k < requests.size(); ++k) {
      if (requests[k].pipeline) continue;
      for (const char* what : {"memory", "validation"}) pop_error_scope(what);  // says more
      fail("[webgpu] ", device_->facts().name, " refuses the shader '", program_.kernels[k].shader.name,
           "': ", requests[k].answer.error, flags::debug() >= 3 ? "\n" + program_.kernels[k].shader.text : "");
    }
  }

  void make_entry(const Entry& e) {
    Prepared& p = entries_[e.name];
    p.entry = &e;
    p.seconds.assign(e.launches.size(), 0.0);
    for (const Launch& l : e.launches) {
      const Shader& shader = program_.kernels[static_cast<std::size_t>(l.kernel)].shader;
      Step step{pipelines_[static_cast<std::size_t>(l.kernel)], nullptr, l.grid};
      std::vector<WGPUBindGroupEntry> entries;
      if (shader.uniforms) {
        WGPUBindGroupEntry& u = entries.emplace_back();
        u.buffer = uniform_buffer_;
        u.size = uniforms_.size() * 4;
      }
      for (std::size_t a = 0; a < l.args.size(); ++a) {
        const Place& place = places_[static_cast<std::size_t>(l.args[a])];
        WGPUBindGroupEntry& entry = entries.emplace_back();
        entry.binding = static_cast<std::uint32_t>(a + 1);
        entry.buffer = place.buffer;
        entry.offset = place.offset;
        entry.size = static_cast<std::uint64_t>(shader.args[a].elements) * 4;
        if (entry.size > device_->facts().max_binding_bytes)
          fail("[webgpu] ", device_->facts().name, " binds up to ", device_->facts().max_binding_bytes / 1000000,
               " MB at once, and '", l.label, "' needs ", entry.size / 1000000,
               " MB: lower the batch, the window or the model's size");
      }
      WGPUBindGroupLayout layout = api_.ComputePipelineGetBindGroupLayout(step.pipeline, 0);
      WGPUBindGroupDescriptor d{};
      d.layout = layout;
      d.entryCount = entries.size();
      d.entries = entries.data();
      step.bind_group = api_.DeviceCreateBindGroup(device_->get(), &d);
      api_.BindGroupLayoutRelease(layout);
      p.steps.push_back(step);
    }
  }

  void pop_error_scope(const char* what) {
    Answer answer;
    WGPUPopErrorScopeCallbackInfo callback{};
    callback.mode = WGPUCallbackMode_AllowProcessEvents;
    callback.userdata1 = &answer;
    callback.callback = [](WGPUPopErrorScopeStatus, WGPUErrorType type, WGPUStringView message, void* to, void*) {
      auto& a = *static_cast<Answer*>(to);
      a.done = true;
      if (type != WGPUErrorType_NoError) a.error = text(message);
    };
    api_.DevicePopErrorScope(device_->get(), callback);
    device_->wait(&answer.done);
    if (!answer.error.empty()) fail("[webgpu] ", device_->facts().name, ": ", what, " error while loading: ", answer.error);
  }

  void dispatch(WGPUComputePassEncoder pass, const Step& s, const Step* before) const {
    if (!before || before->pipeline != s.pipeline) api_.ComputePassEncoderSetPipeline(pass, s.pipeline);
    api_.ComputePassEncoderSetBindGroup(pass, 0, s.bind_group, 0, nullptr);
    api_.ComputePassEncoderDispatchWorkgroups(pass, s.grid[0], s.grid[1], s.grid[2]);
  }

  void submit(WGPUCommandEncoder encoder) const {
    WGPUCommandBuffer commands = api_.CommandEncoderFinish(encoder, nullptr);
    api_.QueueSubmit(device_->queue(), 1, &commands);
    api_.CommandBufferRelease(commands);
    api_.CommandEncoderRelease(encoder);
  }

  void run_steps(const Prepared& p) {
    for (std::size_t first = 0; first < p.steps.size() || first == 0; first += kLaunchesAPass) {
      WGPUCommandEncoder encoder = api_.DeviceCreateCommandEncoder(device_->get(), nullptr);
      const std::size_t end = std::min(p.steps.size(), first + kLaunchesAPass);
      if (first < end) {
        WGPUComputePassEncoder pass = api_.CommandEncoderBeginComputePass(encoder, nullptr);
        for (std::size_t i = first; i < end; ++i) dispatch(pass, p.steps[i], i > first ? &p.steps[i - 1] : nullptr);
        api_.ComputePassEncoderEnd(pass);
        api_.ComputePassEncoderRelease(pass);
      }
      if (end == p.steps.size()) copy_small_outputs(encoder);
      submit(encoder);
    }
    map_ring();
  }

  // ---- the ring of read-backs: small outputs are copied and mapped after every run; its depth bounds the steps in flight ----

  struct Slot {
    WGPUBuffer buffer = nullptr;
    std::vector<float> values{};
    Answer answer{};
    bool pending = false;
  };

  void copy_small_outputs(WGPUCommandEncoder encoder) {
    if (ring_.empty()) return;
    at_ = (at_ + 1) % ring_.size();
    finish_slot(ring_[at_]);
    for (const auto& [name, offset] : small_outputs_) {
      const Place& p = places_[names_.at(name)];
      const auto bytes = static_cast<std::uint64_t>(num_elements(program_.buffers[names_.at(name)].dims)) * 4;
      api_.CommandEncoderCopyBufferToBuffer(encoder, p.buffer, p.offset, ring_[at_].buffer, static_cast<std::uint64_t>(offset),
                                            bytes);
    }
  }

  void map_ring() {
    if (ring_.empty()) return;
    Slot& slot = ring_[at_];
    slot.answer = {};
    slot.pending = true;
    map(slot.buffer, slot.values.size() * 4, slot.answer);
    ring_valid_ = true;
  }

  // Waits for the slot's run and takes what it brought.
  void finish_slot(Slot& slot) {
    if (!slot.pending) return;
    device_->wait(&slot.answer.done);
    slot.pending = false;
    if (!slot.answer.error.empty()) device_->report(slot.answer.error);
    device_->check();
    const void* from = api_.BufferGetConstMappedRange(slot.buffer, 0, slot.values.size() * 4);
    if (from) std::memcpy(slot.values.data(), from, slot.values.size() * 4);
    api_.BufferUnmap(slot.buffer);
  }

  // at: bytes into a slot.
  void take(std::size_t runs_ago, std::int64_t at, void* data, std::size_t bytes) {
    Slot& slot = ring_[(at_ + ring_.size() - runs_ago) % ring_.size()];
    finish_slot(slot);
    std::memcpy(data, slot.values.data() + at / 4, bytes);
  }

  void map(WGPUBuffer buffer, std::size_t bytes, Answer& answer) const {
    WGPUBufferMapCallbackInfo callback{};
    callback.mode = WGPUCallbackMode_AllowProcessEvents;
    callback.userdata1 = &answer;
    callback.callback = [](WGPUMapAsyncStatus status, WGPUStringView message, void* to, void*) {
      auto& a = *static_cast<Answer*>(to);
      a.done = true;
      if (status != WGPUMapAsyncStatus_Success) a.error = "reading back failed: " + text(message);
    };
    api_.BufferMapAsync(buffer, WGPUMapMode_Read, 0, bytes, callback);
  }

  void read_mapped(WGPUBuffer buffer, std::size_t bytes, void* data) {
    Answer answer;
    map(buffer, bytes, answer);
    device_->wait(&answer.done);
    if (!answer.error.empty()) device_->report(answer.error);
    device_->check();
    std::memcpy(data, api_.BufferGetConstMappedRange(buffer, 0, bytes), bytes);
    api_.BufferUnmap(buffer);
  }

  Place named(const std::string& name, std::int64_t count) const {
    const auto found = names_.find(name);
    if (found == names_.end()) fail("[buffer] the Program has no buffer '", name, "'");
    const Buffer& b = program_.buffers[found->second];
    if (num_elements(b.dims) != count) fail("[buffer] '", name, "' is ", to_string(b.dims), ", not ", count, " elements");
    return places_[found->second];
  }

  // An entry point with the uniforms written, to be run.
  Prepared& ready(const std::string& entry) {
    const auto found = entries_.find(entry);
    if (found == entries_.end()) fail("[run] the Program has no entry point '", entry, "'");
    device_->check();
    if (uniforms_changed_) api_.QueueWriteBuffer(device_->queue(), uniform_buffer_, 0, uniforms_.data(), uniforms_.size() * 4);
    uniforms_changed_ = false;
    return found->second;
  }

  // ---- passes with timestamps, of so many launches; TABGRAD_DEBUG=2 prints those of single ones ---------------------------

  std::vector<double> run_timed(Prepared& p, std::uint32_t at_once) {
    const auto launches = static_cast<std::uint32_t>(p.steps.size());
    const std::uint32_t n = (launches + at_once - 1) / at_once;
    constexpr std::uint32_t kBatch = 1024;  // passes: a query set holds at most 4096 queries
    if (!p.queries) {
      WGPUQuerySetDescriptor d{};
      d.type = WGPUQueryType_Timestamp;
      d.count = 2 * std::min(launches, kBatch);
      p.queries = api_.DeviceCreateQuerySet(device_->get(), &d);
      allocations_.push_back(make_buffer(16ull * kBatch, WGPUBufferUsage_QueryResolve | WGPUBufferUsage_CopySrc));
      resolved_ = allocations_.back();
      allocations_.push_back(make_buffer(16ull * kBatch, WGPUBufferUsage_MapRead | WGPUBufferUsage_CopyDst));
      resolved_staging_ = allocations_.back();
    }
    std::vector<double> seconds(n);
    for (std::uint32_t first = 0; first < n; first += kBatch) {
      const std::uint32_t count = std::min(kBatch, n - first);
      WGPUCommandEncoder encoder = api_.DeviceCreateCommandEncoder(device_->get(), nullptr);
      for (std::uint32_t i = 0; i < count; ++i) {
        WGPUPassTimestampWrites times{};
        times.querySet = p.queries;
        times.beginningOfPassWriteIndex = 2 * i;
        times.endOfPassWriteIndex = 2 * i + 1;
        WGPUComputePassDescriptor d{};
        d.timestampWrites = &times;
        WGPUComputePassEncoder pass = api_.CommandEncoderBeginComputePass(encoder, &d);
        const std::uint32_t begin = (first + i) * at_once;
        for (std::uint32_t l = begin; l < std::min(begin + at_once, launches); ++l)
          dispatch(pass, p.steps[l], l > begin ? &p.steps[l - 1] : nullptr);
        api_.ComputePassEncoderEnd(pass);
        api_.ComputePassEncoderRelease(pass);
      }
      api_.CommandEncoderResolveQuerySet(encoder, p.queries, 0, 2 * count, resolved_, 0);
      api_.CommandEncoderCopyBufferToBuffer(encoder, resolved_, 0, resolved_staging_, 0, 16ull * count);
      if (first + count == n) copy_small_outputs(encoder);
      submit(encoder);
      std::vector<std::uint64_t> times(2ull * count);
      read_mapped(resolved_staging_, 16ull * count, times.data());
      for (std::uint32_t i = 0; i < count; ++i)
        seconds[first + i] = static_cast<double>(times[2 * i + 1] - times[2 * i]) * 1e-9;
    }
    map_ring();
    return seconds;
  }

  static void keep_best(Prepared& p, const std::vector<double>& seconds) {
    for (std::size_t i = 0; i < seconds.size(); ++i)
      p.seconds[i] = p.runs == 0 ? seconds[i] : std::min(p.seconds[i], seconds[i]);
    ++p.runs;
  }

  void print_profile() const {
    for (const auto& [name, p] : entries_) {
      if (p.runs == 0) continue;
      double total = 0;
      for (double s : p.seconds) total += s;
      std::fprintf(stderr, "%s on %s: %.3f ms in launches, each at its best of %d runs\n", name.c_str(), description().c_str(),
                   total * 1e3, p.runs);
      for (std::size_t i = 0; i < p.seconds.size(); ++i) {
        const Launch& l = p.entry->launches[i];
        const double s = std::max(p.seconds[i], 1e-9);
        std::fprintf(stderr, "  %3zu %9.2f µs %5.1f %%  %8.2f GFLOP/s %8.2f GB/s  %s\n", i, s * 1e6, s / total * 100,
                     l.flops / s * 1e-9, l.bytes / s * 1e-9,
                     describe(program_.kernels[static_cast<std::size_t>(l.kernel)], l).c_str());
      }
    }
  }

  Program program_;
  std::shared_ptr<Device> device_;
  const Api& api_;
  std::vector<WGPUBuffer> allocations_;  // all that are to be released
  std::vector<Place> places_;  // by buffer
  std::map<std::string, std::size_t> names_;
  std::vector<WGPUComputePipeline> pipelines_;  // by kernel
  std::map<std::string, Prepared, std::less<>> entries_;
  std::vector<std::uint32_t> uniforms_;
  bool uniforms_changed_ = true;
  WGPUBuffer uniform_buffer_ = nullptr, staging_ = nullptr, resolved_ = nullptr, resolved_staging_ = nullptr;
  std::uint64_t staging_bytes_ = 0;
  std::map<std::string, std::int64_t> small_outputs_;  // byte offsets in a slot
  std::vector<Slot> ring_;
  std::size_t at_ = 0;
  bool ring_valid_ = false, profile_ = false;
};

}  // namespace

WebgpuFeatures webgpu_features(const std::string& library) { return Device::open(library)->features(); }

std::unique_ptr<Backend> make_webgpu_backend(Program program, const std::string& library) {
  return std::make_unique<WebgpuBackend>(std::move(program), library);
}

}  // namespace tabgrad
