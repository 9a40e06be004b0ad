#include "graph/graph.h"

namespace tabgrad {

Value Graph::add(Node node) {
  if (node.name.empty()) node.name = scope;
  for (Value v : node.inputs) TG_CHECK(v.valid() && v.node < static_cast<int>(nodes.size()));
  infer_types(*this, node);
  nodes.push_back(std::move(node));
  return {static_cast<int>(nodes.size()) - 1, 0};
}

Value Graph::input(std::string name, Dims dims, Role role, DType dtype) {
  Node node;
  node.op = Op::kInput;
  node.name = std::move(name);
  node.role = role;
  node.outputs = {{std::move(dims), dtype}};
  return add(std::move(node));
}

Value Graph::literal(std::string name, HostTensor data) {
  Node node;
  node.op = Op::kInput;
  node.name = std::move(name);
  node.role = Role::kConstant;
  node.literal = static_cast<int>(literals.size());
  node.outputs = {{data.dims, data.dtype}};
  literals.push_back(std::move(data));
  return add(std::move(node));
}

}  // namespace tabgrad
