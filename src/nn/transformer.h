// The pre-LayerNorm Transformer block that GPT and the forecaster share (Xiong et al. 2020: normalise before each sub-layer,
// so that the residual path stays clean).
#pragma once

#include <string>

#include "nn/module.h"

namespace tabgrad {

struct BlockOptions {
  int heads = 1;
  Init init;           // of the projections that read the residual stream: attn.qkv.w, mlp.fc.w
  Init residual_init;  // of those that add to it: attn.proj.w, mlp.out.w
  double dropout = 0;  // on what each sub-layer adds
  // Only the last token goes on after attention, and (B,1,d) comes out: all that a model needs of its last block when it
  // predicts from the last token.
  bool last_token_only = false;
};

// x (B,T,d) → (B,T,d): x + attention(norm(x)), then x + mlp(norm(x)), attention causal, MLP d → 4d → d with exact GELU.
// Parameters "<name>.ln1.g" … in the order of models/gpt.h.
Tensor transformer_block(Builder& builder, const std::string& name, Tensor x, const BlockOptions& options);

}  // namespace tabgrad
