// Caps: what a target can do. Lowering reads these, never a target's name (DESIGN D2). A field is added only with a test
// that flips it.
#pragma once

#include <bitset>
#include <cstdint>

#include "kernel/composite.h"

namespace tabgrad {

struct Caps {
  // Composites with a hand-tuned kernel: [forward] and [gradient]. The rest decompose.
  std::bitset<kCompositeCount> claims, claims_grad;
  bool gru_reset_before = true;                               // of kGru: the variant that resets before the product too
  std::int64_t max_recurrent_units = std::int64_t{1} << 31;   // of kLstm and kGru
  std::int64_t recurrent_multiple = 1;                        // and a multiple of this
  int max_inputs = 64;   // buffers a generated kernel may read
  int max_outputs = 8;   // and write
  int max_args = 72;     // and both together
  bool in_place = true;  // a kernel may write the buffer that it reads, element for element
  // False: no kernel may write a buffer that it reads; updated parameters and states are written beside the old ones, and
  // exchanged with them after the run.
  bool update_in_place = true;
  // Not products alone may end in elementwise work on their result: also gathers, gradients of norms (dx), sums of squares.
  bool epilogues = false;
  bool fuse = true;      // false: every operation is a kernel of its own (NOFUSE)
  bool arena = true;     // false: no two activations share memory (NOARENA)

  bool shaders = false;  // the target runs text: kernels become shaders (plan/shade.cc)
  // > 0: buffers are textures (kernel/texture.h), at most so many texels wide and high, and shaders are fragment shaders.
  std::int64_t max_texture_dim = 0;
  std::int64_t alignment = 16;           // of activations and packed buffers, in elements (a cache line)
  std::int64_t workgroup_floats = 4096;  // 16 KiB of memory shared by a workgroup
  int workgroup_size = 256;              // invocations of a workgroup
  std::int64_t max_workgroups = 65535;   // of one grid dimension
  // Invocations that surely share a subgroup, 4 to 128, a power of two: those of numbers n·subgroups to (n+1)·subgroups − 1. A real
  // subgroup may be larger. 0: kernels use none.
  int subgroups = 0;
  // Activations of the forward pass are stored as f16 between kernels; kernels compute in f32.
  bool f16 = false;

  bool claimed(Composite composite, bool grad) const {
    return (grad ? claims_grad : claims)[static_cast<std::size_t>(composite)];
  }
};

}  // namespace tabgrad
