// LSTM and GRU language models: the token's embedding, layers of `width` units one above the other, and a head.
//
// Of GptConfig they take name, layers, width, context, batch, vocabulary, tied, dropout, label_smoothing. A window of `context`
// tokens starts from zero states in training; in generation the states are carried on without a limit.
//
// Entries: as of models/gpt.h; in place of a key/value cache the states "cache.<layer>.h" and, of an LSTM, "cache.<layer>.c" (1,U):
//          prefill     prefill.tokens (1,T), prefill.last (1): out prefill.logits (V) after token `last`, from zero states
//          decode      decode.token (1,1): out decode.logits (V) after one more token
//
// Parameters in order (U = width, layer names lstm0 … or gru0 …): tok_emb.w (V,U), then each layer's (nn/recurrent.h),
// head.w (V,U) unless tied. Initial values: the embedding N(0, 1/U), read times √U, so that inputs are of size 1 and logits of a
// tied head too; head.w uniform in ±1/√U.
#pragma once

#include "models/built_model.h"
#include "models/gpt_config.h"
#include "models/lm_entries.h"
#include "nn/recurrent.h"

namespace tabgrad {

LogitsOf recurrent_lm_logits(const GptConfig& config, CellKind cell);
BuiltModel build_recurrent_lm_generation(const GptConfig& config, CellKind cell, bool for_sampling);
std::string recurrent_lm_layer(CellKind cell, std::int64_t layer);  // its name

}  // namespace tabgrad
