// What every subcommand shares: common options, exit codes, and how a command is added.
//
// A subcommand is one file with one function add_<name>(app, command): it declares its options on the CLI11 app and, when it
// is chosen, puts what is to be done into `command`. main runs it afterwards, outside CLI11, and turns exceptions into exit codes:
// Error (bad options, bad input) → 2, anything else → 1. A command returns 1 itself where the work failed (a diverged run).
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "engine/engine.h"

namespace CLI {
class App;
}

namespace tabgrad::cli {

inline constexpr int kOk = 0, kFailed = 1, kBadUse = 2;

using Command = std::function<int()>;

struct Common {
  std::string json;  // file for the machine-readable result; "-" is stdout, and then people are told on stderr; "" is none
  std::string device = "cpu";
  std::string webgpu;  // library, as SessionOptions has it
  std::uint64_t seed = 1;
  int threads = 0;  // 0: TABGRAD_THREADS or all cores
  std::string precision = "f32";  // or "f16": how a GPU stores activations
};

// --json, --device, --webgpu, --seed, --threads.
void add_common_options(CLI::App& app, Common& options);
// --precision, for commands that train.
void add_precision_option(CLI::App& app, Common& options);
SessionOptions session_options(const Common& options);
// The same for training: with --precision f16 where the device passes the test of it (engine/self_test.h); otherwise `note` is told why
// it is f32.
SessionOptions training_options(const Common& options, const std::function<void(const std::string&)>& note);

void add_devices(CLI::App& app, Command& command);
void add_plan(CLI::App& app, Command& command);
void add_train_forecast(CLI::App& train, Command& command);  // below `tabgrad train`
void add_train_lm(CLI::App& train, Command& command);  // likewise
void add_forecast(CLI::App& app, Command& command);
void add_export(CLI::App& app, Command& command);
void add_generate(CLI::App& app, Command& command);
void add_bench(CLI::App& app, Command& command);

}  // namespace tabgrad::cli
