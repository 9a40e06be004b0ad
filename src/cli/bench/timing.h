// Shared by the benchmarks of single kernels: alternating timings, the table and the JSON rows, OpenBLAS opened at run time.
// A ratio comes from one process in which both sides take turns, so that a busy machine slows both alike.
#pragma once

#include <dlfcn.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <memory>
#include <new>
#include <string>
#include <thread>
#include <vector>

#include "base/threads.h"
#include "engine/engine.h"
#include "tensor/philox.h"
#include "train/json_fields.h"

namespace tabgrad::bench {

inline double seconds() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

struct Timing {
  double median = 0, p10 = 0, p90 = 0;  // milliseconds a call
};

inline Timing summary(std::vector<double> times) {
  std::sort(times.begin(), times.end());
  const auto at = [&](double q) { return 1e3 * times[static_cast<std::size_t>(q * static_cast<double>(times.size() - 1))]; };
  return {at(0.5), at(0.1), at(0.9)};
}

// The peer's threads go on spinning after a call, in OpenBLAS for 2^28 cycles, and would take a core from the next side: each
// side starts after they sleep, and runs untimed until its own threads have woken and found their cores.
inline constexpr auto kUntilPeerSleeps = std::chrono::milliseconds(130);
inline constexpr double kWarmUpSeconds = 0.02;

// Times the sides in turn: each turn repeats a side for about 2 ms, at least `turns` turns and 0.3 s in all.
inline std::vector<Timing> alternate(const std::vector<std::function<void()>>& sides, int turns = 9) {
  std::vector<std::vector<double>> times(sides.size());
  std::vector<int> repeats;
  for (const auto& side : sides) {
    side();  // first call: page faults, caches
    const double start = seconds();
    side();
    repeats.push_back(std::max(1, static_cast<int>(2e-3 / std::max(1e-7, seconds() - start))));
  }
  const double start = seconds();
  for (int turn = 0; turn < turns || seconds() - start < 0.3; ++turn) {
    for (std::size_t i = 0; i < sides.size(); ++i) {
      if (sides.size() > 1) {
        std::this_thread::sleep_for(kUntilPeerSleeps);
        for (const double woken = seconds() + kWarmUpSeconds; seconds() < woken;) sides[i]();
      }
      const double begin = seconds();
      for (int r = 0; r < repeats[i]; ++r) sides[i]();
      times[i].push_back((seconds() - begin) / repeats[i]);
    }
  }
  std::vector<Timing> out;
  for (auto& t : times) out.push_back(summary(std::move(t)));
  return out;
}

struct FreeAligned {
  void operator()(float* p) const { ::operator delete(p, std::align_val_t{64}); }
};
using Buffer = std::unique_ptr<float[], FreeAligned>;

inline Buffer buffer(std::int64_t n, std::uint64_t seed = 0, float scale = 1.0f) {
  const auto bytes = static_cast<std::size_t>(std::max<std::int64_t>(1, n)) * sizeof(float);
  Buffer b(static_cast<float*>(::operator new(bytes, std::align_val_t{64})));
  for (std::int64_t i = 0; i < n; ++i)
    b[static_cast<std::size_t>(i)] = scale * (uniform01(seed, 0, static_cast<std::uint64_t>(i)) - 0.5f);
  return b;
}

// cblas_sgemm of the OpenBLAS that the machine has, or null: no link-time dependence on a peer.
class OpenBlas {
 public:
  using Sgemm = void (*)(int, int, int, int, int, int, float, const float*, int, const float*, int, float, float*, int);
  explicit OpenBlas(int threads) {
    void* library = dlopen("libopenblas.so.0", RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) return;
    sgemm_ = reinterpret_cast<Sgemm>(dlsym(library, "cblas_sgemm"));
    if (auto* set = reinterpret_cast<void (*)(int)>(dlsym(library, "openblas_set_num_threads")); set != nullptr) set(threads);
  }
  Sgemm sgemm() const { return sgemm_; }

 private:
  Sgemm sgemm_ = nullptr;
};

struct Row {
  std::string name;
  std::int64_t m = 0, n = 0, k = 0;
  int threads = 1;  // 0: on a GPU
  Timing time;
  double gflops = 0, gbytes = 0;   // a second; 0 where the other one is the measure
  double peer_gflops = 0, ratio = 0;  // ours / peer's
};

// Prints each row as it comes, and keeps it.
class Report {
 public:
  // only: rows whose name has this.
  Report(std::FILE* out, std::string only) : out_(out), only_(std::move(only)) {
    std::fprintf(out_, "%-34s %3s %10s %10s %10s %9s %8s %8s %6s\n", "kernel", "thr", "ms median", "p10", "p90", "GFLOP/s",
                 "GB/s", "peer", "ratio");
  }
  bool wanted(const std::string& name) const { return name.find(only_) != std::string::npos; }
  void begin(const std::string& target) { target_ = target; }
  void add(const Row& r) {
    std::fprintf(out_, "%-34s %3d %10.4f %10.4f %10.4f %9.1f %8.1f %8.1f %6.2f\n", r.name.c_str(), r.threads, r.time.median,
                 r.time.p10, r.time.p90, r.gflops, r.gbytes, r.peer_gflops, r.ratio);
    std::fflush(out_);
    rows_.push_back({target_, r});
  }
  void say(const std::string& line) { std::fprintf(out_, "-- %s\n", line.c_str()); }
  Json json() const {
    Json rows = Json::array();
    for (const auto& [target, r] : rows_)
      rows.push_back({{"name", r.name},
                      {"target", target},
                      {"m", r.m},
                      {"n", r.n},
                      {"k", r.k},
                      {"threads", r.threads},
                      {"ms_median", r.time.median},
                      {"p10", r.time.p10},
                      {"p90", r.time.p90},
                      {"gflops", r.gflops},
                      {"gbytes_per_s", r.gbytes},
                      {"peer_gflops", r.peer_gflops},
                      {"ratio", r.ratio}});
    return rows;
  }

 private:
  std::FILE* out_;
  std::string only_;
  std::string target_;  // of the rows to come
  std::vector<std::pair<std::string, Row>> rows_;
};

// What the families of kernels are given.
struct KernelBench {
  ThreadPool& pool;
  const OpenBlas& peer;
  Report& report;
  std::vector<double> ratios;
};
// The LSTM's and GRU's sequences, forward and backward (recurrent.cc).
void recurrent_rows(KernelBench& c);
// WebGPU's (gpu_kernels.cc). Throws Error where the adapter has no clock for it.
void gpu_kernel_rows(Report& report, const SessionOptions& options);

}  // namespace tabgrad::bench
