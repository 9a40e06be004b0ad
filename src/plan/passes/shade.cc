// Kernels → shaders: each kernel of the IR becomes one or more pieces of text, with scratch values between them, and pieces become
// launches (schedule.cc). After it runners see shaders alone.
//
// Two things spare launches here. A product that is cut along k leaves its partial products to the norm that reads it, which sums them
// and runs the product's epilogue on the way. And last sums of gradients (partial products, chunks) are late: they go along
// with whatever launch has room, for which the partial values of a layer lie in one scratch value.
#include <algorithm>
#include <map>
#include <optional>

#include "codegen/printer.h"
#include "plan/lower.h"
#include "plan/pieces.h"

namespace tabgrad {
namespace {

class Shading {
 public:
  Shading(KernelPlan& plan, const std::vector<std::string>& uniforms, const Caps& caps)
      : plan_(plan), graph_(plan.graph), uniforms_(uniforms), caps_(caps) {}

  void run() {
    for (std::size_t k = 0; k < plan_.kernels.size(); ++k) lower(k);
    for (auto& [key, group] : groups_)
      graph_.nodes[static_cast<std::size_t>(group.value.node)].outputs[0].dims = {group.elements};
    std::stable_partition(pieces_.begin(), pieces_.end(), [](const Piece& p) { return !p.late; });
    schedule(plan_, std::move(pieces_), caps_);
  }

 private:
  void lower(std::size_t index) {
    const PlanKernel& k = plan_.kernels[index];
    if (is_norm(k.kernel) && lower_with_source(index)) return;
    std::vector<Value> values = k.args;
    std::vector<codegen::ArgInfo> info = arg_infos(graph_, values);
    for (std::size_t a = 0; k.packed && a < values.size(); ++a)
      if (const KernelPlan::Pack* pack = pack_led_by(plan_, values[a])) info[a].elements = pack->elements;
    if (caps_.fuse && k.kernel.kind == KernelKind::kContract) {
      const std::optional<Value> row = row_for_norm(index);
      const bool along = row || (k.kernel.body.code.empty() && is_packed_gradient(k.args[2]));
      std::vector<Piece> made = pieces_of(k, values, codegen::contract_parts(k.kernel, info, caps_, along));
      if (row && made.size() == 2) {
        sources_[id(*row)] = {index, std::move(made.back())};
        made.pop_back();
      }
      add(made);
    } else {
      add(pieces_of(k, values, codegen::generate(k.kernel, info, uniforms_, caps_)));
    }
  }

  void add(const std::vector<Piece>& pieces) { pieces_.insert(pieces_.end(), pieces.begin(), pieces.end()); }

  // The pieces of a kernel; `values` gets its scratch values.
  std::vector<Piece> pieces_of(const PlanKernel& k, std::vector<Value> values, codegen::Parts parts) {
    const std::size_t given = values.size();
    std::vector<bool> late(parts.parts.size());
    for (std::size_t p = 0; p < late.size(); ++p) late[p] = caps_.fuse && is_last_sum(parts.parts[p], values);
    std::vector<std::int64_t> offsets;
    for (std::size_t s = 0; s < parts.scratch.size(); ++s) {
      offsets.push_back(0);
      if (in_group(parts, late, static_cast<int>(given + s))) {
        Group& group = group_of(k.label);
        offsets.back() = group.elements;
        group.elements += (num_elements(parts.scratch[s]) + 3) / 4 * 4;
        values.push_back(group.value);
      } else {
        values.push_back(scratch_value(graph_, parts.scratch[s]));
      }
    }
    std::vector<Piece> pieces;
    for (std::size_t p = 0; p < parts.parts.size(); ++p) {
      codegen::Part& part = parts.parts[p];
      for (codegen::PartArg& a : part.args)
        if (static_cast<std::size_t>(a.arg) >= given) a.offset = offsets[static_cast<std::size_t>(a.arg) - given];
      pieces.push_back({std::move(part), values, k.label, p == 0 ? k.flops : 0, k.packed, late[p]});
    }
    return pieces;
  }

  // ---- late sums --------------------------------------------------------------------------------------------------------------

  // Scratch of one layer for all partial gradients.
  struct Group {
    Value value;
    std::int64_t elements = 0;
  };

  // Reads scratch alone, writes packed gradients alone.
  bool is_last_sum(const codegen::Part& part, const std::vector<Value>& values) const {
    return std::all_of(part.args.begin(), part.args.end(), [&](const codegen::PartArg& a) {
      const bool scratch = static_cast<std::size_t>(a.arg) >= values.size();
      return a.written ? !scratch && is_packed_gradient(values[static_cast<std::size_t>(a.arg)]) : scratch;
    });
  }
  bool is_packed_gradient(Value v) const {
    return std::any_of(plan_.packs.begin(), plan_.packs.end(), [&](const KernelPlan::Pack& p) {
      return p.gradients && std::find(p.values.begin(), p.values.end(), v) != p.values.end();
    });
  }
  // Scratch that only late sums read, all as vectors: the parts of a launch must agree on a value's type.
  static bool in_group(const codegen::Parts& parts, const std::vector<bool>& late, int scratch) {
    bool read_late = false;
    for (std::size_t p = 0; p < parts.parts.size(); ++p) {
      for (const codegen::PartArg& a : parts.parts[p].args) {
        if (a.arg != scratch) continue;
        if (!a.vec4 || (!a.written && !late[p])) return false;
        read_late = read_late || !a.written;
      }
    }
    return read_late;
  }
  // A layer is what labels call so: up to the first dot.
  Group& group_of(const std::string& label) {
    const auto [at, fresh] = groups_.try_emplace(label.substr(0, label.find('.')));
    if (fresh) at->second.value = scratch_value(graph_, {0});
    return at->second;
  }

  // ---- norms that sum partial products ----------------------------------------------------------------------------------------

  static bool is_norm(const Kernel& k) {
    return k.kind == KernelKind::kComposite && (k.composite == Composite::kLayerNorm || k.composite == Composite::kRmsNorm);
  }
  // The argument of a norm whose rows a product may make up: x forward, dy backward.
  static std::size_t row_arg(const Kernel& k) { return !k.grad ? 0 : k.composite == Composite::kLayerNorm ? 6 : 4; }

  // The value by which a later norm reads the product at `index`, if it may sum it.
  std::optional<Value> row_for_norm(std::size_t index) const {
    const PlanKernel& product = plan_.kernels[index];
    const Contract& c = product.kernel.contract;
    if (c.n % 4 != 0 || (!product.kernel.body.code.empty() && !codegen::widens(product.kernel.body))) return {};
    for (std::size_t j = index + 1; j < plan_.kernels.size(); ++j) {
      const PlanKernel& norm = plan_.kernels[j];
      if (!is_norm(norm.kernel)) continue;
      const Value row = norm.args[row_arg(norm.kernel)];
      const auto found = std::find(product.args.begin(), product.args.end(), row);
      if (found == product.args.end() || !product.writes[static_cast<std::size_t>(found - product.args.begin())]) continue;
      if (norm.kernel.arg_dims[0] != Dims{c.batch * c.m, c.n}) continue;
      // What else it reads must not come of the product: it was there before.
      if (std::all_of(norm.args.begin(), norm.args.end(), [&](Value v) { return v == row || !made_since(v, index, j); }))
        return row;
    }
    return {};
  }
  bool made_since(Value v, std::size_t index, std::size_t norm) const {
    for (std::size_t k = index; k < norm; ++k)
      for (std::size_t a = 0; a < plan_.kernels[k].args.size(); ++a)
        if (plan_.kernels[k].writes[a] && plan_.kernels[k].args[a] == v) return true;
    return false;
  }

  // The norm at `index`, if a product has left it its partial products and a launch can bind it all. Otherwise they are summed before.
  bool lower_with_source(std::size_t index) {
    const PlanKernel& norm = plan_.kernels[index];
    const auto found = sources_.find(id(norm.args[row_arg(norm.kernel)]));
    if (found == sources_.end()) return false;
    const auto [maker, sum] = found->second;
    sources_.erase(found);
    const PlanKernel& product = plan_.kernels[maker];
    std::vector<Value> values = norm.args;
    codegen::RowSource source;
    source.body = product.kernel.body;
    if (source.body.code.empty()) source.body.space = norm.kernel.arg_dims[0];
    auto number_of = [&](int arg) {
      const Value v = product.args[static_cast<std::size_t>(arg)];
      const auto at = std::find(values.begin(), values.end(), v);
      const auto number = static_cast<int>(at - values.begin());
      if (at == values.end()) values.push_back(v);
      return number;
    };
    const Value row = norm.args[row_arg(norm.kernel)];
    source.product = number_of(2);
    for (Load& l : source.body.loads) l.arg = number_of(l.arg);
    source.store_product = product.kernel.store_product && needed_elsewhere(product.args[2], maker, index);
    std::vector<Store> stores;
    for (Store s : source.body.stores) {
      const Value v = product.args[static_cast<std::size_t>(s.arg)];
      if (v == row) source.value = s.value;
      if (!needed_elsewhere(v, maker, index)) continue;
      s.arg = number_of(s.arg);
      stores.push_back(std::move(s));
    }
    source.body.stores = std::move(stores);
    source.partial = static_cast<int>(values.size());
    values.push_back(sum.values.back());
    std::vector<codegen::ArgInfo> info = arg_infos(graph_, values);
    source.split =
        info.back().elements / (product.kernel.contract.batch * product.kernel.contract.m * product.kernel.contract.n);
    const std::vector<Piece> made = pieces_of(norm, values, codegen::norm_parts(norm.kernel, info, caps_, &source));
    if (binding_count(plan_, {&made[0]}) > caps_.max_args) {
      pieces_.push_back(sum);
      return false;
    }
    add(made);
    return true;
  }

  bool needed_elsewhere(Value v, std::size_t maker, std::size_t reader) const {
    for (std::size_t k = 0; k < plan_.kernels.size(); ++k) {
      const std::vector<Value>& args = plan_.kernels[k].args;
      if (k != maker && k != reader && std::find(args.begin(), args.end(), v) != args.end()) return true;
    }
    return std::any_of(plan_.copies.begin(), plan_.copies.end(), [&](const KernelPlan::Copy& c) { return c.from == v; });
  }

  KernelPlan& plan_;
  Graph& graph_;
  const std::vector<std::string>& uniforms_;
  const Caps& caps_;
  std::vector<Piece> pieces_;
  std::map<std::string, Group> groups_;
  struct Source {
    std::size_t product;  // its kernel
    Piece sum;  // what sums the partial products otherwise
  };
  std::map<ValueId, Source> sources_;
};

}  // namespace

void shade(KernelPlan& plan, const std::vector<std::string>& uniforms, const Caps& caps) {
  Shading(plan, uniforms, caps).run();
}

}  // namespace tabgrad
