// GPT: a decoder-only Transformer language model after GPT-2 (Radford et al. 2019): learned positions, pre-LayerNorm
// (eps 1e-5), fused Q/K/V projection with bias, exact-erf GELU, MLP of 4·d, head tied to the token embedding, no dropout.
//
// Entries: train_step  in tokens i32 (B,T), targets i32 (B,T); out loss (mean negative log-likelihood in nats), grad_norm; updates
//          evaluate    the same inputs; out eval.loss
//          gradients   (build_gpt_gradients) the same inputs; out loss and "grad.<parameter>" for each parameter
//
// Parameters in order, names as the golden data's (L layers; h0 … h<L−1>):
//   tok_emb.w (V,d), pos_emb.w (T,d),
//   h0.ln1.g, h0.ln1.b (d), h0.attn.qkv.w (d,3d) columns q|k|v, h0.attn.qkv.b (3d), h0.attn.proj.w (d,d), h0.attn.proj.b (d),
//   h0.ln2.g, h0.ln2.b (d), h0.mlp.fc.w (d,4d), h0.mlp.fc.b (4d), h0.mlp.out.w (4d,d), h0.mlp.out.b (d), …, ln_f.g, ln_f.b (d)
// Initial values: N(0, 0.02); residual projections (attn.proj.w, mlp.out.w) N(0, 0.02/√(2L)); gains 1, biases 0.
// The optimizer decays matrices and embeddings only.
#pragma once

#include <string>
#include <vector>

#include "models/built_model.h"

namespace tabgrad {

struct GptConfig {
  std::string name;
  std::int64_t layers = 2, width = 48, heads = 3, context = 32, batch = 16;
  std::int64_t vocabulary = 256;
};

// The eight presets, smallest first: tiny, small, medium, large, xl, huge, massive, mega.
const std::vector<GptConfig>& gpt_presets();
// Throws Error with the known names.
const GptConfig& gpt_preset(const std::string& name);

// AdamW β 0.9/0.95, eps 1e-8, weight decay 0.1; learning rate and clipping that go with it.
OptimizerConfig gpt_optimizer();
inline constexpr double kGptLearningRate = 3e-4, kGptClipNorm = 1.0;

BuiltModel build_gpt(const GptConfig& config, const OptimizerConfig& optimizer = gpt_optimizer(),
                     double clip_norm = kGptClipNorm);
BuiltModel build_gpt_gradients(const GptConfig& config);

// 12·L·d² + 13·L·d + (V+T)·d + 2·d, from the shapes above.
std::int64_t gpt_parameter_count(const GptConfig& config);

// FLOPs of a train step by the usual formula: 6·tokens·(12·L·d² + V·d) for the matrices, and for attention 6·L·B·T·(T+1)·d: two
// products forward and four backward over the T·(T+1)/2 pairs that the causal mask leaves.
double gpt_step_flops(const GptConfig& config);

}  // namespace tabgrad
