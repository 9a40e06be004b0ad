// What a GPT is made of: its sizes and options, the presets, and their names.
//
// Does: checks them, knows the eight presets of the benchmarks, counts FLOPs. Does not: build graphs (models/gpt.h).
#pragma once

#include <string>
#include <vector>

#include "nn/transformer.h"

namespace tabgrad {

enum class PositionKind : unsigned char {
  kLearned,
  kSinusoidal,  // Vaswani et al. 2017, added to the embedding
  kRope,        // queries and keys turned (nn/attention.h)
  kAlibi,       // a penalty on distance
  kNone,
};

struct GptConfig {
  std::string name;
  std::int64_t layers = 2, width = 48, heads = 3, context = 32, batch = 16;
  std::int64_t vocabulary = 256;
  std::int64_t kv_heads = 0;   // 0: as many as heads
  std::int64_t mlp_width = 0;  // 0: 4·width
  PositionKind positions = PositionKind::kLearned;
  NormKind norm = NormKind::kLayerNorm;
  MlpKind mlp = MlpKind::kGelu;
  double norm_eps = 1e-5;
  bool tied = true;  // the head is the token embedding
  bool qk_norm = false;
  double dropout = 0;          // of the embedding and of what each sub-layer adds
  double label_smoothing = 0;  // ε: the target is (1−ε)·one-hot + ε/V (Szegedy et al. 2016)
};
// Throws Error naming the option and what is allowed.
void check_gpt(const GptConfig& config);

// The eight presets, smallest first: tiny, small, medium, large, xl, huge, massive, mega.
const std::vector<GptConfig>& gpt_presets();
// Throws Error with the known names.
const GptConfig& gpt_preset(const std::string& name);

// FLOPs of a train step by the usual formula: 6·tokens·(12·L·d² + V·d) for the matrices of the standard shape, and for attention
// 6·L·B·T·(T+1)·d: two products forward and four backward over the T·(T+1)/2 pairs that the causal mask leaves.
double gpt_step_flops(const GptConfig& config);

// "learned", "sinusoidal", "rope", "alibi", "none"; "layer_norm", "rms_norm"; "gelu", "gelu_tanh", "swiglu", "relu2".
// Throw Error on another word.
PositionKind position_kind_from(const std::string& word);
const char* position_kind_name(PositionKind kind);
NormKind norm_kind_from(const std::string& word);
const char* norm_kind_name(NormKind kind);
MlpKind mlp_kind_from(const std::string& word);
const char* mlp_kind_name(MlpKind kind);

}  // namespace tabgrad
