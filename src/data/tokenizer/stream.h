// Encoding text that comes in pieces, and decoding ids as they are made.
//
// Does: Encoder gives the ids that Tokenizer::encode gives for the whole text, however it is cut, and keeps only what may
// still belong to a longer token; Utf8Decoder holds bytes back until they are whole characters. Does not: read files.
//
// Invariant: all ids up to those that finish() adds depend on the text alone, not on how it was cut. Memory grows with
// the longest run without a word's end (letters alone, or white space alone), some 50 bytes for each of its bytes.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "data/tokenizer/tokenizer.h"

namespace tabgrad {

// One text after another; not for two threads at once. It remembers the words that it met, so keep it for the next text.
class Encoder {
 public:
  explicit Encoder(Tokenizer tokenizer);
  ~Encoder();
  Encoder(Encoder&&) noexcept;
  Encoder& operator=(Encoder&&) noexcept;

  void feed(std::string_view text, std::vector<std::int32_t>* ids);  // appends ids of what is certain by now
  void finish(std::vector<std::int32_t>* ids);                       // the text ends: appends the rest; next a new text

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// Turns ids into text that is valid UTF-8 at every moment. Bytes that are none become U+FFFD, as in a browser's TextDecoder.
class Utf8Decoder {
 public:
  explicit Utf8Decoder(Tokenizer tokenizer) : tokenizer_(std::move(tokenizer)) {}

  std::string feed(std::int32_t id);  // the characters that are whole by now, perhaps none
  std::string finish();               // the rest; next a new text

 private:
  Tokenizer tokenizer_;
  std::string pending_;  // the beginning of one character
};

}  // namespace tabgrad
