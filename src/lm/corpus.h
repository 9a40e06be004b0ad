// Text as training data: token ids, split into a training and a validation part, cut into windows.
//
// Does: encodes text that comes in pieces, holds the ids, gives batches of windows. Does not: read files.
//
// Invariants: the validation part is the end of the text, and no window crosses the border, so nothing of it is seen in
// training. A training window depends on (seed, its number) alone.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "data/tokenizer/stream.h"
#include "data/tokenizer/tokenizer.h"

namespace tabgrad {

class Corpus {
 public:
  // validation: the part of the tokens, from 0 to 0.5. Vocabularies up to 65,536.
  Corpus(std::vector<std::uint16_t> tokens, std::int64_t bytes, double validation);

  std::int64_t size() const { return static_cast<std::int64_t>(tokens_.size()); }
  std::int64_t bytes() const { return bytes_; }
  std::int64_t training_tokens() const { return training_; }
  std::int64_t validation_tokens() const { return size() - training_; }
  double bytes_per_token() const { return static_cast<double>(bytes_) / static_cast<double>(size()); }
  std::span<const std::uint16_t> tokens() const { return tokens_; }
  std::uint64_t hash() const;  // FNV-1a over the ids

  // Throws Error saying what to lower when a part is too short for one window.
  void check_context(std::int64_t context) const;

  // Training window `number`: `context` tokens from a place drawn by Philox, and the same shifted by one.
  void training_window(std::uint64_t seed, std::int64_t number, std::span<std::int32_t> tokens,
                       std::span<std::int32_t> targets) const;
  // Validation windows stand side by side, without overlap.
  std::int64_t validation_windows(std::int64_t context) const;
  void validation_window(std::int64_t number, std::span<std::int32_t> tokens, std::span<std::int32_t> targets) const;

 private:
  void window(std::int64_t start, std::span<std::int32_t> tokens, std::span<std::int32_t> targets) const;

  std::vector<std::uint16_t> tokens_;
  std::int64_t bytes_, training_;
};

// Takes text in pieces. Several texts are joined by the tokenizer's end-of-text token, where it has one.
class CorpusBuilder {
 public:
  explicit CorpusBuilder(const Tokenizer& tokenizer);
  void feed(std::string_view text);
  void end_text();
  // Throws Error when there is no text at all.
  Corpus finish(double validation);

 private:
  void take();

  Encoder encoder_;
  std::int32_t separator_ = -1;
  std::vector<std::int32_t> fresh_;
  std::vector<std::uint16_t> tokens_;
  std::int64_t bytes_ = 0;
};

}  // namespace tabgrad
