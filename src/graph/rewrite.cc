#include "graph/rewrite.h"

namespace tabgrad {

GraphCopy::GraphCopy(const Graph& from, Graph& to) : from_(from), to_(to), map_(from.nodes.size()) {
  to_.literals = from.literals;
}

std::vector<Value> GraphCopy::mapped_inputs(const Node& node) const {
  std::vector<Value> inputs;
  for (Value v : node.inputs) inputs.push_back(mapped(v));
  return inputs;
}

void GraphCopy::copy(int index) {
  Node node = from_.nodes[static_cast<std::size_t>(index)];
  node.inputs = mapped_inputs(node);
  const std::size_t outputs = node.outputs.size();
  const Value first = to_.add(std::move(node));
  std::vector<Value> values;
  for (std::size_t i = 0; i < outputs; ++i) values.push_back({first.node, static_cast<int>(i)});
  map_[static_cast<std::size_t>(index)] = std::move(values);
}

void GraphCopy::replace(int index, std::vector<Value> with) { map_[static_cast<std::size_t>(index)] = std::move(with); }

void GraphCopy::finish() {
  for (const Graph::Output& o : from_.outputs) to_.outputs.push_back({o.name, mapped(o.value)});
  for (const Graph::Update& u : from_.updates) to_.updates.push_back({mapped(u.target), mapped(u.value)});
}

Graph without_dead_nodes(const Graph& graph) {
  std::vector<bool> live(graph.nodes.size(), false);
  auto mark = [&](Value v) { live[static_cast<std::size_t>(v.node)] = true; };
  for (const Graph::Output& o : graph.outputs) mark(o.value);
  for (const Graph::Update& u : graph.updates) {
    mark(u.target);
    mark(u.value);
  }
  for (std::size_t i = graph.nodes.size(); i-- > 0;)
    if (live[i])
      for (Value v : graph.nodes[i].inputs) mark(v);
  Graph result;
  GraphCopy copy(graph, result);
  for (std::size_t i = 0; i < graph.nodes.size(); ++i)
    if (live[i]) copy.copy(static_cast<int>(i));
  copy.finish();
  return result;
}

}  // namespace tabgrad
