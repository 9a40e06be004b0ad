#include "backend/cpu/cpu_backend.h"

#include <chrono>
#include <cstdio>
#include <cstring>
#include <map>
#include <new>
#include <utility>

#ifdef __linux__
#include <sys/mman.h>
#endif

#include "backend/cpu/launch.h"
#include "base/flags.h"

namespace tabgrad {
namespace {

// Zeroed, 64-byte aligned memory for floats.
class FloatBlock {
 public:
  FloatBlock() = default;
  explicit FloatBlock(std::int64_t floats) {
    const std::size_t bytes = static_cast<std::size_t>(floats < 16 ? 16 : floats) * sizeof(float);
    align_ = std::align_val_t{bytes < kHugePage ? 64 : kHugePage};
    data_ = static_cast<float*>(::operator new(bytes, align_, std::nothrow));
    if (!data_)
      fail("out of memory: ", bytes / 1000000, " MB more were needed; lower the batch, the window or the model's size");
#ifdef __linux__
    if (bytes >= kHugePage) madvise(data_, bytes, MADV_HUGEPAGE);  // fewer misses of the address cache; a wish, not a need
#endif
    std::memset(data_, 0, bytes);
  }
  FloatBlock(FloatBlock&& other) noexcept : data_(std::exchange(other.data_, nullptr)), align_(other.align_) {}
  FloatBlock& operator=(FloatBlock&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(align_, other.align_);
    return *this;
  }
  ~FloatBlock() { ::operator delete(data_, align_); }
  float* get() const { return data_; }

 private:
  static constexpr std::size_t kHugePage = std::size_t{2} << 20;  // x86-64's and ARM's usual size
  float* data_ = nullptr;
  std::align_val_t align_{64};
};

class CpuBackend final : public Backend {
 public:
  CpuBackend(Program program, ThreadPool& pool) : program_(std::move(program)), pool_(pool) {
    values_.uniforms.assign(program_.uniforms.size(), 0.0f);
    for (const Buffer& b : program_.buffers) {
      memory_.emplace_back(b.role == BufferRole::kActivation ? FloatBlock() : FloatBlock(num_elements(b.dims)));
      if (b.role == BufferRole::kConstant) std::memcpy(memory_.back().get(), b.data.data(), b.data.size());
    }
    std::int64_t arena = 0;
    for (const Entry& e : program_.entries) arena = std::max(arena, e.arena_elements);
    arena_ = FloatBlock(arena);
    for (std::size_t i = 0; i < program_.buffers.size(); ++i)
      if (program_.buffers[i].role != BufferRole::kActivation) names_[program_.buffers[i].name] = i;
    for (const Entry& e : program_.entries) {
      std::vector<cpu::PreparedLaunch> launches;
      for (const Launch& l : e.launches) {
        std::vector<float*> args;
        for (int b : l.args) args.push_back(b < 0 ? nullptr : pointer(static_cast<std::size_t>(b)));
        const Kernel& kernel = program_.kernels[static_cast<std::size_t>(l.kernel)];
        launches.push_back(cpu::prepare_launch(kernel, std::move(args), {pool_, workspace_, values_, program_}));
      }
      entries_[e.name] = {&e, std::move(launches), std::vector<double>(e.launches.size(), 0.0), 0};
    }
    workspace_.register_stride = (workspace_.register_stride + 15) / 16 * 16;
    registers_ = FloatBlock(workspace_.register_stride * pool_.threads());
    scratch_ = FloatBlock(workspace_.scratch_floats);
    workspace_.registers = registers_.get();
    workspace_.scratch = {scratch_.get(), workspace_.scratch_floats};
    profile_ = flags::debug() >= 2;
  }

  ~CpuBackend() override {
    if (profile_) print_profile();
  }
  CpuBackend(const CpuBackend&) = delete;
  CpuBackend& operator=(const CpuBackend&) = delete;

  std::string description() const override {
    return str("cpu: ", pool_.threads(), pool_.threads() == 1 ? " thread, " : " threads, ", cpu::instruction_set());
  }

  void write(const std::string& name, const void* data, std::int64_t count) override {
    std::memcpy(named(name, count), data, static_cast<std::size_t>(count) * 4);
  }
  void read(const std::string& name, void* data, std::int64_t count) override {
    std::memcpy(data, named(name, count), static_cast<std::size_t>(count) * 4);
  }

  void set_uniform(const std::string& name, float value) override {
    for (std::size_t i = 0; i < program_.uniforms.size(); ++i)
      if (program_.uniforms[i] == name) values_.uniforms[i] = value;
  }
  void set_random(std::uint64_t seed, std::uint32_t step) override {
    values_.seed = seed;
    values_.step = step;
  }

  void run(const std::string& entry) override {
    const auto found = entries_.find(entry);
    if (found == entries_.end()) fail("[run] the Program has no entry point '", entry, "'");
    Prepared& e = found->second;
    if (!profile_) {
      for (const cpu::PreparedLaunch& launch : e.launches) launch();
      return;
    }
    ++e.runs;
    for (std::size_t i = 0; i < e.launches.size(); ++i) {
      const auto start = std::chrono::steady_clock::now();
      e.launches[i]();
      const double s = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
      e.seconds[i] = e.runs == 1 ? s : std::min(e.seconds[i], s);
    }
  }

  const Program& program() const override { return program_; }

 private:
  struct Prepared {
    const Entry* entry = nullptr;
    std::vector<cpu::PreparedLaunch> launches;
    std::vector<double> seconds;  // the best of all runs (others were disturbed), when profiling
    int runs = 0;
  };

  float* pointer(std::size_t buffer) const {
    const Buffer& b = program_.buffers[buffer];
    return b.role == BufferRole::kActivation ? arena_.get() + b.arena_offset : memory_[buffer].get();
  }

  float* named(const std::string& name, std::int64_t count) const {
    const auto found = names_.find(name);
    if (found == names_.end()) fail("[buffer] the Program has no buffer '", name, "'");
    const Buffer& b = program_.buffers[found->second];
    if (num_elements(b.dims) != count) fail("[buffer] '", name, "' is ", to_string(b.dims), ", not ", count, " elements");
    return memory_[found->second].get();
  }

  void print_profile() const {
    for (const auto& [name, e] : entries_) {
      if (e.runs == 0) continue;
      double total = 0;
      for (double s : e.seconds) total += s;
      std::fprintf(stderr, "%s: %.3f ms, each launch at its best of %d runs\n", name.c_str(), total * 1e3, e.runs);
      for (std::size_t i = 0; i < e.seconds.size(); ++i) {
        const Launch& l = e.entry->launches[i];
        const double s = e.seconds[i];
        std::fprintf(stderr, "  %3zu %8.4f ms %5.1f %%  %8.2f GFLOP/s %8.2f GB/s  %s\n", i, s * 1e3, e.seconds[i] / total * 100,
                     l.flops / s * 1e-9, l.bytes / s * 1e-9,
                     describe(program_.kernels[static_cast<std::size_t>(l.kernel)], l).c_str());
      }
    }
  }

  Program program_;
  ThreadPool& pool_;
  cpu::RunValues values_;
  cpu::Workspace workspace_;
  std::vector<FloatBlock> memory_;  // by buffer; activations lie in arena_
  FloatBlock arena_, registers_, scratch_;
  std::map<std::string, std::size_t> names_;
  std::map<std::string, Prepared, std::less<>> entries_;
  bool profile_ = false;
};

}  // namespace

Caps cpu_caps() {
  Caps caps;
  caps.claims.set();
  caps.claims_grad.set();
  return caps;
}

std::unique_ptr<Backend> make_cpu_backend(Program program, ThreadPool& pool) {
  return std::make_unique<CpuBackend>(std::move(program), pool);
}

}  // namespace tabgrad
