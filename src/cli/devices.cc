// tabgrad devices: where this build can compute, and with what.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>
#include <thread>

#include "backend/cpu/kernels.h"
#include "base/threads.h"
#include "cli/cli.h"
#include "cli/output.h"

namespace tabgrad::cli {
namespace {

// The processor's name as Linux gives it; elsewhere nothing is known.
std::string processor_name() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    if (!line.starts_with("model name")) continue;
    const std::size_t colon = line.find(": ");
    if (colon != std::string::npos) return line.substr(colon + 2);
  }
  return "unknown processor";
}

int devices(const Common& options) {
  const SessionOptions session = session_options(options);
  const std::string name = processor_name();
  const unsigned cores = std::thread::hardware_concurrency();
  const int threads = ThreadPool(session.threads).threads();
  std::FILE* out = is_stdout(options.json) ? stderr : stdout;
  std::fprintf(out, "cpu   %s\n      %u hardware threads, %d in use; instruction set %s\n", name.c_str(), cores, threads,
               cpu::instruction_set());
  std::fprintf(out, "This build has no GPU target.\n");
  if (options.json.empty()) return kOk;
  const nlohmann::ordered_json json{{"devices",
                                     {{{"device", "cpu"},
                                       {"name", name},
                                       {"hardware_threads", cores},
                                       {"threads", threads},
                                       {"instruction_set", cpu::instruction_set()}}}}};
  write_output(options.json, json.dump(2) + "\n");
  return kOk;
}

}  // namespace

void add_devices(CLI::App& app, Command& command) {
  CLI::App* sub = app.add_subcommand("devices", "List where this build can compute");
  const auto options = std::make_shared<Common>();
  add_common_options(*sub, *options);
  sub->callback([&command, options] { command = [options] { return devices(*options); }; });
}

}  // namespace tabgrad::cli
