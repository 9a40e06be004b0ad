// Builder: the context in which a model's build function runs.
//
// The same function builds the train_step, evaluate and predict graphs: it declares parameters by name, in the same order
// each time, and asks for dropout, which is there in training only.
//
// Does: declares parameters, hands out random streams, names layers. Does not: own the graph.
#pragma once

#include <string>
#include <vector>

#include "graph/build.h"
#include "nn/parameters.h"

namespace tabgrad {

class Builder {
 public:
  // graph must outlive the Builder, and stay where it is while it is used.
  Builder(Graph& graph, bool training) : graph_(graph), training_(training) {}

  Graph& graph() { return graph_; }
  bool training() const { return training_; }

  // Declares a trained parameter, or returns the one declared before under this name (shared weights).
  Tensor param(const std::string& name, Dims dims, Init init, bool decay, bool hidden = false);
  // x·W + b with parameters "<name>.w" (in,out) and "<name>.b" (out); W decays, b starts at 0.
  Tensor linear(const std::string& name, Tensor x, std::int64_t out, Init init);
  // x itself unless training. Every call draws from a stream of its own, in the order of the calls.
  Tensor dropout(Tensor x, double rate);

  const std::vector<ParameterSpec>& parameters() const { return parameters_; }
  const std::vector<Tensor>& tensors() const { return tensors_; }  // of parameters(), in the same order

 private:
  Graph& graph_;
  bool training_;
  std::uint32_t dropouts_ = 0;
  std::vector<ParameterSpec> parameters_;
  std::vector<Tensor> tensors_;
};

// Nodes built while it lives carry this layer's name: Layer layer(b, "lstm0").
class Layer {
 public:
  Layer(Builder& builder, const std::string& name) : graph_(builder.graph()), outer_(graph_.scope) { graph_.scope = name; }
  ~Layer() { graph_.scope = outer_; }
  Layer(const Layer&) = delete;
  Layer& operator=(const Layer&) = delete;

 private:
  Graph& graph_;
  std::string outer_;
};

// Philox streams from here on are dropout's; those below are the parameters' initial values.
inline constexpr std::uint32_t kFirstDropoutStream = 1u << 20;

}  // namespace tabgrad
