#include "backend/webgpu/web/web_backend.h"

#include <algorithm>
#include <array>
#include <utility>

#include "base/error.h"

// page.js. Runners are numbers, buffers and entries are indices in their Program. A number below 0 is a failure, whose text
// page_error() gives.
extern "C" {
int tg_page_feature(int which);  // suspends; 0: the least size of a subgroup, 1: is there shader-f16?
int tg_page_load(const std::uint8_t* program, std::size_t bytes);  // suspends
int tg_page_write(int runner, int buffer, const void* data);
void tg_page_set_uniform(int runner, int uniform, float value);
void tg_page_set_random(int runner, std::uint32_t seed_low, std::uint32_t seed_high, std::uint32_t step);
int tg_page_run(int runner, int entry);                  // suspends while too many runs are under way
int tg_page_read(int runner, int buffer, int runs_ago, void* data);  // suspends
int tg_page_runs_in_flight(int runner);
int tg_page_webgl_limits(int* limits);  // draw buffers, texture units, texture size; 0: there is no WebGL2
std::size_t tg_page_text(int runner, char* text, std::size_t capacity);  // of the last failure; runner's description
void tg_page_free(int runner);
}

namespace tabgrad {
namespace {

constexpr int kFailure = -1;

std::string page_text(int runner) {
  std::array<char, 2000> text;
  return {text.data(), tg_page_text(runner, text.data(), text.size())};
}

int checked(int result) {
  if (result < 0) fail(page_text(kFailure));
  return result;
}

class WebBackend final : public Backend {
 public:
  explicit WebBackend(Program program) : program_(std::move(program)) {
    const std::vector<std::uint8_t> bytes = serialize(program_);
    runner_ = checked(tg_page_load(bytes.data(), bytes.size()));
    description_ = page_text(runner_);
  }
  ~WebBackend() override { tg_page_free(runner_); }
  WebBackend(const WebBackend&) = delete;
  WebBackend& operator=(const WebBackend&) = delete;

  std::string description() const override { return description_; }

  void write(const std::string& name, const void* data, std::int64_t count) override {
    checked(tg_page_write(runner_, named(name, count), data));
  }
  void read(const std::string& name, void* data, std::int64_t count) override {
    checked(tg_page_read(runner_, named(name, count), 0, data));
  }
  int runs_in_flight() const override { return tg_page_runs_in_flight(runner_); }
  void read_earlier(const std::string& name, int runs_ago, void* data, std::int64_t count) override {
    checked(tg_page_read(runner_, named(name, count), runs_ago, data));
  }

  void set_uniform(const std::string& name, float value) override {
    const auto found = std::find(program_.uniforms.begin(), program_.uniforms.end(), name);
    if (found == program_.uniforms.end()) return;
    tg_page_set_uniform(runner_, static_cast<int>(found - program_.uniforms.begin()), value);
  }
  void set_random(std::uint64_t seed, std::uint32_t step) override {
    tg_page_set_random(runner_, static_cast<std::uint32_t>(seed), static_cast<std::uint32_t>(seed >> 32), step);
  }

  void run(const std::string& entry) override {
    const auto found =
        std::find_if(program_.entries.begin(), program_.entries.end(), [&](const Entry& e) { return e.name == entry; });
    if (found == program_.entries.end()) fail("[run] the Program has no entry point '", entry, "'");
    checked(tg_page_run(runner_, static_cast<int>(found - program_.entries.begin())));
  }

  const Program& program() const override { return program_; }

 private:
  int named(const std::string& name, std::int64_t count) const {
    const auto found = std::find_if(program_.buffers.begin(), program_.buffers.end(),
                                    [&](const Buffer& b) { return b.name == name && b.role != BufferRole::kActivation; });
    if (found == program_.buffers.end()) fail("[buffer] the Program has no buffer '", name, "'");
    if (num_elements(found->dims) != count)
      fail("[buffer] '", name, "' is ", to_string(found->dims), ", not ", count, " elements");
    return static_cast<int>(found - program_.buffers.begin());
  }

  Program program_;
  std::string description_;
  int runner_ = 0;
};

}  // namespace

WebGlLimits page_webgl_limits() {
  std::array<int, 3> limits;
  if (tg_page_webgl_limits(limits.data()) == 0) return {};
  return {limits[0], limits[1], limits[2]};
}

WebgpuFeatures web_features() { return {.subgroups = checked(tg_page_feature(0)), .f16 = checked(tg_page_feature(1)) != 0}; }

std::unique_ptr<Backend> make_web_backend(Program program) { return std::make_unique<WebBackend>(std::move(program)); }

}  // namespace tabgrad
