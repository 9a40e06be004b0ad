// Prepares a launch: binds a kernel to its buffers and returns what runs it. All decisions are made here, once; running only
// computes.
#pragma once

#include <functional>
#include <vector>

#include "backend/cpu/block_vm.h"
#include "backend/cpu/kernels.h"
#include "program/program.h"

namespace tabgrad::cpu {

// Memory shared by all launches, one after another. Sized after preparing: launches read the pointers when they run.
struct Workspace {
  Scratch scratch;
  float* registers = nullptr;  // of the interpreter: `register_stride` floats for each worker
  std::int64_t register_stride = 0;
  std::int64_t scratch_floats = 0;  // the largest need seen while preparing
  void need_scratch(std::int64_t floats) { scratch_floats = floats > scratch_floats ? floats : scratch_floats; }
  void need_registers(std::int64_t floats) { register_stride = floats > register_stride ? floats : register_stride; }
};

struct LaunchContext {
  ThreadPool& pool;
  Workspace& workspace;
  const RunValues& values;
  const Program& program;
};

using PreparedLaunch = std::function<void()>;

// args: the launch's buffers, null where it has none; a buffer of ids is passed as its bytes.
PreparedLaunch prepare_launch(const Kernel& kernel, std::vector<float*> args, LaunchContext context);
PreparedLaunch prepare_map(const Kernel& kernel, std::vector<float*> args, LaunchContext context);
PreparedLaunch prepare_reduce(const Kernel& kernel, std::vector<float*> args, LaunchContext context);
PreparedLaunch prepare_contract(const Kernel& kernel, std::vector<float*> args, LaunchContext context);
PreparedLaunch prepare_composite(const Kernel& kernel, std::vector<float*> args, LaunchContext context);

}  // namespace tabgrad::cpu
