#include "graph/evaluate.h"
#include "graph/rewrite.h"
#include "plan/passes.h"

namespace tabgrad {

Graph claim(const Graph& graph, const Caps& caps) {
  auto keep = [](void* context, const Node& node) {
    const Caps& c = *static_cast<const Caps*>(context);
    if (node.composite == Composite::kGru && !node.attrs.reset_after && !c.gru_reset_before) return false;
    if ((node.composite == Composite::kLstm || node.composite == Composite::kGru) &&
        (node.outputs.back().dims.back() > c.max_recurrent_units ||
         node.outputs.back().dims.back() % c.recurrent_multiple != 0))
      return false;
    return c.claimed(node.composite, node.grad);
  };
  return without_dead_nodes(decompose_graph(graph, keep, const_cast<Caps*>(&caps)));
}

}  // namespace tabgrad
