// The calls that JavaScript can make, by name: rows of a table, one table a part of the engine.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "engine/engine.h"
#include "reply.h"

namespace tabgrad::wasm {

using Handler = void (*)(const Json& args, std::string_view data, Reply& reply);
struct Call {
  std::string_view name;
  Handler handler;
};

// Where the call's run, or its plan, is computed.
inline std::string device_of(const Json& args) {
  const std::string device = args.value("device", "wasm");
  return device == "wasm" ? "cpu" : device;
}

// Language models: "lm.…". Before the first call the options to compute with.
void init_lm(const SessionOptions& options);
std::span<const Call> lm_calls();

// Benchmarks: "bench.…"; likewise.
void init_bench(const SessionOptions& options);
std::span<const Call> bench_calls();

}  // namespace tabgrad::wasm
