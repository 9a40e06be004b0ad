// Pieces: kernels as parts of shaders, on the way to launches. shade.cc makes them, schedule.cc puts them into launches.
#pragma once

#include <string>
#include <vector>

#include "codegen/part.h"
#include "plan/passes.h"

namespace tabgrad {

struct Piece {
  codegen::Part part;
  std::vector<Value> values;  // by the part's argument numbers
  std::string label;
  double flops = 0;
  bool packed = false;  // an argument that leads a pack stands for all of it
  bool late = false;    // only the end of the step waits for it: it goes along with others where there is room
};

// The launches of all pieces, into plan.kernels. Pieces that read a parameter or state stand before the one that writes it;
// otherwise their order is free.
void schedule(KernelPlan& plan, std::vector<Piece> pieces, const Caps& caps);
// Buffers that a launch of these binds. Neighbours in a pack are bound as one, so that their distance is part of the text and equal
// layers have equal texts.
int binding_count(const KernelPlan& plan, const std::vector<const Piece*>& pieces);

const KernelPlan::Pack* pack_led_by(const KernelPlan& plan, Value v);

}  // namespace tabgrad
