// Kernel fusion across stored values: an elementwise kernel that reads a product (the result of another kernel that takes an epilogue,
// or of an elementwise one) element for element joins the kernel that makes it, which saves a launch and one trip through memory.
#include <algorithm>
#include <map>
#include <queue>

#include "codegen/printer.h"
#include "plan/lower.h"
#include "plan/passes.h"

namespace tabgrad {
namespace {

class Merger {
 public:
  Merger(KernelPlan& plan, const Caps& caps) : plan_(plan), caps_(caps), kernels_(plan.kernels) {}

  void run() {
    index();
    for (KernelKind kind : {KernelKind::kContract, KernelKind::kGather, KernelKind::kComposite, KernelKind::kMap}) {
      for (std::size_t p = 0; p < kernels_.size(); ++p) {
        if (kernels_[p].kernel.kind != kind || gone(p)) continue;
        if (!takes_epilogue(kernels_[p].kernel)) continue;
        for (std::size_t c = 0; c < kernels_.size(); ++c)  // a consumer may stand before: merged into an earlier producer
          if (c != p && !gone(c) && kernels_[c].kernel.kind == KernelKind::kMap && reads_result_of(c, p) && try_merge(p, c))
            index();
      }
    }
    order();
  }

 private:
  static std::pair<int, int> id(Value v) { return {v.node, v.out}; }
  bool gone(std::size_t k) const { return kernels_[k].args.empty(); }

  bool takes_epilogue(const Kernel& k) const {
    if (k.kind == KernelKind::kContract || k.kind == KernelKind::kMap) return true;
    if (!caps_.epilogues) return false;
    return k.kind == KernelKind::kGather || is_norm_gradient(k) ||
           (k.kind == KernelKind::kComposite && k.composite == Composite::kSumSquares);
  }
  static bool is_norm_gradient(const Kernel& k) {
    return k.kind == KernelKind::kComposite && k.grad &&
           (k.composite == Composite::kLayerNorm || k.composite == Composite::kRmsNorm);
  }
  // The argument whose rows an epilogue runs over: C of a product, dx of a norm.
  static std::size_t result_arg(const Kernel& k) {
    if (k.kind != KernelKind::kComposite) return 2;
    if (is_norm_gradient(k)) return k.composite == Composite::kLayerNorm ? 7 : 5;
    return k.arg_dims.size() - 1;
  }
  static Dims result_dims(const Kernel& k) {
    const Contract& c = k.contract;
    return k.kind == KernelKind::kContract ? Dims{c.batch * c.m, c.n} : k.arg_dims[result_arg(k)];
  }

  void index() {
    producer_.clear();
    for (std::size_t k = 0; k < kernels_.size(); ++k) {
      for (std::size_t a = 0; a < kernels_[k].args.size(); ++a) {
        const Value v = kernels_[k].args[a];
        // Optimizers overwrite parameters, which everybody reads before: no dependence.
        if (kernels_[k].writes[a] && v.valid() && plan_.graph.node(v).op != Op::kInput) producer_[id(v)] = k;
      }
    }
  }

  // Kernels whose results k reads.
  std::vector<std::size_t> sources(std::size_t k) const {
    std::vector<std::size_t> result;
    for (Value v : kernels_[k].args) {
      const auto found = producer_.find(id(v));
      if (found != producer_.end() && found->second != k) result.push_back(found->second);
    }
    return result;
  }

  // Does k need, directly or not, a result of `target`?
  bool depends(std::size_t k, std::size_t target, std::vector<char>& seen) const {
    if (k == target) return true;
    if (seen[k]) return false;
    seen[k] = 1;
    for (std::size_t s : sources(k))
      if (depends(s, target, seen)) return true;
    return false;
  }

  bool reads_result_of(std::size_t c, std::size_t p) const {
    for (std::size_t a = 0; a < kernels_[c].args.size(); ++a) {
      if (kernels_[c].writes[a]) continue;
      const auto found = producer_.find(id(kernels_[c].args[a]));
      if (found != producer_.end() && found->second == p) return true;
    }
    return false;
  }

  bool try_merge(std::size_t p, std::size_t c) {
    PlanKernel& from = kernels_[p];
    PlanKernel& into = kernels_[c];
    const Body& body = into.kernel.body;
    const bool product = from.kernel.kind != KernelKind::kMap;
    if (product) {
      const Dims rows = result_dims(from.kernel);
      if (num_elements(body.space) != num_elements(rows)) return false;
      if (!rows.empty() && (body.space.empty() || body.space.back() != rows.back())) return false;
      if (!from.kernel.body.code.empty() && from.kernel.body.space != body.space) return false;
      // A norm goes by fours where it can, which an epilogue must not spoil.
      if (is_norm_gradient(from.kernel) && rows[1] % 4 == 0 && !codegen::widens(body)) return false;
    } else if (body.space != from.kernel.body.space) {
      return false;
    }
    // Everything that the consumer reads of the producer must be the same element.
    for (const Load& l : body.loads) {
      const Value v = into.args[static_cast<std::size_t>(l.arg)];
      const auto found = producer_.find(id(v));
      if (found == producer_.end() || found->second != p) continue;
      if (l.ids || !is_dense(l.at, body.space) || l.at.offset != 0) return false;
      if (!(product && v == from.args[result_arg(from.kernel)]) && !stored_dense(from, v)) return false;
    }
    // No third kernel may stand between.
    for (std::size_t s : sources(c)) {
      std::vector<char> seen(kernels_.size(), 0);
      if (s != p && depends(s, p, seen)) return false;
    }
    if (too_many(from, into)) return false;
    join(from, into);
    return true;
  }

  static bool stored_dense(const PlanKernel& k, Value v) {
    for (const Store& s : k.kernel.body.stores)
      if (k.args[static_cast<std::size_t>(s.arg)] == v) return is_dense(s.at, k.kernel.body.space) && s.at.offset == 0;
    return false;
  }

  bool too_many(const PlanKernel& from, const PlanKernel& into) const {
    // Sums of squares bind their inputs elsewhere.
    if (from.kernel.kind == KernelKind::kComposite && !is_norm_gradient(from.kernel))
      return static_cast<int>(from.args.size() - from.kernel.arg_dims.size() + into.args.size()) + 1 > caps_.max_args;
    if (from.kernel.kind == KernelKind::kComposite) {
      // What a norm's gradient binds: x, gamma, mean, rstd, dy, partial sums of dgamma and dbeta, and dx or what it becomes.
      const std::size_t own = from.kernel.composite == Composite::kLayerNorm ? 7 : 6;
      const std::size_t more = from.args.size() - from.kernel.arg_dims.size() + into.args.size() - 1;
      const bool dx_stays = needed_elsewhere(from.args[result_arg(from.kernel)], from, into);
      return static_cast<int>(own + more) - (dx_stays ? 0 : 1) > caps_.max_args;
    }
    const auto reads =
        std::count(from.writes.begin(), from.writes.end(), false) + std::count(into.writes.begin(), into.writes.end(), false);
    const auto writes =
        std::count(from.writes.begin(), from.writes.end(), true) + std::count(into.writes.begin(), into.writes.end(), true);
    return reads > caps_.max_inputs || writes > caps_.max_outputs || reads + writes > caps_.max_args;
  }

  // Appends the consumer's code to the producer's and empties the consumer.
  void join(PlanKernel& from, PlanKernel& into) {
    const bool product = from.kernel.kind != KernelKind::kMap;
    Body& body = from.kernel.body;
    const Body& more = into.kernel.body;
    if (product && body.code.empty()) body.space = more.space;
    auto arg_of = [&](Value v, bool written) {
      for (std::size_t a = 0; a < from.args.size(); ++a) {
        if (from.args[a] == v) {
          from.writes[a] = from.writes[a] || written;
          return static_cast<int>(a);
        }
      }
      from.args.push_back(v);
      from.writes.push_back(written);
      return static_cast<int>(from.args.size()) - 1;
    };
    std::vector<int> where;
    for (const Instr& old : more.code) {
      Instr instr = old;
      int* operands[] = {&instr.a, &instr.b, &instr.c};
      for (int* o : operands)
        if (*o >= 0) *o = where[static_cast<std::size_t>(*o)];
      if (instr.kind == InstrKind::kLoad) {
        Load l = more.loads[static_cast<std::size_t>(instr.index)];
        const Value v = into.args[static_cast<std::size_t>(l.arg)];
        // What the producer's own code stores is at hand; its product is loaded like any other argument.
        const auto made = std::find_if(body.stores.begin(), body.stores.end(),
                                       [&](const Store& s) { return from.args[static_cast<std::size_t>(s.arg)] == v; });
        if (made != body.stores.end()) {
          where.push_back(made->value);
          continue;
        }
        l.arg = arg_of(v, false);
        instr.index = append_load(body, std::move(l));
      }
      where.push_back(append_instr(body, std::move(instr)));
    }
    for (Store s : more.stores) {
      s.value = where[static_cast<std::size_t>(s.value)];
      s.arg = arg_of(into.args[static_cast<std::size_t>(s.arg)], true);
      body.stores.push_back(s);
    }
    if (!into.label.empty() && from.label.empty()) from.label = into.label;
    into = {};
    drop_unread_results(from);
  }

  bool needed_elsewhere(Value v, const PlanKernel& maker, const PlanKernel& reader) const {
    for (const PlanKernel& k : kernels_)
      if (&k != &maker && &k != &reader && std::find(k.args.begin(), k.args.end(), v) != k.args.end()) return true;
    for (const KernelPlan::Copy& c : plan_.copies)
      if (c.from == v) return true;
    return false;
  }

  void drop_unread_results(PlanKernel& k) {
    if (k.kernel.kind != KernelKind::kMap) {
      const std::size_t result = result_arg(k.kernel);
      if (!k.kernel.store_product || k.kernel.body.stores.empty() || needed_elsewhere(k.args[result], k, k)) return;
      // The product itself goes to the place of a result of the same shape, which then overwrites it.
      for (Store& s : k.kernel.body.stores) {
        if (!is_dense(s.at, k.kernel.body.space) || s.at.offset != 0) continue;
        const auto old = static_cast<std::size_t>(s.arg);
        k.args[result] = k.args[old];
        k.kernel.store_product = false;
        s.arg = static_cast<int>(result);
        remove_arg(k, old);
        return;
      }
      return;
    }
    std::vector<Store>& stores = k.kernel.body.stores;
    for (std::size_t s = stores.size(); s-- > 0;) {
      const auto arg = static_cast<std::size_t>(stores[s].arg);
      if (stores.size() == 1 || needed_elsewhere(k.args[arg], k, k)) continue;
      stores.erase(stores.begin() + static_cast<std::ptrdiff_t>(s));
      remove_arg(k, arg);
    }
  }

  static void remove_arg(PlanKernel& k, std::size_t arg) {
    k.args.erase(k.args.begin() + static_cast<std::ptrdiff_t>(arg));
    k.writes.erase(k.writes.begin() + static_cast<std::ptrdiff_t>(arg));
    for (Load& l : k.kernel.body.loads)
      if (l.arg > static_cast<int>(arg)) --l.arg;
    for (Store& s : k.kernel.body.stores)
      if (s.arg > static_cast<int>(arg)) --s.arg;
  }

  // Kernels in an order that can run, as near to the old one as possible; optimizers stay last.
  void order() {
    kernels_.erase(std::remove_if(kernels_.begin(), kernels_.end(), [](const PlanKernel& k) { return k.args.empty(); }),
                   kernels_.end());
    index();
    std::vector<int> waiting(kernels_.size(), 0);
    std::vector<std::vector<std::size_t>> users(kernels_.size());
    for (std::size_t k = 0; k < kernels_.size(); ++k) {
      std::vector<std::size_t> from = sources(k);
      std::sort(from.begin(), from.end());
      from.erase(std::unique(from.begin(), from.end()), from.end());
      waiting[k] = static_cast<int>(from.size());
      for (std::size_t s : from) users[s].push_back(k);
    }
    std::priority_queue<std::size_t, std::vector<std::size_t>, std::greater<>> ready;
    for (std::size_t k = 0; k < kernels_.size(); ++k)
      if (waiting[k] == 0) ready.push(k);
    std::vector<PlanKernel> sorted;
    while (!ready.empty()) {
      const std::size_t k = ready.top();
      ready.pop();
      for (std::size_t u : users[k])
        if (--waiting[u] == 0) ready.push(u);
      sorted.push_back(std::move(kernels_[k]));
    }
    TG_CHECK(sorted.size() == kernels_.size());
    auto is_optimizer = [](const PlanKernel& k) { return !k.kernel.weight_decay.empty(); };
    std::stable_partition(sorted.begin(), sorted.end(), [&](const PlanKernel& k) { return !is_optimizer(k); });
    kernels_ = std::move(sorted);
  }

  KernelPlan& plan_;
  const Caps& caps_;
  std::vector<PlanKernel>& kernels_;
  std::map<std::pair<int, int>, std::size_t> producer_;
};

}  // namespace

void merge_kernels(KernelPlan& plan, const Caps& caps) { Merger(plan, caps).run(); }

}  // namespace tabgrad
