// What guessers that need no training lose on a text: the scale on which a model's loss is read.
//
// Invariant: losses are of tokens that the guesser was not counted on (the validation part), where there are any.
#pragma once

#include "lm/corpus.h"

namespace tabgrad {

// Mean negative log-likelihood in nats a token.
struct TextBaselines {
  double uniform = 0;  // every token alike
  double unigram = 0;  // by how often each token is in the training part, plus one
  double bigram = 0;   // by what followed the token before there, backed off to unigram (Witten & Bell 1991)
};
// Of long texts, 4 million tokens before the end of the training part and 1 million of the validation part count.
TextBaselines text_baselines(const Corpus& corpus, std::int64_t vocabulary);

}  // namespace tabgrad
