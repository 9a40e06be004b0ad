// Part: the text of one kernel before it becomes a shader of its own or shares one with others.
//
// The body sees `wg` (number of its workgroup, u32) and `lid` (invocation in it, u32). In all texts `$name` is a buffer of
// `args` where one has that name, otherwise an identifier of this part alone; finish() puts real names in place.
#pragma once

#include <string>
#include <vector>

#include "kernel/caps.h"
#include "kernel/kernel.h"

namespace tabgrad::codegen {

struct PartArg {
  std::string name;
  int arg = 0;  // of the kernel; from its number of arguments on: scratch
  bool written = false;
  bool ids = false;
  bool vec4 = false;          // declared as vectors of four
  std::int64_t elements = 0;  // reached from its start
};
// An array in workgroup memory. Parts of one shader share it: a workgroup runs one of them.
struct SharedArray {
  std::string name;
  std::string type;  // "f32", "vec4f", "vec4i"
  std::int64_t count = 0;
};
struct Part {
  std::string name;
  std::vector<PartArg> args;
  std::vector<SharedArray> shared;
  std::string declarations, body;
  std::int64_t workgroups = 1;
  int workgroup_size = 64;
};

// Kernels as parts that run one after another, with the scratch values between them (f32).
struct Parts {
  std::vector<Part> parts;
  std::vector<Dims> scratch;
};

// Workgroup memory of a shader made of these parts.
std::int64_t shared_floats(const std::vector<const Part*>& parts);

// What the planner knows of an argument.
struct ArgInfo {
  std::int64_t elements = 0;
  bool ids = false;
  int same_as = -1;  // an earlier argument that is the same buffer
};

// The parts of a kernel that is no shader yet.
Parts generate(const Kernel& kernel, const std::vector<ArgInfo>& args, const std::vector<std::string>& uniforms,
               const Caps& caps);

}  // namespace tabgrad::codegen
