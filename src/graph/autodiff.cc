#include "graph/autodiff.h"

#include "graph/rules.h"

namespace tabgrad {
namespace {

// Marks the nodes on some path from `wrt` to later nodes: only these need gradients.
std::vector<bool> reachable(const Graph& graph, const std::vector<Tensor>& wrt, int last) {
  std::vector<bool> needed(static_cast<std::size_t>(last) + 1, false);
  for (const Tensor& t : wrt)
    if (t.value.node <= last) needed[static_cast<std::size_t>(t.value.node)] = true;
  for (int i = 0; i <= last; ++i)
    for (Value v : graph.nodes[static_cast<std::size_t>(i)].inputs)
      if (needed[static_cast<std::size_t>(v.node)]) needed[static_cast<std::size_t>(i)] = true;
  return needed;
}

}  // namespace

std::vector<Tensor> gradients(Tensor output, const std::vector<Tensor>& wrt, Tensor seed) {
  Graph& graph = *output.graph;
  const int last = output.value.node;
  const std::vector<bool> needed = reachable(graph, wrt, last);
  std::vector<std::vector<Tensor>> grads(static_cast<std::size_t>(last) + 1);
  auto slot = [&](Value v) -> Tensor& {
    auto& outs = grads[static_cast<std::size_t>(v.node)];
    outs.resize(graph.node(v).outputs.size());
    return outs[static_cast<std::size_t>(v.out)];
  };
  if (!seed.graph && !output.dims().empty())
    fail("[gradients] the output has shape ", to_string(output.dims()), ": reduce it to a scalar or give its gradient");
  const std::string scope = graph.scope;
  slot(output.value) = seed.graph ? seed : constant(graph, 1.0);
  for (int i = last; i >= 0; --i) {
    auto& douts = grads[static_cast<std::size_t>(i)];
    if (!needed[static_cast<std::size_t>(i)] || douts.empty()) continue;
    graph.nodes[static_cast<std::size_t>(i)].forward = true;
    const std::string& layer = graph.nodes[static_cast<std::size_t>(i)].name;
    graph.scope = layer.empty() || layer.ends_with(kBackward) ? layer : layer + kBackward;
    const std::vector<Tensor> dins = node_gradients(graph, i, douts);
    const std::vector<Value> inputs = graph.nodes[static_cast<std::size_t>(i)].inputs;
    for (std::size_t j = 0; j < dins.size(); ++j) {
      if (!dins[j].graph || !needed[static_cast<std::size_t>(inputs[j].node)]) continue;
      Tensor& sum = slot(inputs[j]);
      sum = sum.graph ? sum + dins[j] : dins[j];
    }
  }
  graph.scope = scope;
  std::vector<Tensor> result;
  for (const Tensor& t : wrt) {
    Tensor g = t.value.node <= last ? slot(t.value) : Tensor{};
    result.push_back(g.graph ? g : constant(graph, 0.0, t.dims()));
  }
  return result;
}

}  // namespace tabgrad
