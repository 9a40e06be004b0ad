#include "data/tokenizer/bpe.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "base/error.h"
#include "data/tokenizer/byte_alphabet.h"

namespace tabgrad {
namespace {

constexpr std::size_t kNone = std::numeric_limits<std::size_t>::max();

std::uint64_t key_of(std::int32_t left, std::int32_t right) {
  return static_cast<std::uint64_t>(static_cast<std::uint32_t>(left)) << 32 | static_cast<std::uint32_t>(right);
}

// The heap's top is the best rank, leftmost among equals.
bool after(const Bpe::Scratch::Candidate& a, const Bpe::Scratch::Candidate& b) {
  return std::pair(a.rank, a.at) > std::pair(b.rank, b.at);
}

}  // namespace

Bpe::Bpe(TokenizerParts parts) : parts_(std::move(parts)) {
  const auto size = static_cast<std::int32_t>(parts_.texts.size());
  std::vector<bool> is_model(parts_.texts.size(), true);
  for (const AddedToken& token : parts_.added) {
    TG_CHECK(token.id >= 0 && token.id < size && parts_.texts[static_cast<std::size_t>(token.id)] == token.content);
    if (!token.in_vocabulary) is_model[static_cast<std::size_t>(token.id)] = false;
  }
  byte_ids_.fill(-1);
  std::string bytes;
  for (std::size_t id = 0; id < parts_.texts.size(); ++id) {
    // Tokens with other characters are never made of bytes; they stand for themselves.
    const bool written = is_model[id] && from_alphabet(parts_.texts[id], &bytes);
    pieces_.push_back(written ? bytes : parts_.texts[id]);
    if (written && bytes.size() == 1) byte_ids_[static_cast<std::uint8_t>(bytes[0])] = static_cast<std::int32_t>(id);
  }
  for (unsigned byte = 0; byte < 256; ++byte) {
    if (byte_ids_[byte] < 0) {
      fail("the vocabulary has no token for byte ", byte, " ('", alphabet_char(static_cast<std::uint8_t>(byte)),
           "'), so that not every text could be written with it");
    }
  }
  // Of a pair that comes twice the later one counts, as Hugging Face has it.
  std::reverse(parts_.merges.begin(), parts_.merges.end());
  std::erase_if(parts_.merges, [&](const Merge& merge) { return !ranks_.emplace(key_of(merge.left, merge.right), 0).second; });
  std::reverse(parts_.merges.begin(), parts_.merges.end());
  for (std::size_t rank = 0; rank < parts_.merges.size(); ++rank) {
    ranks_[key_of(parts_.merges[rank].left, parts_.merges[rank].right)] = rank;
  }
  if (parts_.ignore_merges) {
    for (std::size_t id = 0; id < pieces_.size(); ++id) {
      if (is_model[id]) whole_words_.emplace(pieces_[id], static_cast<std::int32_t>(id));
    }
  }
}

const std::size_t* Bpe::rank_of(std::int32_t left, std::int32_t right) const {
  const auto found = ranks_.find(key_of(left, right));
  return found == ranks_.end() ? nullptr : &found->second;
}

void Bpe::encode(std::string_view word, Scratch* scratch, std::vector<std::int32_t>* ids) const {
  if (const auto whole = whole_words_.find(word); whole != whole_words_.end()) {
    ids->push_back(whole->second);
    return;
  }
  auto& [symbols, heap] = *scratch;
  symbols.clear();
  heap.clear();
  for (std::size_t i = 0; i < word.size(); ++i) {
    symbols.push_back(
        {byte_id(static_cast<std::uint8_t>(word[i])), i == 0 ? kNone : i - 1, i + 1 < word.size() ? i + 1 : kNone});
  }
  const auto consider = [&](std::size_t at) {
    if (at == kNone || symbols[at].next == kNone) return;
    if (const std::size_t* rank = rank_of(symbols[at].id, symbols[symbols[at].next].id)) {
      heap.push_back({*rank, at});
      std::push_heap(heap.begin(), heap.end(), after);
    }
  };
  for (std::size_t i = 0; i < symbols.size(); ++i) consider(i);
  while (!heap.empty()) {
    std::pop_heap(heap.begin(), heap.end(), after);
    const auto [rank, at] = heap.back();
    heap.pop_back();
    const Merge& merge = parts_.merges[rank];
    // The pair may have been merged away since.
    Scratch::Symbol& left = symbols[at];
    if (left.id != merge.left || left.next == kNone || symbols[left.next].id != merge.right) continue;
    Scratch::Symbol& right = symbols[left.next];
    left.id = merge.result;
    left.next = right.next;
    right.id = -1;
    if (left.next != kNone) symbols[left.next].previous = at;
    consider(left.previous);
    consider(at);
  }
  for (const Scratch::Symbol& symbol : symbols) {
    if (symbol.id >= 0) ids->push_back(symbol.id);
  }
}

}  // namespace tabgrad
