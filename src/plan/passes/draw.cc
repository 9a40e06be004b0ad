// Kernels → fragment shaders, for targets whose buffers are textures: each kernel of the IR becomes one or more passes, with scratch
// values between them. The sibling of shade.cc, before memory planning for the same reason.
#include <algorithm>

#include "codegen/glsl/glsl.h"
#include "plan/lower.h"
#include "plan/passes.h"

namespace tabgrad {
namespace {

class Drawing {
 public:
  Drawing(KernelPlan& plan, const Caps& caps) : plan_(plan), graph_(plan.graph), caps_(caps) {}

  void run() {
    std::vector<PlanKernel> kernels = std::move(plan_.kernels);
    plan_.kernels.clear();
    for (const PlanKernel& k : kernels) lower(k);
  }

 private:
  void check_size(const codegen::Pass& pass, const PlanKernel& k) const {
    for (const ShaderArg& a : pass.shader.args) {
      const TextureShape shape = texture_shape(a.elements);
      if (shape.width > caps_.max_texture_dim)
        fail("[compile] '", k.label, "' needs a texture of ", shape.width, "×", shape.height, " texels for ", a.elements,
             " numbers, and the device takes ", caps_.max_texture_dim, "×", caps_.max_texture_dim,
             ": lower the batch, the window or the model's size");
    }
  }

  // Ids lie in textures as f32: one that is no row of the table must not be rounded to one.
  static void check_ids(const PlanKernel& k) {
    constexpr std::int64_t kMostRows = std::int64_t{1} << 24;
    const std::vector<Dims>& d = k.kernel.arg_dims;
    const bool gather = k.kernel.kind == KernelKind::kGather;
    if (!gather && k.kernel.kind != KernelKind::kSegmentSum) return;
    if ((gather ? d[0] : d[2])[0] > kMostRows)
      fail("[compile] '", k.label, "' has a table of more than 2^24 rows, more than textures number");
  }

  void lower(const PlanKernel& k) {
    check_ids(k);
    std::vector<Value> values = k.args;
    const std::vector<codegen::ArgInfo> info = arg_infos(graph_, values);
    codegen::Passes drawn = codegen::draw(k.kernel, info, caps_);
    for (Dims& dims : drawn.scratch) values.push_back(scratch_value(graph_, std::move(dims)));
    for (codegen::Pass& pass : drawn.passes) {
      check_size(pass, k);
      PlanKernel out;
      out.kernel.kind = KernelKind::kShader;
      out.kernel.shader = std::move(pass.shader);
      for (std::size_t b = 0; b < pass.args.size(); ++b) {
        out.args.push_back(values[static_cast<std::size_t>(pass.args[b])]);
        out.writes.push_back(out.kernel.shader.args[b].written);
      }
      out.label = k.label;
      out.flops = pass.flops;
      out.grid = {static_cast<std::uint32_t>(pass.columns), static_cast<std::uint32_t>(pass.rows), 1};
      out.first_row = static_cast<int>(pass.first_row);
      out.index = pass.index;
      plan_.kernels.push_back(std::move(out));
    }
  }

  KernelPlan& plan_;
  Graph& graph_;
  const Caps& caps_;
};

}  // namespace

void draw(KernelPlan& plan, const Caps& caps) { Drawing(plan, caps).run(); }

}  // namespace tabgrad
