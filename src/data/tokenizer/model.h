// What a Tokenizer shares among its copies, made ready for encoding.
#pragma once

#include <utility>

#include "data/tokenizer/added_tokens.h"
#include "data/tokenizer/bpe.h"

namespace tabgrad {

struct TokenizerModel {
  explicit TokenizerModel(TokenizerParts parts)
      : bpe(std::move(parts)), added{{bpe.parts().added, false}, {bpe.parts().added, true}} {}

  Bpe bpe;
  AddedTokenFinder added[2];  // the second looks only between the finds of the first
};

}  // namespace tabgrad
