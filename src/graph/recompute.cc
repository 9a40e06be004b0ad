#include "graph/recompute.h"

#include <array>
#include <map>
#include <string_view>

#include "graph/autodiff.h"
#include "graph/rewrite.h"

namespace tabgrad {
namespace {

constexpr int kNone = -1;

class Recomputer {
 public:
  Recomputer(const Graph& from, const std::vector<std::string>& layers)
      : from_(from), copy_(from, to_), layers_(layers), again_(from.nodes.size()), ran_again_(layers.size(), false) {
    for (const Node& node : from.nodes) forward_of_.push_back(belongs(node) ? layer_of(node.name) : kNone);
  }

  Graph run() {
    for (std::size_t i = 0; i < from_.nodes.size(); ++i) {
      const Node& node = from_.nodes[i];
      const int layer = backward_of(node);
      if (layer == kNone) {
        copy_.copy(static_cast<int>(i));
        continue;
      }
      if (!ran_again_[static_cast<std::size_t>(layer)]) run_again(layer);
      Node changed = node;
      for (Value& v : changed.inputs) v = forward_layer(v) == layer ? again(v) : entered(v, layer);
      copy_.replace(static_cast<int>(i), add(std::move(changed)));
    }
    copy_.finish();
    return std::move(to_);
  }

 private:
  static bool belongs(const Node& node) { return node.op != Op::kInput && node.op != Op::kUniform; }  // their name is a key

  int layer_of(std::string_view name) const {
    for (std::size_t l = 0; l < layers_.size(); ++l)
      if (name.starts_with(layers_[l]) && (name.size() == layers_[l].size() || name[layers_[l].size()] == '.'))
        return name.ends_with(kBackward) ? kNone : static_cast<int>(l);
    return kNone;
  }
  int forward_layer(Value v) const { return forward_of_[static_cast<std::size_t>(v.node)]; }

  // The layer whose backward pass the node belongs to, if it uses a value of the forward pass.
  int backward_of(const Node& node) const {
    std::string_view name = node.name;
    if (!belongs(node) || !name.ends_with(kBackward)) return kNone;
    name.remove_suffix(std::string_view(kBackward).size());
    const int layer = layer_of(name);
    for (const Value v : node.inputs)
      if (layer != kNone && forward_layer(v) == layer) return layer;
    return kNone;
  }

  std::vector<Value> add(Node node) {
    const std::size_t outputs = node.outputs.size();
    const Value first = to_.add(std::move(node));
    std::vector<Value> values;
    for (std::size_t o = 0; o < outputs; ++o) values.push_back({first.node, static_cast<int>(o)});
    return values;
  }

  Value again(Value v) const { return again_[static_cast<std::size_t>(v.node)][static_cast<std::size_t>(v.out)]; }

  Value entered(Value v, int layer) const {
    const auto found = kept_.find({layer, v.node, v.out});
    return found == kept_.end() ? copy_.mapped(v) : found->second;
  }

  // What went into the layer, as a value of its own: what is computed from it is not taken for what was computed before.
  Value enter(Value v, int layer) {
    if (from_.node(v).inputs.empty()) return copy_.mapped(v);  // parameters, constants
    Value& kept = kept_[{layer, v.node, v.out}];
    if (!kept.valid()) {
      Node same;
      same.op = Op::kReshape;
      same.inputs = {copy_.mapped(v)};
      same.outputs = {from_.type(v)};
      same.again = true;
      kept = add(std::move(same))[0];
    }
    return kept;
  }

  void run_again(int layer) {
    ran_again_[static_cast<std::size_t>(layer)] = true;
    for (std::size_t i = 0; i < from_.nodes.size(); ++i) {
      if (forward_of_[i] != layer) continue;
      Node node = from_.nodes[i];
      for (Value& v : node.inputs) v = forward_layer(v) == layer ? again(v) : enter(v, layer);
      node.again = node.op == Op::kRandom;
      again_[i] = add(std::move(node));
    }
  }

  const Graph& from_;
  Graph to_;
  GraphCopy copy_;
  const std::vector<std::string>& layers_;
  std::vector<int> forward_of_;            // of each node of `from`: its layer, in the forward pass
  std::vector<std::vector<Value>> again_;  // of each such node: what it is the second time
  std::vector<bool> ran_again_;
  std::map<std::array<int, 3>, Value> kept_;  // by layer, node, output
};

}  // namespace

Graph recompute(const Graph& graph, const std::vector<std::string>& layers) { return Recomputer(graph, layers).run(); }

}  // namespace tabgrad
