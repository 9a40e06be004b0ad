// Activations computed again instead of kept (Chen et al. 2016, "Training deep nets with sublinear memory cost").
#pragma once

#include <string>
#include <vector>

#include "graph/graph.h"

namespace tabgrad {

// A train step's graph in which the backward pass of each of these layers (scopes: "h0" is all of "h0" and "h0.…") begins by
// computing the layer's values again from what went into it, and uses those. So of a layer only its input lives from the forward
// to the backward pass, for one more forward pass of work. The same operations on the same values: the same results.
Graph recompute(const Graph& graph, const std::vector<std::string>& layers);

}  // namespace tabgrad
