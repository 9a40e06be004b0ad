// Which emitter makes the text of which kernel.
#include "codegen/emit.h"

namespace tabgrad::codegen {
namespace {

Parts composite_parts(const Kernel& k, const std::vector<ArgInfo>& args, const std::vector<std::string>& uniforms,
                      const Caps& caps) {
  switch (k.composite) {
    case Composite::kSoftmax: return softmax_parts(k, args, caps);
    case Composite::kLayerNorm:
    case Composite::kRmsNorm: return norm_parts(k, args, caps);
    case Composite::kCrossEntropy: return cross_entropy_parts(k, args, caps);
    case Composite::kAttention: return attention_parts(k, args);
    case Composite::kLstm:
    case Composite::kGru: return recurrent_parts(k, args, caps);
    case Composite::kSumSquares: return sum_squares_parts(k, args, caps);
    case Composite::kSgd:
    case Composite::kAdam: return {{optimizer_part(k, args, uniforms)}, {}};
  }
  TG_CHECK(false);
}

}  // namespace

Parts generate(const Kernel& k, const std::vector<ArgInfo>& args, const std::vector<std::string>& uniforms, const Caps& caps) {
  switch (k.kind) {
    case KernelKind::kMap: return {{map_part(k, args)}, {}};
    case KernelKind::kReduce: return reduce_parts(k, args);
    case KernelKind::kContract: return contract_parts(k, args, caps);
    case KernelKind::kGather: return {{gather_part(k, args)}, {}};
    case KernelKind::kSegmentSum: return {{segment_sum_part(k, args)}, {}};
    case KernelKind::kComposite: return composite_parts(k, args, uniforms, caps);
    case KernelKind::kShader: break;
  }
  TG_CHECK(false);
}

}  // namespace tabgrad::codegen
