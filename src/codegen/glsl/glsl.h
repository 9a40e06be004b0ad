// Kernels as fragment shaders in GLSL ES 3.00, for targets whose buffers are textures (WebGL2).
//
// A pass draws texels of its outputs, each from what it reads: a shader has no other way to write. So sums are loops, and what needs
// an order (the steps of an LSTM) is one pass after another. Ids lie in textures as numbers, which hold them exactly up to 2^24.
#pragma once

#include <vector>

#include "codegen/part.h"
#include "kernel/texture.h"

namespace tabgrad::codegen {

struct Pass {
  Shader shader;
  std::vector<int> args;  // the kernel's argument behind each of the shader's; from its number of arguments on: scratch
  std::int64_t columns = 1, rows = 1, first_row = 0;
  int index = 0;
  double flops = 0;
};

// Passes in order, with the scratch values between them (f32).
struct Passes {
  std::vector<Pass> passes;
  std::vector<Dims> scratch;
};

Passes draw(const Kernel& kernel, const std::vector<ArgInfo>& args, const Caps& caps);

}  // namespace tabgrad::codegen
