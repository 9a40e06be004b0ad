// What a model's build function returns: the graphs of its entry points, and the list of parameters that they share.
#pragma once

#include <vector>

#include "graph/compose/compose.h"
#include "graph/graph.h"
#include "nn/parameters.h"

namespace tabgrad {

struct BuiltModel {
  std::vector<EntryGraph> entries;
  std::vector<ParameterSpec> parameters;  // in order: the position is the Philox stream of the initial value
};

}  // namespace tabgrad
