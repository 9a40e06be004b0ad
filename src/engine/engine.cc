#include "engine/engine.h"

#include <cstdio>
#include <utility>

#include "backend/cpu/cpu_backend.h"
#include "backend/webgl/webgl_caps.h"
#include "base/flags.h"
#ifdef __EMSCRIPTEN__
#include "backend/webgpu/web/web_backend.h"
#else
#include "backend/webgpu/native/webgpu_backend.h"
#endif

namespace tabgrad {
namespace {

WebGlLimits webgl_limits() {
#ifdef __EMSCRIPTEN__
  return page_webgl_limits();
#else
  return {};
#endif
}

}  // namespace

Session::Session(std::unique_ptr<Backend> backend, std::shared_ptr<ThreadPool> pool)
    : pool_(std::move(pool)), backend_(std::move(backend)) {}

void Session::write(const std::string& name, const HostTensor& value) {
  if (value.dtype == DType::kI32) {
    write(name, value.i32.data(), value.size());
  } else {
    write(name, value.f32.data(), value.size());
  }
}
void Session::write(const std::string& name, const float* data, std::int64_t count) { backend_->write(name, data, count); }
void Session::write(const std::string& name, const std::int32_t* data, std::int64_t count) {
  backend_->write(name, data, count);
}

HostTensor Session::read(const std::string& name) {
  for (const Buffer& b : program().buffers) {
    if (b.name != name || b.role == BufferRole::kActivation) continue;
    HostTensor t = HostTensor::zeros(b.dims);
    if (b.dtype == DType::kI32) fail("[read] '", name, "' holds ids, not numbers");
    backend_->read(name, t.f32.data(), t.size());
    return t;
  }
  fail("[read] the Program has no buffer '", name, "'");
}
void Session::read(const std::string& name, float* data, std::int64_t count) { backend_->read(name, data, count); }
float Session::read_scalar(const std::string& name) {
  float value = 0;
  backend_->read(name, &value, 1);
  return value;
}

void Session::set_uniform(const std::string& name, float value) { backend_->set_uniform(name, value); }
void Session::set_random(std::uint64_t seed, std::uint32_t step) { backend_->set_random(seed, step); }
void Session::run(const std::string& entry) { backend_->run(entry); }
std::vector<double> Session::run_timed(const std::string& entry, int launches_at_once) {
  return backend_->run_timed(entry, launches_at_once);
}
int Session::runs_in_flight() const { return backend_->runs_in_flight(); }
float Session::read_scalar_earlier(const std::string& output, int runs_ago) {
  float value = 0;
  backend_->read_earlier(output, runs_ago, &value, 1);
  return value;
}
const Program& Session::program() const { return backend_->program(); }
std::string Session::device() const { return backend_->description(); }

std::vector<std::string> Session::names(BufferRole role) const {
  std::vector<std::string> result;
  for (const Buffer& b : program().buffers)
    if (b.role == role) result.push_back(b.name);
  return result;
}

Caps device_caps(const SessionOptions& options) {
  if (options.device != "cpu" && options.device != "webgpu" && options.device != "webgl")
    fail("device '", options.device, "' is not known; this build has: cpu, webgpu, webgl");
  Caps caps = options.device == "cpu"      ? cpu_caps()
              : options.device == "webgpu" ? webgpu_caps(options.features.value_or(WebgpuFeatures{}))
                                           : webgl_caps(webgl_limits());
  if (options.max_texture_dim > 0) caps.max_texture_dim = options.max_texture_dim;
  if (options.max_outputs > 0) caps.max_outputs = options.max_outputs;
  if (!options.claim || flags::noclaim()) {
    caps.claims.reset();
    caps.claims_grad.reset();
  }
  if (options.claim_alone) {
    std::bitset<kCompositeCount> alone;
    alone.set(static_cast<std::size_t>(*options.claim_alone));
    caps.claims &= alone;
    caps.claims_grad &= alone;
  }
  caps.f16 = options.f16 && caps.f16;
  caps.fuse = options.fuse && !flags::nofuse();
  caps.arena = options.arena && !flags::noarena();
  return caps;
}

std::unique_ptr<Backend> make_backend(Program program, [[maybe_unused]] const SessionOptions& options, ThreadPool& pool) {
  if (program.target == "cpu") return make_cpu_backend(std::move(program), pool);
#ifdef __EMSCRIPTEN__
  return make_web_backend(std::move(program));
#else
  if (program.target == "webgl") fail("WebGL runs in browsers only; here there are: cpu, webgpu");
  return make_webgpu_backend(std::move(program), options.webgpu);
#endif
}

SessionOptions with_features(const SessionOptions& options) {
  SessionOptions result = options;
  if (options.device != "webgpu" || options.features) return result;
#ifdef __EMSCRIPTEN__
  result.features = web_features();
#else
  result.features = webgpu_features(options.webgpu);
#endif
  return result;
}

Session make_session(const std::vector<EntryGraph>& entries, const SessionOptions& options) {
  Program program = compile(entries, device_caps(with_features(options)), options.device);
  if (flags::debug() >= 1) {
    for (const Entry& e : program.entries)
      std::fprintf(stderr, "%s: %zu launches, arena %.2f MB\n", e.name.c_str(), e.launches.size(),
                   static_cast<double>(e.arena_elements) * 4e-6);
  }
  if (flags::debug() >= 3) std::fputs(dump(program).c_str(), stderr);
  auto pool = options.pool ? options.pool : std::make_shared<ThreadPool>(options.threads);
  std::unique_ptr<Backend> backend = make_backend(std::move(program), options, *pool);
  return Session(std::move(backend), std::move(pool));
}

}  // namespace tabgrad
