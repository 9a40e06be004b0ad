// The planner's passes and what goes from one to the next. pipeline.cc lists them in order.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "graph/graph.h"
#include "kernel/caps.h"
#include "kernel/kernel.h"
#include "plan/plan.h"

namespace tabgrad {

// ---- graph → graph ----
// Decomposes the composites that the target does not claim.
Graph claim(const Graph& graph, const Caps& caps);
// Folds constants, drops identities, merges equal nodes, drops dead ones.
Graph simplify(const Graph& graph);

// ---- graph → kernels ----
// A value as a key of maps and sets.
using ValueId = std::pair<int, int>;
inline ValueId id(Value v) { return {v.node, v.out}; }

struct PlanKernel {
  Kernel kernel;
  std::vector<Value> args;   // stored values (never a reshape: its base stands for it); invalid where none is given
  std::vector<bool> writes;  // for each argument; an argument may be read and written (in-place optimizers)
  std::string label;
  double flops = 0;
  std::array<std::uint32_t, 3> grid{1, 1, 1};  // of shaders
  int first_row = 0, index = 0;                // of fragment shaders
  double bytes = 0;                            // read and written, of shaders
  bool packed = false;                         // an argument that leads a pack stands for all of it
};
struct KernelPlan {
  Graph graph;
  std::vector<PlanKernel> kernels;                // in an order that can run
  std::vector<std::pair<Value, Value>> in_place;  // {value, the input whose buffer it is written to}
  struct Copy {                                   // after all kernels: buffer of `to` (or of output `name`) = value;
    Value from, to;                               // to == from: the value's own buffer is the output
    std::string name;
  };
  std::vector<Copy> copies;
  std::vector<std::pair<Value, Value>> swaps;  // {value, the input that has it after the run}: they exchange buffers
  struct Pack {  // values side by side in one allocation
    std::vector<Value> values;
    std::vector<std::int64_t> offsets;
    std::int64_t elements = 0;
    bool gradients = false;  // activations of this entry; otherwise parameters or states
  };
  std::vector<Pack> packs;
};

// The value whose buffer holds v: looks through reshapes.
Value base_of(const Graph& graph, Value v);

// Decides which values are stored and lowers everything between them into kernels. Appends uniforms' names.
KernelPlan form_kernels(const Graph& graph, const Caps& caps, std::vector<std::string>& uniforms);
// Attaches elementwise kernels to the products, and to the elementwise kernels, that feed them.
void merge_kernels(KernelPlan& plan, const Caps& caps);
// Drops sizes of 1 and joins dimensions that every access walks as one; puts reductions into their canonical order.
void collapse(Kernel& kernel);
// Copies between buffers become exchanges where the target has it so, otherwise kernels; outputs that are bound to their values remain.
void lower_copies(KernelPlan& plan, const Caps& caps);
// The kernel that copies one value's buffer to another's.
PlanKernel copy_kernel(const Graph& graph, Value from, Value to);
// Packs the parameters, gradients and states of each optimizer kernel.
void pack_optimizers(KernelPlan& plan, const Caps& caps);
// Decides which activations are stored as f16 (plan/narrow.cc).
void narrow(KernelPlan& plan);
// Turns every kernel into shaders, with scratch values between them, for targets that run text; draw: over textures.
void draw(KernelPlan& plan, const Caps& caps);
void shade(KernelPlan& plan, const std::vector<std::string>& uniforms, const Caps& caps);

// ---- kernels → Program ----
// Adds the plan to the program as one entry: buffers, arena, launches.
void emit_entry(const KernelPlan& plan, const std::string& name, const Caps& caps, Program& program);
// Asserts what the passes promise: arguments written before they are read, no two live activations in one place.
void verify_entry(const Program& program, const Entry& entry);

}  // namespace tabgrad
