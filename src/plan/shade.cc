// Kernels → shaders: each kernel of the IR becomes one or more launches of text, with scratch values between them.
//
// Before memory planning, so that scratch lies in the arena like any activation. After it runners see shaders alone.
#include <algorithm>

#include "codegen/part.h"
#include "codegen/wgsl.h"
#include "plan/passes.h"

namespace tabgrad {
namespace {

class Shading {
 public:
  Shading(KernelPlan& plan, const std::vector<std::string>& uniforms, const Caps& caps)
      : plan_(plan), graph_(plan.graph), uniforms_(uniforms), caps_(caps) {}

  void run() {
    std::vector<PlanKernel> kernels = std::move(plan_.kernels);
    plan_.kernels.clear();
    for (const PlanKernel& k : kernels) lower(k);
  }

 private:
  Value new_value(Dims dims) {
    Node node;
    node.outputs = {{std::move(dims), DType::kF32}};
    graph_.nodes.push_back(std::move(node));
    return {static_cast<int>(graph_.nodes.size()) - 1, 0};
  }

  // Activations lie in one allocation, which nearly every launch writes somewhere, and so do packed gradients.
  bool in_arena(Value v) const {
    if (graph_.node(v).op == Op::kInput) return false;
    for (const auto& [value, target] : plan_.in_place)
      if (value == v) return false;
    return std::none_of(plan_.copies.begin(), plan_.copies.end(), [&](const KernelPlan::Copy& c) { return c.from == v; });
  }

  void lower(const PlanKernel& k) {
    std::vector<codegen::ArgInfo> info;
    std::vector<Value> values = k.args;
    for (std::size_t a = 0; a < values.size(); ++a) {
      codegen::ArgInfo i;
      if (values[a].valid()) {
        i.elements = num_elements(graph_.dims(values[a]));
        for (const KernelPlan::Pack& p : plan_.packs)
          if (k.packed && p.values[0] == values[a]) i.elements = p.elements;
        i.ids = graph_.type(values[a]).dtype == DType::kI32;
        const auto first = std::find(values.begin(), values.end(), values[a]) - values.begin();
        if (first < static_cast<std::ptrdiff_t>(a)) i.same_as = static_cast<int>(first);
      }
      info.push_back(i);
    }
    const codegen::Parts parts = codegen::generate(k.kernel, info, uniforms_, caps_);
    for (const Dims& dims : parts.scratch) values.push_back(new_value(dims));
    for (const codegen::Part& part : parts.parts) {
      codegen::Finished f = codegen::finish(
          {part}, [&](int arg) { return in_arena(values[static_cast<std::size_t>(arg)]); }, caps_);
      PlanKernel out;
      out.kernel.kind = KernelKind::kShader;
      out.kernel.shader = std::move(f.shader);
      for (std::size_t b = 0; b < f.args.size(); ++b) {
        out.args.push_back(values[static_cast<std::size_t>(f.args[b])]);
        out.writes.push_back(out.kernel.shader.args[b].written);
      }
      out.label = k.label;
      out.flops = part.flops;
      out.grid = f.grid;
      plan_.kernels.push_back(std::move(out));
    }
  }

  KernelPlan& plan_;
  Graph& graph_;
  const std::vector<std::string>& uniforms_;
  const Caps& caps_;
};

}  // namespace

void shade(KernelPlan& plan, const std::vector<std::string>& uniforms, const Caps& caps) { Shading(plan, uniforms, caps).run(); }

}  // namespace tabgrad
