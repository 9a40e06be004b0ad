// Which activations are stored as f16. Kernels read them as f32, compute and accumulate in f32, and round what they store.
//
// Those of the forward pass alone (Node::forward): they are most of what a step keeps, and lie far from the ends of f16 (6e-8, 65504);
// what does not becomes infinite, and stops the training as any loss that is not finite does. Gradients stay f32, as they would vanish
// in f16 without a scale. So do statistics, sums and what elementwise work makes of them (losses), what leaves the step or stays from
// run to run, and what recurrent layers read or write: their kernels pass the state on through memory, at each step.
#include <set>

#include "plan/passes.h"

namespace tabgrad {
namespace {

class Narrowing {
 public:
  explicit Narrowing(KernelPlan& plan) : plan_(plan), graph_(plan.graph) {}

  void run() {
    for (const KernelPlan::Pack& p : plan_.packs)
      for (const Value v : p.values) wide_.insert(id(v));
    for (const auto& [value, target] : plan_.in_place) wide_.insert(id(value));
    for (const auto& [value, target] : plan_.swaps) wide_.insert(id(value));
    for (const KernelPlan::Copy& c : plan_.copies) wide_.insert(id(c.from));
    for (const PlanKernel& k : plan_.kernels) visit(k);
    for (const ValueId& key : narrow_) {
      Node& node = graph_.nodes[static_cast<std::size_t>(key.first)];
      if (!wide_.contains(key) && node.forward && num_elements(node.outputs[0].dims) > 1) node.outputs[0].dtype = DType::kF16;
    }
  }

 private:
  void visit(const PlanKernel& k) {
    const Kernel& kernel = k.kernel;
    const bool of_sums = kernel.kind == KernelKind::kMap && reads_sums(k);
    for (std::size_t a = 0; a < k.args.size(); ++a) {
      const Value v = k.args[a];
      if (!v.valid()) continue;
      if (!converts(kernel)) wide_.insert(id(v));
      if (!k.writes[a]) continue;
      if (sums(kernel, v) || of_sums) {
        sums_.insert(id(v));
        wide_.insert(id(v));
      } else if (graph_.node(v).op != Op::kInput) {
        narrow_.insert(id(v));
      }
    }
  }

  bool reads_sums(const PlanKernel& k) const {
    for (std::size_t a = 0; a < k.args.size(); ++a)
      if (!k.writes[a] && sums_.contains(id(k.args[a]))) return true;
    return false;
  }

  static bool converts(const Kernel& k) {
    return k.kind != KernelKind::kComposite || (k.composite != Composite::kLstm && k.composite != Composite::kGru);
  }

  // Is the value, which the kernel writes, a sum over many elements, or a statistic beside a composite's result?
  static bool sums(const Kernel& k, Value v) {
    switch (k.kind) {
      case KernelKind::kReduce:
      case KernelKind::kSegmentSum: return true;
      case KernelKind::kMap:
      case KernelKind::kGather:
      case KernelKind::kContract:
      case KernelKind::kShader: return false;
      case KernelKind::kComposite: break;
    }
    return v.out > 0 || k.composite == Composite::kCrossEntropy || k.composite == Composite::kSumSquares;
  }

  KernelPlan& plan_;
  Graph& graph_;
  std::set<ValueId> narrow_, wide_, sums_;  // narrow: candidates; wide: never
};

}  // namespace

void narrow(KernelPlan& plan) { Narrowing(plan).run(); }

}  // namespace tabgrad
