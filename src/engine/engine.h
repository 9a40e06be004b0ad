// The engine: from graphs to a running session on a device.
//
//   Session session = make_session({{"train_step", graph}}, options);
//   session.write("x", batch); session.set_uniform("lr", 1e-3f); session.run("train_step"); session.read("loss");
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "backend/backend.h"
#include "backend/webgpu/webgpu_caps.h"
#include "base/threads.h"
#include "plan/plan.h"

namespace tabgrad {

struct SessionOptions {
  std::string device = "cpu";                    // or "webgpu", "webgl"
  std::string webgpu{};                          // its library: "dawn", "wgpu", a path; "": TABGRAD_WEBGPU, or what is found
  // Of webgpu: what Programs may rely on. Unset: in device_caps() nothing, in make_session() what the device grants.
  std::optional<WebgpuFeatures> features{};
  int max_texture_dim = 0, max_outputs = 0;  // of webgl, for tests of other devices; 0: the page's, or what nearly all have
  int threads = 0;  // 0: TABGRAD_THREADS or all cores
  std::shared_ptr<ThreadPool> pool{};  // in place of threads: for sessions that never run at the same time
  bool f16 = false;  // of webgpu: store activations as f16, where features has it
  bool fuse = true, claim = true, arena = true;  // also switched off by TABGRAD_NOFUSE, _NOCLAIM, _NOARENA
  std::optional<Composite> claim_alone{};  // of all composites only this one may be claimed: for ablations
};

class Session {
 public:
  explicit Session(std::unique_ptr<Backend> backend, std::shared_ptr<ThreadPool> pool);

  void write(const std::string& name, const HostTensor& value);
  void write(const std::string& name, const float* data, std::int64_t count);
  void write(const std::string& name, const std::int32_t* data, std::int64_t count);
  HostTensor read(const std::string& name);  // parameters, state, outputs
  void read(const std::string& name, float* data, std::int64_t count);
  float read_scalar(const std::string& name);

  void set_uniform(const std::string& name, float value);
  void set_random(std::uint64_t seed, std::uint32_t step);
  void run(const std::string& entry);
  std::vector<double> run_timed(const std::string& entry, int launches_at_once = 1);  // seconds (backend/backend.h)

  // Of a small output, without waiting for the runs after the one that it is of (backend/backend.h).
  int runs_in_flight() const;
  float read_scalar_earlier(const std::string& output, int runs_ago);

  const Program& program() const;
  std::string device() const;  // for people
  // Names of the buffers with a role, in the Program's order.
  std::vector<std::string> names(BufferRole role) const;

 private:
  std::shared_ptr<ThreadPool> pool_;  // outlives backend_
  std::unique_ptr<Backend> backend_;
};

Caps device_caps(const SessionOptions& options);
// The options with what the device grants where they leave that open. Opens it.
SessionOptions with_features(const SessionOptions& options);
// The runner for a Program of the options' device, on the pool if that is the CPU.
std::unique_ptr<Backend> make_backend(Program program, const SessionOptions& options, ThreadPool& pool);
// Compiles and loads. Parameters and state start at zero.
Session make_session(const std::vector<EntryGraph>& entries, const SessionOptions& options = {});

}  // namespace tabgrad
