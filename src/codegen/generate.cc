// Which emitter makes the text of which kernel.
#include "codegen/emit.h"

namespace tabgrad::codegen {

Parts generate(const Kernel& k, const std::vector<ArgInfo>& args, const std::vector<std::string>&, const Caps& caps) {
  switch (k.kind) {
    case KernelKind::kMap: return {{map_part(k, args)}, {}};
    case KernelKind::kReduce: return reduce_parts(k, args);
    case KernelKind::kContract: return contract_parts(k, args, caps);
    case KernelKind::kGather: return {{gather_part(k, args)}, {}};
    case KernelKind::kSegmentSum: return {{segment_sum_part(k, args)}, {}};
    case KernelKind::kComposite:
    case KernelKind::kShader: break;
  }
  TG_CHECK(false);
}

}  // namespace tabgrad::codegen
