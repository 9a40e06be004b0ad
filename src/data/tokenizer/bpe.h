// The parts of a tokenizer, and byte-pair merging within one word.
//
// Does: holds tokens and merges and applies the merges, best rank first and leftmost among equals. Does not: cut text into
// words (words.h), find added tokens (added_tokens.h), remember words (stream.cc).
//
// Invariant: a Bpe is whole and consistent once made, whatever its parts came from; else its making throws Error.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace tabgrad {

inline constexpr std::int64_t kMostTokens = 1 << 20;  // a bound on memory, well above any vocabulary in use

struct Merge {
  std::int32_t left, right, result;
};

struct AddedToken {
  std::int32_t id;
  std::string content;
  bool special = true;
  bool normalized = false;     // looked for only between those that are not
  bool in_vocabulary = false;  // one of the model's tokens too
};

struct TokenizerParts {
  std::vector<std::string> texts;  // by id, bytes written as in byte_alphabet.h; an added token as its content
  std::vector<Merge> merges;       // by rank
  std::vector<AddedToken> added;
  bool ignore_merges = false;  // a word that is a token is that token, whatever the merges say
};

class Bpe {
 public:
  // Buffers of encode(), kept by the caller so that words cost no allocations.
  struct Scratch {
    struct Symbol {
      std::int32_t id;            // -1: merged into the one before
      std::size_t previous, next;  // kNone at the ends
    };
    struct Candidate {
      std::size_t rank, at;
    };
    std::vector<Symbol> symbols;
    std::vector<Candidate> heap;
  };

  explicit Bpe(TokenizerParts parts);
  Bpe(const Bpe&) = delete;
  Bpe& operator=(const Bpe&) = delete;

  const TokenizerParts& parts() const { return parts_; }
  const std::vector<std::string>& pieces() const { return pieces_; }  // each token's bytes
  bool only_bytes() const { return parts_.merges.empty(); }           // each byte is a token, always
  std::int32_t byte_id(std::uint8_t byte) const { return byte_ids_[byte]; }
  // Appends the tokens of one word.
  void encode(std::string_view word, Scratch* scratch, std::vector<std::int32_t>* ids) const;

 private:
  const std::size_t* rank_of(std::int32_t left, std::int32_t right) const;

  TokenizerParts parts_;
  std::vector<std::string> pieces_;
  std::array<std::int32_t, 256> byte_ids_{};
  std::unordered_map<std::uint64_t, std::size_t> ranks_;          // by pair
  std::unordered_map<std::string_view, std::int32_t> whole_words_;  // into pieces_; filled if ignore_merges
};

}  // namespace tabgrad
