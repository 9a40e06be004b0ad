// Around the attention composite: heads taken apart and packed, rotary positions, ALiBi, and one token against a cache.
//
// Packed projections are (B,T,(H+2·KV)·D): query heads, then key heads, then value heads, as graph/compose takes them.
#pragma once

#include <string>

#include "nn/module.h"

namespace tabgrad {

struct Heads {
  int query = 1, key = 1;  // key heads serve query/key query heads each (grouped-query attention, Ainslie et al. 2023)
};

struct SplitHeads {
  Tensor q, k, v;  // (B,T,H,D), (B,T,KV,D), (B,T,KV,D)
};
SplitHeads split_heads(Tensor qkv, Heads heads);
Tensor pack_heads(const SplitHeads& parts);

// cos and sin of position·10000^(−2i/D), (T,D/2) each (Su et al. 2021). Made in double on the CPU: GPUs' sin may err by 2⁻¹¹.
struct RopeTables {
  HostTensor cos, sin;
};
RopeTables rope_tables(std::int64_t positions, std::int64_t head_dim);
// x (B,T,H,D), tables (T,D/2): pairs are (i, i + D/2), as in GPT-NeoX and Llama.
Tensor rotate(Tensor x, Tensor cos, Tensor sin);

// What causal attention weighs each position with: softmaxed scores (B,H,T,T), written out; alibi: with the penalty below.
Tensor attention_weights(Tensor qkv, Heads heads, bool alibi);

// Causal attention with a penalty of slope·distance on each score (Press et al. 2022), slope of head h = 2^(−8(h+1)/H).
// Writes the T×T scores: a target that claims plain attention does not claim this.
Tensor alibi_attention(Tensor qkv, Heads heads);

// Attention of one new token (qkv of B = T = 1) over the keys and values of all positions so far. State buffers
// "cache.<layer>.k" and ".v" (KV,T,D) hold them; the token's own are stored at `position` (i32, (1)).
Tensor attend_to_cache(const std::string& layer, Tensor qkv, Heads heads, std::int64_t context, Tensor position, bool alibi);
// Causal attention of a whole text (B = 1) that also leaves its keys and values in the cache, for attend_to_cache to go on.
Tensor attend_and_fill_cache(const std::string& layer, Tensor qkv, Heads heads, bool alibi);

}  // namespace tabgrad
