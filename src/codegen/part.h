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
  std::int64_t elements = 0;  // reached from `offset` on
  // Elements into the argument; a multiple of 4 for vectors. It is added to the index, which must not bind looser than a sum.
  std::int64_t offset = 0;
  bool f16 = false;  // stored as f16: finish() puts the conversions from and to the text's f32 around its places
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

// A product; cut along k, it is two parts. `summed_along`: the second costs no launch of its own.
Parts contract_parts(const Kernel& kernel, const std::vector<ArgInfo>& args, const Caps& caps, bool summed_along = false);

// The rows of a norm as the sum of a product's partial products, with the product's epilogue behind it.
struct RowSource {
  Body body;  // over the rows; its arguments count like the norm's; its loads of `product` are the sum
  int product = 0, partial = 0;  // arguments; the partial products are (split, rows, columns)
  std::int64_t split = 1;
  bool store_product = false;
  int value = -1;  // the instruction whose result is the row; -1: the product itself
};
// Layer norm and RMS norm. What `source` needs are further arguments behind the norm's own. A gradient's body is its epilogue: it
// loads dx, and runs over the rows; unless store_product, dx itself is not stored.
Parts norm_parts(const Kernel& kernel, const std::vector<ArgInfo>& args, const Caps& caps, const RowSource* source = nullptr);

// The parts of a kernel that is no shader yet.
Parts generate(const Kernel& kernel, const std::vector<ArgInfo>& args, const std::vector<std::string>& uniforms,
               const Caps& caps);

}  // namespace tabgrad::codegen
