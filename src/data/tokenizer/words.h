// Cuts text into the words within which BPE merges: GPT-2's pattern
//
//   's|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+
//
// Does: scans by hand, with a table of Unicode 16's letters, numbers and white space. Does not: normalise; know tokens.
//
// Invariants: the words are the text, without gaps. A byte that is part of no UTF-8 character counts as punctuation.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>

namespace tabgrad {

// The bytes of the first word of `text`, which is not empty. last: the text ends here; else 0 means that what follows
// could change the word.
std::size_t first_word(std::string_view text, bool last);

struct WordHash {
  using is_transparent = void;
  std::size_t operator()(std::string_view word) const { return std::hash<std::string_view>{}(word); }
};
// By word; looked up without making a string.
template <typename Value>
using WordMap = std::unordered_map<std::string, Value, WordHash, std::equal_to<>>;

}  // namespace tabgrad
