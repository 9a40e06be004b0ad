#include "data/tokenizer/words.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <iterator>

#include "base/utf8.h"

namespace tabgrad {
namespace {

enum CharClass : std::uint8_t { kOther, kLetter, kNumber, kSpace };

// Each entry is code point · 4 + class, and holds up to the next entry.
constexpr std::uint32_t kClassRanges[] = {
#include "data/tokenizer/unicode_classes.inc"
};

constexpr std::size_t kTabled = 0x800;  // characters of one or two bytes are looked up, the others searched for

constexpr CharClass search_class(char32_t code) {
  const std::uint32_t key = static_cast<std::uint32_t>(code) << 2 | 3;
  return static_cast<CharClass>(*std::prev(std::upper_bound(std::begin(kClassRanges), std::end(kClassRanges), key)) & 3);
}

constexpr std::array<CharClass, kTabled> kTable = [] {
  std::array<CharClass, kTabled> table{};
  for (std::size_t code = 0; code < kTabled; ++code) table[code] = search_class(static_cast<char32_t>(code));
  return table;
}();

struct Char {
  CharClass kind;
  std::size_t bytes;
};

// Of a cut character at the end too: the caller hides one that may yet be completed.
Char char_at(std::string_view text, std::size_t at) {
  const auto lead = static_cast<unsigned char>(text[at]);
  if (lead < 0x80) return {kTable[lead], 1};
  const Utf8Char c = first_char(text.substr(at));
  if (c.kind != Utf8Char::kValid) return {kOther, c.bytes};
  return {c.code < kTabled ? kTable[c.code] : search_class(c.code), c.bytes};
}

// The end of the run of characters of one class that begins at `at`; *last_char: where its last character begins.
std::size_t run_end(std::string_view text, std::size_t at, CharClass kind, std::size_t* last_char) {
  while (at < text.size()) {
    const Char c = char_at(text, at);
    if (c.kind != kind) break;
    *last_char = at;
    at += c.bytes;
  }
  return at;
}

// Bytes of 's 't 're 've 'm 'll 'd at the beginning; 0: none.
std::size_t contraction(std::string_view text) {
  for (const std::string_view one : {"'s", "'t", "'re", "'ve", "'m", "'ll", "'d"}) {
    if (text.starts_with(one)) return one.size();
  }
  return 0;
}

// The text without a character at its end that is not whole yet.
std::string_view whole_chars(std::string_view text) {
  for (std::size_t tail = std::min<std::size_t>(3, text.size()); tail > 0; --tail) {
    if (first_char(text.substr(text.size() - tail)).kind == Utf8Char::kCut) return text.substr(0, text.size() - tail);
  }
  return text;
}

}  // namespace

std::size_t first_word(std::string_view text, bool last) {
  constexpr std::size_t kLongestContraction = 3;
  if (!last) {
    text = whole_chars(text);
    if (text.empty()) return 0;
  }
  if (text[0] == '\'') {
    if (!last && text.size() < kLongestContraction) return 0;
    if (const std::size_t bytes = contraction(text); bytes > 0) return bytes;
  }
  std::size_t begin = 0;  // of the run, after a space that belongs to it
  Char first = char_at(text, 0);
  if (text[0] == ' ' && text.size() > 1) {
    const Char second = char_at(text, 1);
    if (second.kind != kSpace) begin = 1, first = second;
  }
  std::size_t last_char = begin;
  const std::size_t end = run_end(text, begin + first.bytes, first.kind, &last_char);
  if (end == text.size()) return last ? end : 0;
  // Of several spaces before something else the last one stays for it.
  return first.kind == kSpace && last_char > begin ? last_char : end;
}

}  // namespace tabgrad
