// Helpers for passes that make a new graph from an old one.
#pragma once

#include <vector>

#include "graph/graph.h"

namespace tabgrad {

// Copies nodes of `from` one by one into `to`, keeping track of where each value went. Inputs of equal name become one.
class GraphCopy {
 public:
  GraphCopy(const Graph& from, Graph& to);
  const std::vector<Value>& mapped(int node) const { return map_[static_cast<std::size_t>(node)]; }
  Value mapped(Value v) const { return map_[static_cast<std::size_t>(v.node)][static_cast<std::size_t>(v.out)]; }
  std::vector<Value> mapped_inputs(const Node& node) const;
  void copy(int node);                              // as it is, inputs replaced
  void replace(int node, std::vector<Value> with);  // outputs of `node` are these values of `to`
  void finish();                                    // outputs and updates

 private:
  const Graph& from_;
  Graph& to_;
  std::vector<std::vector<Value>> map_;
};

// Drops every node that no output or update needs.
Graph without_dead_nodes(const Graph& graph);

}  // namespace tabgrad
