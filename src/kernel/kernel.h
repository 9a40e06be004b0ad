// The kernel IR: what a launch computes, as plain data. The waist between the planner and every target.
//
// A kernel reads and writes numbered arguments (buffers bound by the launch). Map and Reduce carry a body: straight-line code
// over one element of an index space. Contract is a matrix product with strided operands; a body may follow as its epilogue,
// run over the product's elements. Gather, SegmentSum and the claimed composites take whole dense arguments.
#pragma once

#include <string>
#include <vector>

#include "kernel/access.h"
#include "kernel/composite.h"
#include "kernel/scalar.h"

namespace tabgrad {

// One instruction; its result is known by its position in the code.
enum class InstrKind : unsigned char {
  kLoad,     // loads[index]
  kConst,    // value
  kUniform,  // uniforms[index] of the Program, f32
  kIndex,    // affine function `affine` of the indices, as f32
  kRandom,   // uniform [0,1) of stream `index` at element `affine`, keyed by the Program's seed and step
  kScalar,   // scalar of results a, b, c
};
struct Instr {
  InstrKind kind = InstrKind::kConst;
  ScalarOp scalar = ScalarOp::kAdd;
  int a = -1, b = -1, c = -1;
  int index = -1;
  float value = 0;
  Affine affine;
  bool operator==(const Instr&) const = default;
};
struct Load {
  int arg = 0;
  FlatAccess at;
  bool ids = false;  // the buffer holds i32, converted to f32
  bool operator==(const Load&) const = default;
};
struct Store {
  int arg = 0;
  int value = 0;  // instruction whose result is stored
  FlatAccess at;
  bool operator==(const Store&) const = default;
};
struct Body {
  Dims space;
  std::vector<Load> loads;
  std::vector<Instr> code;
  std::vector<Store> stores;
  bool operator==(const Body&) const = default;
};

enum class KernelKind : unsigned char { kMap, kReduce, kContract, kGather, kSegmentSum, kComposite, kShader };
enum class ReduceOp : unsigned char { kSum, kMax };

// C (batch,m,n) = A·B; offsets and strides in elements. Arguments: 0 = A, 1 = B, 2 = C; an epilogue may add more.
struct Contract {
  std::int64_t batch = 1, m = 0, n = 0, k = 0;
  std::int64_t a_offset = 0, a_batch = 0, a_m = 0, a_k = 0;
  std::int64_t b_offset = 0, b_batch = 0, b_k = 0, b_n = 0;
  bool operator==(const Contract&) const = default;
};

// Text that a GPU runs (src/codegen makes it).
// Compute (WGSL): argument i is binding i+1 of group 0, a storage buffer of f32 or i32; binding 0 is the uniform block (program.h),
// for texts that use it. The entry function is `main`.
// Fragment (GLSL ES 3.00): what is read is sampler t0, t1, … in the arguments' order, what is written is output 0, 1, … in their
// order; the uniform block is TgUniforms, the launch's index the uniform tg_index.
struct ShaderArg {
  bool written = false;  // bound read_write; otherwise read
  std::int64_t elements = 0;  // 4-byte elements that the text reaches, from the start of the launch's buffer on
  bool operator==(const ShaderArg&) const = default;
};
struct Shader {
  std::string name;  // for people: "matmul 64×64 split 8"
  std::string text;  // WGSL, or GLSL ES 3.00, by the Program's target
  std::vector<ShaderArg> args;
  bool uniforms = false;  // does the text read the uniform block?
  bool fragment = false;  // draws into textures; grid = columns and rows of texels
  bool operator==(const Shader&) const = default;
};

struct Kernel {
  KernelKind kind = KernelKind::kMap;
  // Map: the code. Reduce: the code before the reduction; its one store is the reduced value, whose space drops the last
  // `reduced` dimensions but the very last when `keep_last`: space = kept…, reduced…, [kept]. Contract: the epilogue (space
  // (rows,n) collapsed to any dims whose last is n), empty when there is none; it loads argument 2, the product.
  Body body;
  ReduceOp reduce = ReduceOp::kSum;
  int reduced = 0;
  bool keep_last = false;
  Contract contract;
  // With an epilogue: is the result itself wanted later? C of a product; where Caps::epilogues allows it, also of a gather, a norm's
  // gradient (dx), a sum of squares.
  bool store_product = true;
  Composite composite = Composite::kSoftmax;
  bool grad = false;
  CompositeAttrs attrs;
  std::vector<Dims> arg_dims;  // Gather, SegmentSum, composites: each argument's shape (inputs, then outputs)
  // Optimizers: arguments are the clip scale, then p, g and the states of each parameter, updated in place; one decay each.
  std::vector<float> weight_decay;
  Shader shader;
  bool operator==(const Kernel&) const = default;
};

}  // namespace tabgrad
