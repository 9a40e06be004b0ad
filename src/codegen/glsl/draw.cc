// Which emitter makes the passes of which kernel.
#include "codegen/glsl/fragment.h"

namespace tabgrad::codegen {

Passes draw(const Kernel& k, const std::vector<ArgInfo>& args, const Caps& caps) {
  switch (k.kind) {
    case KernelKind::kMap: return map_passes(k, args);
    case KernelKind::kReduce: return reduce_passes(k, args);
    case KernelKind::kContract: return contract_passes(k, args, caps);
    case KernelKind::kGather: return gather_passes(k, args);
    case KernelKind::kSegmentSum: return segment_sum_passes(k, args);
    case KernelKind::kComposite:
      TG_CHECK(k.composite == Composite::kLstm || k.composite == Composite::kGru);  // webgl_caps() claims no other
      return recurrent_passes(k, args, caps);
    case KernelKind::kShader: break;
  }
  TG_CHECK(false);
}

}  // namespace tabgrad::codegen
