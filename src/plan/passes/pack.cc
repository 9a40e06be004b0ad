// Packs: the parameters, gradients and states of one optimizer side by side, each kind in an allocation of its own, so that the
// optimizer and the norm of all gradients are one launch each and bind a handful of buffers.
//
// Members begin at multiples of Caps::alignment. What lies between is zero at first and stays zero: no kernel writes it but the
// optimizer, to which zeros stay zeros. So gradients have an allocation outside of the arena.
#include <algorithm>
#include <numeric>
#include <set>

#include "plan/passes.h"

namespace tabgrad {
namespace {

class Packer {
 public:
  Packer(KernelPlan& plan, const Caps& caps) : plan_(plan), caps_(caps) {}

  void run() {
    for (std::size_t k = 0; k < plan_.kernels.size(); ++k)
      if (!plan_.kernels[k].kernel.weight_decay.empty()) k = pack(k);
  }

 private:
  // The optimizer kernel at k; returns where it is then.
  std::size_t pack(std::size_t k) {
    PlanKernel& optimizer = plan_.kernels[k];
    const std::size_t each = optimizer.kernel.composite == Composite::kSgd ? 3 : 4, count = (optimizer.args.size() - 1) / each;
    std::vector<std::size_t> order(count);
    std::iota(order.begin(), order.end(), std::size_t{0});
    const std::vector<float>& decay = optimizer.kernel.weight_decay;
    std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return decay[a] > decay[b]; });

    std::vector<KernelPlan::Pack> packs(each);
    std::vector<float> decays;
    Dims ends;
    std::set<ValueId> gradients;
    for (std::size_t i : order) {
      for (std::size_t j = 0; j < each; ++j) {
        packs[j].values.push_back(optimizer.args[1 + i * each + j]);
        packs[j].offsets.push_back(packs[j].elements);
        const std::int64_t n = num_elements(plan_.graph.dims(packs[j].values.back()));
        packs[j].elements += (n + caps_.alignment - 1) / caps_.alignment * caps_.alignment;
      }
      gradients.insert(id(packs[1].values.back()));
      if (decays.empty() || decays.back() != decay[i]) {
        decays.push_back(decay[i]);
        ends.push_back(0);
      }
      ends.back() = packs[0].elements;
    }
    packs[1].gradients = true;

    optimizer.kernel.weight_decay = std::move(decays);
    optimizer.kernel.arg_dims = {ends};
    std::vector<Value> args{optimizer.args[0]};
    optimizer.writes = {false};
    // Gradients that have a buffer elsewhere, or appear twice, are copied into the pack; before the norm, which reads it whole.
    std::size_t at = k;
    for (std::size_t s = 0; s < k; ++s)
      if (is_norm_of(plan_.kernels[s], gradients)) at = std::min(at, s);
    std::vector<PlanKernel> copies;
    std::set<ValueId> taken;
    for (Value& g : packs[1].values) {
      if (lives_in_arena(g) && taken.insert(id(g)).second) continue;
      Node stand_in;
      stand_in.outputs = {plan_.graph.type(g)};
      plan_.graph.nodes.push_back(std::move(stand_in));
      const Value copy{static_cast<int>(plan_.graph.nodes.size()) - 1, 0};
      copies.push_back(copy_kernel(plan_.graph, g, copy));
      g = copy;
    }
    for (std::size_t j = 0; j < each; ++j) {
      args.push_back(packs[j].values[0]);
      optimizer.writes.push_back(j != 1);
    }
    optimizer.args = std::move(args);
    optimizer.packed = true;
    for (std::size_t s = at; s < k; ++s) {
      PlanKernel& norm = plan_.kernels[s];
      if (!is_norm_of(norm, gradients)) continue;
      // All gradients become one argument; the result and what an epilogue needs follow.
      const auto inputs = static_cast<std::ptrdiff_t>(norm.kernel.arg_dims.size()) - 1;
      norm.args.erase(norm.args.begin() + 1, norm.args.begin() + inputs);
      norm.writes.erase(norm.writes.begin() + 1, norm.writes.begin() + inputs);
      norm.args[0] = packs[1].values[0];
      norm.kernel.arg_dims = {{packs[1].elements}, {}};
      for (Load& load : norm.kernel.body.loads) load.arg -= static_cast<int>(inputs) - 1;
      for (Store& store : norm.kernel.body.stores) store.arg -= static_cast<int>(inputs) - 1;
      norm.packed = true;
    }
    for (KernelPlan::Pack& p : packs) plan_.packs.push_back(std::move(p));
    const std::size_t added = copies.size();
    plan_.kernels.insert(plan_.kernels.begin() + static_cast<std::ptrdiff_t>(at), std::make_move_iterator(copies.begin()),
                         std::make_move_iterator(copies.end()));
    return k + added;
  }

  static bool is_norm_of(const PlanKernel& k, const std::set<ValueId>& gradients) {
    if (k.kernel.kind != KernelKind::kComposite || k.kernel.composite != Composite::kSumSquares || k.packed) return false;
    std::set<ValueId> inputs;
    for (std::size_t a = 0; a + 1 < k.kernel.arg_dims.size(); ++a) inputs.insert(id(k.args[a]));
    return inputs == gradients && k.kernel.arg_dims.size() == gradients.size() + 1;
  }

  bool lives_in_arena(Value v) const {
    if (plan_.graph.node(v).op == Op::kInput) return false;
    for (const KernelPlan::Pack& p : plan_.packs)
      if (std::find(p.values.begin(), p.values.end(), v) != p.values.end()) return false;
    return std::none_of(plan_.copies.begin(), plan_.copies.end(), [&](const KernelPlan::Copy& c) { return c.from == v; });
  }

  KernelPlan& plan_;
  const Caps& caps_;
};

}  // namespace

void pack_optimizers(KernelPlan& plan, const Caps& caps) { Packer(plan, caps).run(); }

}  // namespace tabgrad
