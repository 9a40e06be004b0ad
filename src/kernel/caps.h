// Caps: what a target can do. Lowering reads these, never a target's name (DESIGN D2). A field is added only with a test
// that flips it.
#pragma once

#include <bitset>

#include "kernel/composite.h"

namespace tabgrad {

struct Caps {
  // Composites with a hand-tuned kernel: [forward] and [gradient]. The rest decompose.
  std::bitset<kCompositeCount> claims, claims_grad;
  int max_inputs = 64;   // buffers a generated kernel may read
  int max_outputs = 8;   // and write
  bool in_place = true;  // a kernel may write the buffer that it reads, element for element
  bool fuse = true;      // false: every operation is a kernel of its own (NOFUSE)
  bool arena = true;     // false: no two activations share memory (NOARENA)

  bool claimed(Composite composite, bool grad) const {
    return (grad ? claims_grad : claims)[static_cast<std::size_t>(composite)];
  }
};

}  // namespace tabgrad
