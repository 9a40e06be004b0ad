// The gradient rules of the primitives (graph/primitives.cc, graph/scalar_grad.cc): used by autodiff alone.
#pragma once

#include <vector>

#include "graph/build.h"

namespace tabgrad {

// Adds the gradient nodes of one node. node: index; douts: gradient of each output (invalid where none flows).
// Returns one gradient for each input (invalid: none).
std::vector<Tensor> node_gradients(Graph& graph, int node, const std::vector<Tensor>& douts);
// d(op)/d(args) times dy. args and y are values of equal shape.
std::vector<Tensor> scalar_gradients(ScalarOp op, const std::vector<Tensor>& args, Tensor y, Tensor dy);

}  // namespace tabgrad
