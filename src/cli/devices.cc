// tabgrad devices: where this build can compute, and with what.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>
#include <thread>

#include "backend/cpu/kernels.h"
#include "backend/webgpu/native/adapters.h"
#include "base/threads.h"
#include "cli/cli.h"
#include "cli/machine.h"
#include "cli/output.h"

namespace tabgrad::cli {
namespace {

void print(std::FILE* out, const webgpu::AdapterFacts& a) {
  std::string features;
  for (const std::string& f : a.features) features += (features.empty() ? "" : ", ") + f;
  const auto mb = [](std::uint64_t bytes) { return static_cast<double>(bytes) * 1e-6; };
  std::fprintf(out, "webgpu  %s%s\n", a.name.c_str(),
               a.software ? "\n        no GPU: a program that imitates one on the CPU, slower than the cpu device" : "");
  std::fprintf(out, "        %s through %s%s%s\n", a.backend.c_str(), a.library.c_str(), a.driver.empty() ? "" : "; driver ",
               a.driver.c_str());
  std::fprintf(
      out,
      "        limits: buffers of %.0f MB, of which a kernel sees %.0f MB at once; workgroups of %u invocations and %u KB\n",
      mb(a.max_buffer_bytes), mb(a.max_binding_bytes), a.workgroup_size, a.workgroup_bytes / 1024);
  std::fprintf(out, "        features: %s\n", features.empty() ? "none beyond the standard's" : features.c_str());
}

int devices(const Common& options) {
  const SessionOptions session = session_options(options);
  const std::string name = processor_name();
  const unsigned cores = std::thread::hardware_concurrency();
  const int threads = ThreadPool(session.threads).threads();
  std::FILE* out = is_stdout(options.json) ? stderr : stdout;
  std::fprintf(out, "cpu     %s\n        %u hardware threads, %d in use; instruction set %s\n", name.c_str(), cores, threads,
               cpu::instruction_set());
  nlohmann::ordered_json adapters = nlohmann::ordered_json::array();
  std::string none = "its library finds no adapter; is a Vulkan driver for the GPU installed?";
  try {
    for (const webgpu::AdapterFacts& a : webgpu::list_adapters(options.webgpu)) {
      print(out, a);
      adapters.push_back({{"device", "webgpu"},
                          {"name", a.name},
                          {"vendor", a.vendor},
                          {"backend", a.backend},
                          {"library", a.library},
                          {"driver", a.driver},
                          {"software", a.software},
                          {"features", a.features},
                          {"max_buffer_bytes", a.max_buffer_bytes},
                          {"max_binding_bytes", a.max_binding_bytes},
                          {"max_storage_buffers", a.max_storage_buffers},
                          {"workgroup_bytes", a.workgroup_bytes},
                          {"workgroup_size", a.workgroup_size}});
    }
  } catch (const Error& e) {
    if (!options.webgpu.empty()) throw;  // it was asked for
    none = e.what();
  }
  if (adapters.empty()) std::fprintf(out, "webgpu  none: %s\n", none.c_str());
  std::fprintf(out, "\nOther commands compute on the cpu%s.\n",
               adapters.empty() ? "" : ", or with --device webgpu on the first webgpu listed here");
  if (options.json.empty()) return kOk;
  nlohmann::ordered_json json{{"devices",
                               {{{"device", "cpu"},
                                 {"name", name},
                                 {"hardware_threads", cores},
                                 {"threads", threads},
                                 {"instruction_set", cpu::instruction_set()}}}}};
  for (auto& a : adapters) json["devices"].push_back(std::move(a));
  write_output(options.json, json.dump(2) + "\n");
  return kOk;
}

}  // namespace

void add_devices(CLI::App& app, Command& command) {
  CLI::App* sub =
      app.add_subcommand("devices", "List where this build can compute: the processor, and the GPUs that WebGPU finds");
  const auto options = std::make_shared<Common>();
  add_common_options(*sub, *options);
  sub->callback([&command, options] { command = [options] { return devices(*options); }; });
}

}  // namespace tabgrad::cli
