// Claimed optimizers over packed parameters: p, g and the states are one long array each.
#include "codegen/emit.h"

namespace tabgrad::codegen {
namespace {

constexpr int kGroup = 128;  // invocations, of four numbers each

}  // namespace

// Arguments: clip scale, p, g, states; all that the planner has packed (plan/pack.cc). Weight decay by segment: arg_dims[1 + i]
// holds the packed parameters' ends, weight_decay their values.
Part optimizer_part(const Kernel& k, const std::vector<ArgInfo>& info, const std::vector<std::string>& uniforms) {
  const bool sgd = k.composite == Composite::kSgd;
  const CompositeAttrs& a = k.attrs;
  Part part;
  part.name = sgd ? "sgd" : "adam";
  const std::int64_t n = info[1].elements / 4;
  part.workgroup_size = kGroup;
  part.workgroups = ceil_div(n, kGroup);
  name_arg(part, info, "scale", 0, false);
  name_arg(part, info, "p", 1, true, true);
  name_arg(part, info, "g", 2, false, true);
  if (!sgd) name_arg(part, info, "m", 3, true, true);
  name_arg(part, info, "v", sgd ? 3 : 4, true, true);
  auto uniform = [&](const char* name) {
    const auto at = std::find(uniforms.begin(), uniforms.end(), name);
    TG_CHECK(at != uniforms.end());
    return "tg_uniform(" + std::to_string(at - uniforms.begin()) + "u)";
  };
  std::string& s = part.body;
  s += "let i = i32(wg * " + std::to_string(kGroup) + "u + lid);\nif (i < " + std::to_string(n) + ") {\n";
  s += "var decay = " + number(k.weight_decay.back()) + ";\n";
  for (std::size_t d = k.weight_decay.size() - 1; d-- > 0;)
    s += "if (i < " + std::to_string(k.arg_dims[0][d] / 4) + ") { decay = " + number(k.weight_decay[d]) + "; }\n";
  s += "let lr = " + uniform("lr") + ";\nvar p = $p[i];\nvar g = $g[i] * $scale[0];\n";
  if (sgd) {
    s += "g += p * decay;\n";
    if (a.momentum == 0) {
      s += "p -= lr * g;\n";
    } else {
      s += "let v = $v[i] * " + number(a.momentum) + " + g;\n$v[i] = v;\n";
      s += a.nesterov ? "p -= lr * (g + v * " + number(a.momentum) + ");\n" : std::string("p -= lr * v;\n");
    }
  } else {
    s += a.decoupled_decay ? "p -= p * (lr * decay);\n" : "g += p * decay;\n";
    s += "let m = $m[i] * " + number(a.beta1) + " + g * " + number(1.0f - a.beta1) + ";\n";
    s += "let v = $v[i] * " + number(a.beta2) + " + g * g * " + number(1.0f - a.beta2) + ";\n";
    s += "$m[i] = m;\n$v[i] = v;\n";
    s += "p -= (lr / " + uniform("bias1") + ") * m / (sqrt(v) / sqrt(" + uniform("bias2") + ") + " + number(a.eps) + ");\n";
  }
  s += "$p[i] = p;\n}\n";
  return part;
}

}  // namespace tabgrad::codegen
