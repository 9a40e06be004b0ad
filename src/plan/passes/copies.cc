// Copies become kernels: updates that no kernel writes in place, and outputs whose value has its buffer elsewhere. Where nothing is
// written in place, an update whose value is needed nowhere else after the run exchanges buffers instead.
#include <algorithm>

#include "plan/passes.h"

namespace tabgrad {

PlanKernel copy_kernel(const Graph& graph, Value from, Value to) {
  PlanKernel k;
  k.kernel.kind = KernelKind::kMap;
  const FlatAccess dense{{1}, 0, {}};
  k.kernel.body.space = {num_elements(graph.dims(from))};
  k.kernel.body.loads = {{0, dense, false}};
  Instr load;
  load.kind = InstrKind::kLoad;
  load.index = 0;
  k.kernel.body.code = {load};
  k.kernel.body.stores = {{1, 0, dense}};
  k.args = {from, to};
  k.writes = {false, true};
  k.label = "copy";
  return k;
}

namespace {

bool can_swap(const KernelPlan& plan, const KernelPlan::Copy& c) {
  if (plan.graph.node(c.from).op == Op::kInput) return false;
  return std::count_if(plan.copies.begin(), plan.copies.end(),
                       [&](const KernelPlan::Copy& other) { return other.from == c.from; }) == 1;
}

}  // namespace

void lower_copies(KernelPlan& plan, const Caps& caps) {
  std::vector<KernelPlan::Copy> bound;
  for (KernelPlan::Copy& c : plan.copies) {
    if (c.name.empty()) {
      if (!caps.update_in_place && can_swap(plan, c)) {
        plan.swaps.emplace_back(c.from, c.to);
        continue;
      }
      if (!(c.from == c.to)) plan.kernels.push_back(copy_kernel(plan.graph, c.from, c.to));
      continue;
    }
    if (!c.to.valid()) {  // a value of its own for the output's buffer
      Node stand_in;
      stand_in.outputs = {plan.graph.type(c.from)};
      plan.graph.nodes.push_back(std::move(stand_in));
      c.to = {static_cast<int>(plan.graph.nodes.size()) - 1, 0};
      plan.kernels.push_back(copy_kernel(plan.graph, c.from, c.to));
    }
    bound.push_back({c.to, c.to, c.name});
  }
  plan.copies = std::move(bound);
}

}  // namespace tabgrad
