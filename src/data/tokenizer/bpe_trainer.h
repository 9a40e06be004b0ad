// Learns the merges of byte-level BPE from text.
//
// Does: counts the words of a text that comes in pieces, then merges the commonest pair until the vocabulary is full. The
// result is token for token that of Hugging Face's BpeTrainer with ByteLevel's alphabet on the same text. Does not: read files.
//
// Invariants: the same text gives the same tokenizer on every target, however it was cut. Memory grows with the number of
// different words, not with the text.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "data/tokenizer/tokenizer.h"

namespace tabgrad {

inline constexpr const char* kEndOfText = "<|endoftext|>";

struct BpeOptions {
  std::int64_t vocabulary = 4096;  // with the 256 bytes and the special tokens
  std::int64_t min_count = 0;  // pairs seen less often are not merged
  std::vector<std::string> special_tokens = {};  // e.g. kEndOfText; they take the first ids
};

class BpeTrainer {
 public:
  BpeTrainer();
  ~BpeTrainer();
  BpeTrainer(BpeTrainer&&) noexcept;
  BpeTrainer& operator=(BpeTrainer&&) noexcept;

  void feed(std::string_view text);
  // progress(tokens made, tokens wanted), now and then. A text with too few different pairs gives a smaller vocabulary than asked for.
  Tokenizer train(const BpeOptions& options, const std::function<void(std::int64_t, std::int64_t)>& progress = {});

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace tabgrad
