// Finds tokens that are added whole ("<|endoftext|>") in text.
//
// Does: the leftmost, and of those that begin there the longest. Does not: know normalisation or word borders.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string_view>
#include <vector>

#include "data/tokenizer/bpe.h"

namespace tabgrad {

class AddedTokenFinder {
 public:
  AddedTokenFinder() = default;
  // Of `tokens` those with this `normalized`. Contents must not be empty.
  AddedTokenFinder(const std::vector<AddedToken>& tokens, bool normalized);

  struct Match {
    std::size_t begin, end;
    std::int32_t id;  // -1: none; begin is then where one might yet begin if the text goes on, or the text's end
  };
  // From `from` on. last: the text ends here.
  Match find(std::string_view text, std::size_t from, bool last) const;
  bool empty() const { return nodes_.size() <= 1; }

 private:
  struct Node {
    std::map<unsigned char, std::size_t> next;
    std::int32_t id = -1;
  };
  std::vector<Node> nodes_;  // a tree by bytes; the first is its root
  std::vector<bool> begins_;  // by byte
};

}  // namespace tabgrad
