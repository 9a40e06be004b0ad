#include "nn/module.h"

#include "graph/compose/compose.h"

namespace tabgrad {

Tensor Builder::param(const std::string& name, Dims dims, Init init, bool decay, bool hidden) {
  const ParameterSpec spec{name, dims, init, decay, hidden};
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    if (parameters_[i].name != name) continue;
    if (parameters_[i] != spec) fail("[parameter] '", name, "' is declared twice in different ways");
    return tensors_[i];
  }
  const Tensor tensor = input(graph_, name, std::move(dims), Role::kParameter);
  parameters_.push_back(spec);
  tensors_.push_back(tensor);
  return tensor;
}

Tensor Builder::linear(const std::string& name, Tensor x, std::int64_t out, Init init) {
  const Tensor w = param(name + ".w", {x.dim(-1), out}, init, true, true);
  const Tensor b = param(name + ".b", {out}, Init::zeros(), false);
  return tabgrad::linear(x, w, b);
}

Tensor Builder::dropout(Tensor x, double rate) {
  if (!training_ || rate == 0.0) return x;
  return tabgrad::dropout(x, rate, kFirstDropoutStream + dropouts_++);
}

}  // namespace tabgrad
