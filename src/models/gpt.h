// GPT: a decoder-only Transformer language model after GPT-2 (Radford et al. 2019): learned positions, pre-LayerNorm
// (eps 1e-5), fused Q/K/V projection with bias, exact-erf GELU, MLP of 4·d, head tied to the token embedding, no dropout. Every
// one of these is an option of GptConfig (models/gpt_config.h).
//
// Entries: train_step  in tokens i32 (B,T), targets i32 (B,T); out loss (mean negative log-likelihood in nats), grad_norm; updates
//          evaluate    eval.tokens, eval.targets (B,T); out eval.nll (B), each text's mean in nats, without dropout or smoothing
//          prefill     prefill.tokens (1,T), prefill.last (1): out prefill.logits (V) after token `last`; fills the key/value cache
//          decode      decode.token (1,1), decode.position (1): out decode.logits (V) after one more token; updates the cache
//          attention   (build_gpt_attention) attention.tokens (1,T); out attention.weights (H,T,T) of one layer, rows sum to 1
//          gradients   (build_gpt_gradients) tokens, targets; out loss and "grad.<parameter>" for each parameter
// What lies behind `last` in prefill.tokens is of no influence: its keys and values are overwritten before they are attended to.
//
// Parameters in order, names as the golden data's (L layers; h0 … h<L−1>; KV heads serve H/KV query heads each; D = d/H):
//   tok_emb.w (V,d), pos_emb.w (T,d) when learned,
//   h0.ln1.g, h0.ln1.b (d), h0.attn.qkv.w (d,d+2·KV·D) columns q|k|v, h0.attn.qkv.b, h0.attn.q_norm.g, h0.attn.k_norm.g (D) with
//   qk_norm, h0.attn.proj.w (d,d), h0.attn.proj.b (d), h0.ln2.g, h0.ln2.b (d), h0.mlp.fc.w (d,4d), h0.mlp.fc.b (4d),
//   h0.mlp.out.w (4d,d), h0.mlp.out.b (d), …, ln_f.g, ln_f.b (d), head.w (V,d) unless tied.  No .b of norms with RMS norm.
// Initial values: N(0, 0.02); residual projections (attn.proj.w, mlp.out.w) N(0, 0.02/√(2L)); gains 1, biases 0.
// The optimizer decays matrices and embeddings only.
#pragma once

#include "models/built_model.h"
#include "models/gpt_config.h"
#include "models/lm_entries.h"

namespace tabgrad {

// AdamW β 0.9/0.95, eps 1e-8, weight decay 0.1; learning rate and clipping that go with it.
OptimizerConfig gpt_optimizer();
inline constexpr double kGptLearningRate = 3e-4, kGptClipNorm = 1.0;

// The model's body, unchecked, for models/lm_entries.h.
LogitsOf gpt_logits(const GptConfig& config);

// train_step and evaluate. accumulate > 1: instead of train_step the entries accumulate (out loss) and apply (out grad_norm), for a
// step over that many batches (nn/train_step.h).
BuiltModel build_gpt(const GptConfig& config, const OptimizerConfig& optimizer = gpt_optimizer(),
                     double clip_norm = kGptClipNorm, std::int64_t accumulate = 1);
// prefill and decode. for_sampling: their logits stay, for sampling_entry (models/lm_entries.h) beside them.
BuiltModel build_gpt_generation(const GptConfig& config, bool for_sampling = false);
// layer: from 0.
BuiltModel build_gpt_attention(const GptConfig& config, std::int64_t layer);
BuiltModel build_gpt_gradients(const GptConfig& config);

// In order, without building gradients.
std::vector<ParameterSpec> gpt_parameters(const GptConfig& config);
std::int64_t gpt_parameter_count(const GptConfig& config);

}  // namespace tabgrad
