// Pieces → launches: pieces that do not depend on each other share launches, since launches run one after another and most are too
// small to fill a GPU.
//
// Before memory planning, so that what shades need between them lies in the arena like any activation.
#include <algorithm>
#include <map>
#include <set>

#include "codegen/wgsl.h"
#include "plan/pieces.h"

namespace tabgrad {
namespace {

// What a launch binds: the pieces' values, those that are neighbours in a pack as one.
class Bindings {
 public:
  Bindings(const KernelPlan& plan, const std::vector<const Piece*>& pieces) {
    std::map<ValueId, Use> uses;
    for (const Piece* piece : pieces) {
      for (const codegen::PartArg& a : piece->part.args) {
        const Value v = piece->values[static_cast<std::size_t>(a.arg)];
        const auto [at, fresh] = uses.try_emplace(id(v), Use{v, a.vec4, false});
        if (fresh) order_.push_back(id(v));
        if (at->second.vec4 != a.vec4) consistent_ = false;
        at->second.whole = at->second.whole || piece->packed;
      }
    }
    for (const auto& [key, use] : uses) places_[key] = {use.value, 0};
    for (const KernelPlan::Pack& pack : plan.packs) {
      for (std::size_t m = 1; m < pack.values.size(); ++m) {
        const auto before = uses.find(id(pack.values[m - 1])), at = uses.find(id(pack.values[m]));
        if (before == uses.end() || at == uses.end()) continue;
        if (before->second.whole || at->second.whole || before->second.vec4 != at->second.vec4) continue;
        const Place first = places_.at(before->first);
        places_[at->first] = {first.base, first.offset + pack.offsets[m] - pack.offsets[m - 1]};
      }
    }
  }

  struct Place {
    Value base;
    std::int64_t offset = 0;
  };
  const Place& place(Value v) const { return places_.at(id(v)); }
  bool consistent() const { return consistent_; }  // is each value everywhere an array of vectors, or nowhere?
  // The values that lead a binding, in the order in which pieces meet them.
  std::vector<Value> bases() const {
    std::vector<Value> bases;
    for (const ValueId& key : order_) {
      const Value base = places_.at(key).base;
      if (std::find(bases.begin(), bases.end(), base) == bases.end()) bases.push_back(base);
    }
    return bases;
  }

 private:
  struct Use {
    Value value;
    bool vec4 = false, whole = false;
  };
  std::vector<ValueId> order_;
  std::map<ValueId, Place> places_;
  bool consistent_ = true;
};

class Scheduler {
 public:
  Scheduler(KernelPlan& plan, std::vector<Piece> pieces, const Caps& caps)
      : plan_(plan), graph_(plan.graph), caps_(caps), pieces_(std::move(pieces)) {}

  void run() {
    order();
    std::vector<std::size_t> open;  // in order
    for (std::size_t p = 0; p < pieces_.size(); ++p) open.push_back(p);
    done_.assign(pieces_.size(), false);
    while (!open.empty()) {
      std::vector<std::size_t> group{first(open)};
      for (const bool late : {false, true}) {
        std::size_t seen = 0;
        for (const std::size_t p : open) {
          if (pieces_[p].late != late || p == group[0] || !caps_.fuse) continue;
          if (!late && (p < group[0] || ++seen > kHorizon)) continue;
          if (!ready(p)) continue;
          group.push_back(p);
          if (!fits(group)) group.pop_back();
        }
      }
      launch(group);
      for (std::size_t p : group) {
        done_[p] = true;
        open.erase(std::find(open.begin(), open.end(), p));
      }
    }
  }

 private:
  // Pieces ahead that a launch may take along: a look at a layer or so, which keeps lifetimes short.
  static constexpr std::size_t kHorizon = 24;

  // What a piece waits for: the writers of what it reads; and one that writes a parameter or a state, for all that read it before.
  void order() {
    std::map<ValueId, std::set<std::size_t>> writers, readers;
    auto reached = [&](const Piece& piece, Value v) {
      const KernelPlan::Pack* pack = piece.packed ? pack_led_by(plan_, v) : nullptr;
      return pack ? pack->values : std::vector<Value>{v};
    };
    auto each = [&](auto visit) {
      for (std::size_t p = 0; p < pieces_.size(); ++p)
        for (const codegen::PartArg& a : pieces_[p].part.args)
          for (Value v : reached(pieces_[p], pieces_[p].values[static_cast<std::size_t>(a.arg)])) visit(p, a.written, v);
    };
    each([&](std::size_t p, bool written, Value v) { (written ? writers : readers)[id(v)].insert(p); });
    waits_.resize(pieces_.size());
    each([&](std::size_t p, bool written, Value v) {
      if (graph_.node(v).op != Op::kInput) {
        if (!written) waits_[p].insert(writers[id(v)].begin(), writers[id(v)].end());
        return;
      }
      for (std::size_t other : writers[id(v)])
        if (other < p) waits_[p].insert(other);
      for (std::size_t other : readers[id(v)])
        if (written && other < p) waits_[p].insert(other);
    });
    for (std::size_t p = 0; p < pieces_.size(); ++p) waits_[p].erase(p);
  }

  bool ready(std::size_t p) const {
    return std::all_of(waits_[p].begin(), waits_[p].end(), [&](std::size_t w) { return done_[w]; });
  }

  std::size_t first(const std::vector<std::size_t>& open) const {
    for (const bool late : {false, true})
      for (const std::size_t p : open)
        if (pieces_[p].late == late && ready(p)) return p;
    TG_CHECK(false);
  }

  std::vector<const Piece*> members(const std::vector<std::size_t>& group) const {
    std::vector<const Piece*> result;
    for (std::size_t p : group) result.push_back(&pieces_[p]);
    return result;
  }

  bool fits(const std::vector<std::size_t>& group) const {
    const std::vector<const Piece*> pieces = members(group);
    std::vector<const codegen::Part*> parts;
    for (const Piece* piece : pieces) {
      if (piece->part.workgroup_size != pieces[0]->part.workgroup_size) return false;
      parts.push_back(&piece->part);
    }
    const Bindings bindings(plan_, pieces);
    return bindings.consistent() && static_cast<int>(bindings.bases().size()) <= caps_.max_args &&
           codegen::shared_floats(parts) <= caps_.workgroup_floats;
  }

  // Activations lie in one allocation, which nearly every launch writes somewhere, and so do packed gradients.
  bool in_arena(Value v) const {
    if (graph_.node(v).op == Op::kInput) return false;
    for (const auto& [value, target] : plan_.in_place)
      if (value == v) return false;
    return std::none_of(plan_.copies.begin(), plan_.copies.end(), [&](const KernelPlan::Copy& c) { return c.from == v; });
  }

  void launch(const std::vector<std::size_t>& group) {
    const Bindings bindings(plan_, members(group));
    const std::vector<Value> bases = bindings.bases();
    std::vector<codegen::Part> parts;
    std::map<std::pair<ValueId, std::int64_t>, std::int64_t> touched;
    PlanKernel out;
    for (std::size_t p : group) {
      Piece& piece = pieces_[p];
      for (codegen::PartArg& a : piece.part.args) {
        const Value v = piece.values[static_cast<std::size_t>(a.arg)];
        a.f16 = graph_.type(v).dtype == DType::kF16;
        touched[{id(v), a.offset}] = a.f16 ? 2 * a.elements : 4 * a.elements;
        const Bindings::Place& place = bindings.place(v);
        a.arg = static_cast<int>(std::find(bases.begin(), bases.end(), place.base) - bases.begin());
        a.offset += place.offset;
      }
      out.flops += piece.flops;
      if (out.label.empty()) out.label = piece.label;
      parts.push_back(std::move(piece.part));
    }
    codegen::Finished f =
        codegen::finish(parts, [&](int arg) { return in_arena(bases[static_cast<std::size_t>(arg)]); }, caps_);
    out.kernel.kind = KernelKind::kShader;
    out.kernel.shader = std::move(f.shader);
    for (std::size_t b = 0; b < f.args.size(); ++b) {
      out.args.push_back(bases[static_cast<std::size_t>(f.args[b])]);
      out.writes.push_back(out.kernel.shader.args[b].written);
    }
    for (const auto& [place, bytes] : touched) out.bytes += static_cast<double>(bytes);
    out.grid = f.grid;
    plan_.kernels.push_back(std::move(out));
  }

  KernelPlan& plan_;
  const Graph& graph_;
  const Caps& caps_;
  std::vector<Piece> pieces_;
  std::vector<std::set<std::size_t>> waits_;
  std::vector<bool> done_;
};

}  // namespace

const KernelPlan::Pack* pack_led_by(const KernelPlan& plan, Value v) {
  for (const KernelPlan::Pack& p : plan.packs)
    if (p.values[0] == v) return &p;
  return nullptr;
}

int binding_count(const KernelPlan& plan, const std::vector<const Piece*>& pieces) {
  return static_cast<int>(Bindings(plan, pieces).bases().size());
}

void schedule(KernelPlan& plan, std::vector<Piece> pieces, const Caps& caps) {
  plan.kernels.clear();
  Scheduler(plan, std::move(pieces), caps).run();
}

}  // namespace tabgrad
