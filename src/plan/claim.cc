#include "graph/evaluate.h"
#include "graph/rewrite.h"
#include "plan/passes.h"

namespace tabgrad {

Graph claim(const Graph& graph, const Caps& caps) {
  auto keep = [](void* context, const Node& node) {
    return static_cast<const Caps*>(context)->claimed(node.composite, node.grad);
  };
  return without_dead_nodes(decompose_graph(graph, keep, const_cast<Caps*>(&caps)));
}

}  // namespace tabgrad
