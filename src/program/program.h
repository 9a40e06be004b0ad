// A Program: a compiled model as plain data (DESIGN §2). What the planner writes, every runner replays.
//
// Here it is as C++ structs; serialize.h turns it into FlatBuffers bytes (program.fbs) and back, checking every number, since a
// Program from a file is code from a stranger.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "kernel/kernel.h"
#include "tensor/host_tensor.h"

namespace tabgrad {

enum class BufferRole : unsigned char { kParameter, kState, kInput, kConstant, kOutput, kActivation };

// Buffers are allocations of their own, but for packed ones (parameters, gradients or states of one optimizer lie side by side in
// one allocation, so that one launch reaches all of them) and for the other activations, which lie in the arena that all entries share.
// Allocations begin as zeros. Where buffers are textures there is no arena: activations that never live at the same time are packed at
// offset 0 of the same allocation.
struct Buffer {
  std::string name;  // activations may share names; all others are unique
  BufferRole role = BufferRole::kActivation;
  DType dtype = DType::kF32;
  Dims dims;
  std::int64_t arena_offset = -1;  // activations: words of 4 bytes into the arena of their entry point
  std::vector<std::uint8_t> data;  // constants: the values, little-endian
  int pack = -1;  // index into Program::packs, or -1
  std::int64_t pack_offset = 0;  // elements into the pack
};

struct Launch {
  int kernel = 0;
  std::vector<int> args;  // buffers; -1 where a kernel may do without
  std::string label;  // the layer, for people
  double flops = 0;  // multiply-adds of matrix products counted as 2; elementwise work is not counted
  double bytes = 0;  // distinct bytes read and written
  std::array<std::uint32_t, 3> grid{1, 1, 1};  // workgroups, for shaders; of fragment shaders columns and rows of texels
  int first_row = 0;  // of the texels that a fragment shader draws
  int index = 0;  // that a fragment shader may read: the time step
};

struct Entry {
  std::string name;  // "train_step", "evaluate", "predict", …
  std::vector<Launch> launches;
  std::int64_t arena_elements = 0;  // of 4 bytes
  // Buffers that exchange their allocations after a run: an updated parameter, written beside the old one, and the old one.
  std::vector<std::array<int, 2>> swaps{};
};

// The uniform block of shaders: little-endian words seed (low, high), step, 0, then the uniforms as f32 in the order of
// `uniforms`; filled up to whole 16 bytes. Written before each run.
inline constexpr std::int64_t kUniformHeaderWords = 4;

struct Program {
  std::vector<std::string> uniforms;  // f32 scalars set by name before a run; "seed" and "step" are set apart
  std::vector<Buffer> buffers;
  std::vector<std::int64_t> packs;  // elements of each allocation that packed buffers share
  std::vector<Kernel> kernels;
  std::vector<Entry> entries;
  std::string target;  // "cpu", …: whose Caps it was compiled for
  bool f16 = false;  // texts use f16, and activations are stored so: the device must have shader-f16
  int subgroups = 0;  // Caps::subgroups, if a text relies on them: the device must have subgroups of at least so many
};

// One line for people: "h0.mlp.fc: matmul 1024×384×96 + 6 ops".
std::string describe(const Kernel& kernel, const Launch& launch);

// Throws Error (naming `source`) unless every index, size and access lies within bounds.
void validate(const Program& program, const std::string& source);

std::vector<std::uint8_t> serialize(const Program& program);
Program parse_program(const std::uint8_t* bytes, std::size_t size, const std::string& source);

}  // namespace tabgrad
