// Reverse-mode differentiation: adds to the graph the nodes that compute d(output)/d(each of wrt).
#pragma once

#include <vector>

#include "graph/build.h"

namespace tabgrad {

// Gradients carry the name of their layer with this behind it.
inline constexpr const char* kBackward = " backward";

// output: any shape; seed: its gradient (ones for a scalar output when invalid). A value that output does not depend on
// gets a zero tensor. Throws Error where the path crosses an op without a gradient.
std::vector<Tensor> gradients(Tensor output, const std::vector<Tensor>& wrt, Tensor seed = {});

}  // namespace tabgrad
