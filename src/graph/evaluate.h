// The oracle: evaluates a graph in double precision, one primitive at a time, composites by their decomposition.
// Slow and plain on purpose; no planner, no kernel. Tests compare every target with it.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "graph/graph.h"

namespace tabgrad {

struct Evaluation {
  std::map<std::string, std::vector<double>> outputs;  // by Graph::outputs' name
  std::map<std::string, std::vector<double>> updates;  // by the target input's name
};

struct EvaluateInputs {
  std::map<std::string, std::vector<double>> values;  // every kInput that is no literal, by name; ids as numbers
  std::map<std::string, double> uniforms;
  std::uint64_t seed = 0;
  std::uint32_t step = 0;
};

Evaluation evaluate(const Graph& graph, const EvaluateInputs& inputs);
double scalar_value(ScalarOp op, double a, double b, double c);

// The same graph with every composite that `keep` refuses replaced by its decomposition (again and again, until none is left).
Graph decompose_graph(const Graph& graph, bool (*keep)(void* context, const Node& node), void* context);

}  // namespace tabgrad
