// The pre-norm Transformer block that GPT and the forecaster share (Xiong et al. 2020: normalise before each sub-layer,
// so that the residual path stays clean).
#pragma once

#include <functional>
#include <string>

#include "nn/attention.h"
#include "nn/module.h"

namespace tabgrad {

enum class NormKind : unsigned char { kLayerNorm, kRmsNorm };
enum class MlpKind : unsigned char {
  kGelu,      // d → h → d, exact GELU
  kGeluTanh,  // the same with GELU's tanh approximation, as GPT-2 was trained
  kSwiglu,    // (silu(x·W₁) ⊙ x·W₂)·W₃ (Shazeer 2020); mlp.fc.w holds W₁ and W₂ side by side
  kRelu2,     // squared ReLU (So et al. 2021)
};

struct BlockOptions {
  Heads heads;
  Init init;           // of the projections that read the residual stream: attn.qkv.w, mlp.fc.w
  Init residual_init;  // of those that add to it: attn.proj.w, mlp.out.w
  double dropout = 0;  // on what each sub-layer adds
  // Only the last token goes on after attention, and (B,1,d) comes out: all that a model needs of its last block when it
  // predicts from the last token.
  bool last_token_only = false;
  NormKind norm = NormKind::kLayerNorm;
  double norm_eps = 1e-5;
  MlpKind mlp = MlpKind::kGelu;
  std::int64_t mlp_width = 0;  // h; 0: 4·d
  bool qk_norm = false;  // RMS norm of each query and key head (Henry et al. 2020), gains "attn.q_norm.g", "attn.k_norm.g"
  Tensor rope_cos{}, rope_sin{};  // (T,D/2); invalid: no rotary positions
  // What attention does with the packed projections (nn/attention.h); empty: causal attention over x alone.
  std::function<Tensor(Tensor qkv)> mix{};
};

// x (B,T,d) → (B,T,d): x + attention(norm(x)), then x + mlp(norm(x)).
// Parameters "<name>.ln1.g" … in the order of models/gpt.h.
Tensor transformer_block(Builder& builder, const std::string& name, Tensor x, const BlockOptions& options);

// Layer norm ("<name>.g", "<name>.b") or RMS norm ("<name>.g") over the last dimension.
Tensor norm(Builder& builder, const std::string& name, Tensor x, NormKind kind, double eps);

}  // namespace tabgrad
