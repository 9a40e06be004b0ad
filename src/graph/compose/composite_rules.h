// Decompositions of the composites: node attributes and inputs → outputs (see kernel/composite.h for the shapes).
#pragma once

#include <vector>

#include "graph/autodiff.h"
#include "graph/compose/compose.h"

namespace tabgrad {

std::vector<Tensor> decompose_softmax(const Node& node, const std::vector<Tensor>& in);
std::vector<Tensor> decompose_norm(const Node& node, const std::vector<Tensor>& in);
std::vector<Tensor> decompose_cross_entropy(const Node& node, const std::vector<Tensor>& in);
std::vector<Tensor> decompose_attention(const Node& node, const std::vector<Tensor>& in);
std::vector<Tensor> decompose_lstm(const Node& node, const std::vector<Tensor>& in);
std::vector<Tensor> decompose_gru(const Node& node, const std::vector<Tensor>& in);
std::vector<Tensor> decompose_sum_squares(const Node& node, const std::vector<Tensor>& in);
std::vector<Tensor> decompose_sgd(const Node& node, const std::vector<Tensor>& in);
std::vector<Tensor> decompose_adam(const Node& node, const std::vector<Tensor>& in);

// Appends a composite node and returns its output 0.
Tensor add_composite(Composite composite, const std::vector<Tensor>& inputs, const CompositeAttrs& attrs = {});

}  // namespace tabgrad
