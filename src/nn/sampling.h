// Draws a model's next token where the logits are, so that they need not be read back.
#pragma once

#include "graph/build.h"

namespace tabgrad {

// logits (V) → the id of the token drawn, as f32 (1): argmax(logits + T·G), with a Gumbel variable G for each token, draws from
// softmax(logits/T) (Gumbel 1954; Maddison et al. 2014). T 0 takes the likeliest, equal ones by id.
// Uniforms of the entry: "sample.temperature"; "sample.top_k", V for all; "sample.top_p", 1 for all. Of top-k's tokens top-p leaves
// the smallest set of likeliest ones that has this part of their probability; all that are equal at an edge stay.
// G is keyed by the run's (seed, step), as of Session::set_random.
Tensor sample_token(Tensor logits);

}  // namespace tabgrad
