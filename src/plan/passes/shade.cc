// Kernels → shaders: each kernel of the IR becomes one or more pieces of text, with scratch values between them; pieces that do
// not depend on each other share launches, since launches run one after another and most are too small to fill a GPU.
//
// Before memory planning, so that scratch lies in the arena like any activation. After it runners see shaders alone.
#include <algorithm>
#include <map>
#include <set>

#include "codegen/part.h"
#include "codegen/wgsl.h"
#include "plan/lower.h"
#include "plan/passes.h"

namespace tabgrad {
namespace {

using Id = std::pair<int, int>;
Id id(Value v) { return {v.node, v.out}; }

struct Piece {
  codegen::Part part;
  std::vector<Value> values;  // by the part's argument numbers
  std::string label;
  double flops = 0;
  bool packed = false;
};

class Shading {
 public:
  Shading(KernelPlan& plan, const std::vector<std::string>& uniforms, const Caps& caps)
      : plan_(plan), graph_(plan.graph), uniforms_(uniforms), caps_(caps) {}

  void run() {
    for (const PlanKernel& k : plan_.kernels) lower(k);
    plan_.kernels.clear();
    order();
    schedule();
  }

 private:
  // Activations lie in one allocation, which nearly every launch writes somewhere, and so do packed gradients.
  bool in_arena(Value v) const {
    if (graph_.node(v).op == Op::kInput) return false;
    for (const auto& [value, target] : plan_.in_place)
      if (value == v) return false;
    return std::none_of(plan_.copies.begin(), plan_.copies.end(), [&](const KernelPlan::Copy& c) { return c.from == v; });
  }

  void lower(const PlanKernel& k) {
    std::vector<Value> values = k.args;
    std::vector<codegen::ArgInfo> info = arg_infos(graph_, values);
    for (std::size_t a = 0; k.packed && a < values.size(); ++a)
      if (const KernelPlan::Pack* pack = pack_led_by(values[a])) info[a].elements = pack->elements;
    codegen::Parts parts = codegen::generate(k.kernel, info, uniforms_, caps_);
    for (const Dims& dims : parts.scratch) values.push_back(scratch_value(graph_, dims));
    double flops = k.flops;  // of the first piece
    for (codegen::Part& part : parts.parts) {
      pieces_.push_back({std::move(part), values, k.label, flops, k.packed});
      flops = 0;
    }
  }

  const KernelPlan::Pack* pack_led_by(Value v) const {
    for (const KernelPlan::Pack& p : plan_.packs)
      if (p.values[0] == v) return &p;
    return nullptr;
  }

  // What a piece waits for: the writers of what it reads; and one that writes a parameter or a state, for all that read it.
  void order() {
    std::map<Id, std::vector<std::size_t>> writers, readers;
    waits_.resize(pieces_.size());
    for (std::size_t p = 0; p < pieces_.size(); ++p) {
      const Piece& piece = pieces_[p];
      for (const codegen::PartArg& a : piece.part.args) {
        const Value v = piece.values[static_cast<std::size_t>(a.arg)];
        std::vector<Value> reached{v};
        if (const KernelPlan::Pack* pack = piece.packed ? pack_led_by(v) : nullptr) reached = pack->values;
        for (Value r : reached) {
          const bool input = graph_.node(r).op == Op::kInput;
          if (!a.written || input)
            for (std::size_t w : writers[id(r)]) waits_[p].insert(w);
          if (a.written && input)
            for (std::size_t w : readers[id(r)]) waits_[p].insert(w);
        }
      }
      for (const codegen::PartArg& a : piece.part.args) {
        const Value v = piece.values[static_cast<std::size_t>(a.arg)];
        std::vector<Value> reached{v};
        if (const KernelPlan::Pack* pack = piece.packed ? pack_led_by(v) : nullptr) reached = pack->values;
        for (Value r : reached) (a.written ? writers : readers)[id(r)].push_back(p);
      }
      waits_[p].erase(p);
    }
  }

  // In the order of the kernels as far as that can be; each launch takes along whatever else is ready and fits.
  void schedule() {
    std::vector<bool> done(pieces_.size(), false);
    auto ready = [&](std::size_t p) {
      return std::all_of(waits_[p].begin(), waits_[p].end(), [&](std::size_t w) { return done[w]; });
    };
    for (std::size_t first = 0; first < pieces_.size(); ++first) {
      if (done[first]) continue;
      std::vector<std::size_t> group{first};
      for (std::size_t p = first + 1; caps_.fuse && p < pieces_.size() && p < first + kHorizon; ++p) {
        if (done[p] || !ready(p)) continue;
        group.push_back(p);
        if (!fits(group)) group.pop_back();
      }
      launch(group);
      for (std::size_t p : group) done[p] = true;
    }
  }

  // Pieces ahead that a launch may take along: a look at a layer or so, which keeps lifetimes short.
  static constexpr std::size_t kHorizon = 24;

  bool fits(const std::vector<std::size_t>& group) const {
    struct Use {
      bool ids, vec4;
    };
    std::map<Id, Use> uses;
    std::vector<const codegen::Part*> parts;
    for (std::size_t p : group) {
      const Piece& piece = pieces_[p];
      if (piece.part.workgroup_size != pieces_[group[0]].part.workgroup_size) return false;
      parts.push_back(&piece.part);
      for (const codegen::PartArg& a : piece.part.args) {
        const auto [at, fresh] = uses.try_emplace(id(piece.values[static_cast<std::size_t>(a.arg)]), Use{a.ids, a.vec4});
        if (!fresh && at->second.vec4 != a.vec4) return false;
      }
    }
    return static_cast<int>(uses.size()) <= caps_.max_args && codegen::shared_floats(parts) <= caps_.workgroup_floats;
  }

  void launch(const std::vector<std::size_t>& group) {
    std::vector<codegen::Part> parts;
    std::vector<Value> values;
    PlanKernel out;
    for (std::size_t p : group) {
      Piece& piece = pieces_[p];
      for (codegen::PartArg& a : piece.part.args) {
        const Value v = piece.values[static_cast<std::size_t>(a.arg)];
        const auto found = std::find(values.begin(), values.end(), v);
        a.arg = static_cast<int>(found - values.begin());
        if (found == values.end()) values.push_back(v);
      }
      out.flops += piece.flops;
      if (out.label.empty()) out.label = piece.label;
      parts.push_back(std::move(piece.part));
    }
    codegen::Finished f =
        codegen::finish(parts, [&](int arg) { return in_arena(values[static_cast<std::size_t>(arg)]); }, caps_);
    out.kernel.kind = KernelKind::kShader;
    out.kernel.shader = std::move(f.shader);
    for (std::size_t b = 0; b < f.args.size(); ++b) {
      out.args.push_back(values[static_cast<std::size_t>(f.args[b])]);
      out.writes.push_back(out.kernel.shader.args[b].written);
      out.bytes += 4.0 * static_cast<double>(out.kernel.shader.args[b].elements);
    }
    out.grid = f.grid;
    plan_.kernels.push_back(std::move(out));
  }

  KernelPlan& plan_;
  Graph& graph_;
  const std::vector<std::string>& uniforms_;
  const Caps& caps_;
  std::vector<Piece> pieces_;
  std::vector<std::set<std::size_t>> waits_;
};

}  // namespace

void shade(KernelPlan& plan, const std::vector<std::string>& uniforms, const Caps& caps) {
  Shading(plan, uniforms, caps).run();
}

}  // namespace tabgrad
