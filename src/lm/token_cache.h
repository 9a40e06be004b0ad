// A text's tokens as the bytes of a file, so that the same text need not be put into tokens again.
//
// Does: names text and tokenizer by one key; packs and unpacks. Does not: touch a disk.
//
// Invariant: what comes back is what was written, for the same key, or nothing. A damaged file is nothing, never an Error.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/fnv.h"
#include "lm/corpus.h"

namespace tabgrad {

// Of what a CorpusBuilder is given, call for call.
class CorpusKey {
 public:
  explicit CorpusKey(const Tokenizer& tokenizer) { hash_.bytes(tokenizer.to_json()); }
  void feed(std::string_view text) {
    hash_.bytes(text);
    size_ += text.size();
  }
  void end_text() { hash_.number(size_, 64); }  // where one text ends and the next begins
  std::string text() const;

 private:
  Fnv1a hash_;
  std::uint64_t size_ = 0;
};

std::string write_token_cache(const Corpus& corpus, const std::string& key);
// validation: the part of the tokens, as of Corpus.
std::optional<Corpus> read_token_cache(std::string_view bytes, const std::string& key, double validation);

}  // namespace tabgrad
