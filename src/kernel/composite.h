// Composite operations: defined in graph/compose/ as a decomposition into primitives (the truth and the test), and
// claimed by a target that has a hand-tuned kernel for them.
//
// A composite's gradient is a composite too (Node::grad): inputs = forward inputs, forward outputs, gradient of output 0;
// outputs = gradients of the differentiable inputs in order. Its decomposition is the autodiff of the forward one.
#pragma once

#include <cstdint>
#include <string>

#include "base/error.h"

namespace tabgrad {

enum class Composite : unsigned char {
  kSoftmax,       // x (R,C) → y
  kLayerNorm,     // x (R,C), gamma (C), beta (C) → y, mean (R), rstd (R)
  kRmsNorm,       // x (R,C), gamma (C) → y, rstd (R)
  kCrossEntropy,  // logits (R,C), target ids (R) → nll (R), lse (R)
  kAttention,     // qkv (B,T,(H+2·KV)·D) → out (B,T,H·D), lse (B,H,T)
  kLstm,          // xw (T,B,4H), wh (H,4H), h0 (B,H), c0 (B,H) → h (T,B,H), gates (T,B,4H), c (T,B,H)
  kGru,           // xw (T,B,3H), wh (H,3H), bh (3H), h0 (B,H) → h (T,B,H), gates (T,B,3H), hn (T,B,H)
  kSumSquares,    // x1, x2, … → Σ x² over all, scalar; no gradient
  kSgd,           // p, g, scale, lr, v → p', v'; no gradient
  kAdam,          // p, g, scale, lr, bias1, bias2, m, v → p', m', v'; no gradient
};
inline constexpr int kCompositeCount = 10;

struct CompositeAttrs {
  // attention
  std::int32_t heads = 0, kv_heads = 0;
  bool causal = false;
  float scale = 1.0f;
  // norms, optimizers
  float eps = 0.0f;
  // GRU
  bool reset_after = true;
  // optimizers
  float beta1 = 0, beta2 = 0, momentum = 0, weight_decay = 0;
  bool nesterov = false, decoupled_decay = false;
  bool operator==(const CompositeAttrs&) const = default;
};

inline const char* composite_name(Composite composite) {
  switch (composite) {
    case Composite::kSoftmax: return "softmax";
    case Composite::kLayerNorm: return "layer_norm";
    case Composite::kRmsNorm: return "rms_norm";
    case Composite::kCrossEntropy: return "cross_entropy";
    case Composite::kAttention: return "attention";
    case Composite::kLstm: return "lstm";
    case Composite::kGru: return "gru";
    case Composite::kSumSquares: return "sum_squares";
    case Composite::kSgd: return "sgd";
    case Composite::kAdam: return "adam";
  }
  TG_CHECK(false);
}

}  // namespace tabgrad
