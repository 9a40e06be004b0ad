// The passes in order: the file to read first.
#include <algorithm>

#include "plan/passes.h"

namespace tabgrad {

Program compile(const std::vector<EntryGraph>& entries, const Caps& caps, const std::string& target) {
  Program program;
  program.target = target;
  for (const EntryGraph& entry : entries) {
    Graph graph = claim(entry.graph, caps);
    graph = simplify(graph);
    KernelPlan plan = form_kernels(graph, caps, program.uniforms);
    if (caps.fuse) merge_kernels(plan, caps);
    lower_copies(plan, caps);
    for (PlanKernel& k : plan.kernels) collapse(k.kernel);
    if (caps.max_texture_dim > 0) {
      draw(plan, caps);
    } else if (caps.shaders) {
      pack_optimizers(plan, caps);
      if (caps.f16) narrow(plan);
      shade(plan, program.uniforms, caps);
    }
    emit_entry(plan, entry.name, caps, program);
    verify_entry(program, program.entries.back());
  }
  const auto enables = [&](const char* feature) {
    return std::any_of(program.kernels.begin(), program.kernels.end(), [&](const Kernel& k) {
      return k.shader.text.find(std::string("enable ") + feature + ";") != std::string::npos;
    });
  };
  program.subgroups = enables("subgroups") ? caps.subgroups : 0;
  program.f16 = enables("f16");
  validate(program, "compile");
  return program;
}

}  // namespace tabgrad
