#include "data/tokenizer/added_tokens.h"

#include "base/error.h"

namespace tabgrad {

AddedTokenFinder::AddedTokenFinder(const std::vector<AddedToken>& tokens, bool normalized) : nodes_(1), begins_(256, false) {
  for (const AddedToken& token : tokens) {
    if (token.normalized != normalized) continue;
    TG_CHECK(!token.content.empty());
    std::size_t at = 0;
    for (const char c : token.content) {
      const auto [step, is_new] = nodes_[at].next.try_emplace(static_cast<unsigned char>(c), nodes_.size());
      at = step->second;
      if (is_new) nodes_.emplace_back();
    }
    nodes_[at].id = token.id;
    begins_[static_cast<unsigned char>(token.content[0])] = true;
  }
}

AddedTokenFinder::Match AddedTokenFinder::find(std::string_view text, std::size_t from, bool last) const {
  if (empty()) return {text.size(), text.size(), -1};
  for (std::size_t begin = from; begin < text.size(); ++begin) {
    if (!begins_[static_cast<unsigned char>(text[begin])]) continue;
    Match best{begin, begin, -1};
    std::size_t at = 0, i = begin;
    for (; i < text.size(); ++i) {
      const auto step = nodes_[at].next.find(static_cast<unsigned char>(text[i]));
      if (step == nodes_[at].next.end()) break;
      at = step->second;
      if (nodes_[at].id >= 0) best.end = i + 1, best.id = nodes_[at].id;
    }
    if (i == text.size() && !nodes_[at].next.empty() && !last) return {begin, begin, -1};
    if (best.id >= 0) return best;
  }
  return {text.size(), text.size(), -1};
}

}  // namespace tabgrad
