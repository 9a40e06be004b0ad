// UTF-8, one character at a time.
//
// Does: reads the first character of bytes from anywhere. Does not: normalise, classify.
//
// Invariant: what is no character is cut as the Unicode standard recommends (the longest beginning of one, or a byte), so
// that replacing each such piece by U+FFFD gives what browsers and Rust give.
#pragma once

#include <cstddef>
#include <string_view>

namespace tabgrad {

inline constexpr const char* kReplacementCharacter = "\xEF\xBF\xBD";  // U+FFFD

struct Utf8Char {
  enum Kind { kValid, kInvalid, kCut };  // kCut: the bytes end within what may be a character
  Kind kind = kInvalid;
  std::size_t bytes = 1;
  char32_t code = 0;  // of a valid one
};

// The first character of `text`, which is not empty.
inline Utf8Char first_char(std::string_view text) {
  const auto byte = [&](std::size_t k) { return static_cast<unsigned char>(text[k]); };
  const unsigned lead = byte(0);
  if (lead < 0x80) return {Utf8Char::kValid, 1, lead};
  const std::size_t length = lead < 0xC2 ? 0 : lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : lead < 0xF5 ? 4 : 0;
  if (length == 0) return {};
  // The second byte's range excludes overlong forms, surrogates and what is past U+10FFFF.
  unsigned low = lead == 0xE0 ? 0xA0 : lead == 0xF0 ? 0x90 : 0x80;
  unsigned high = lead == 0xED ? 0x9F : lead == 0xF4 ? 0x8F : 0xBF;
  char32_t code = lead & (0xFFu >> (length + 1));
  for (std::size_t k = 1; k < length; ++k) {
    if (k == text.size()) return {Utf8Char::kCut, k, 0};
    if (byte(k) < low || byte(k) > high) return {Utf8Char::kInvalid, k, 0};
    code = code << 6 | (byte(k) & 0x3Fu);
    low = 0x80, high = 0xBF;
  }
  return {Utf8Char::kValid, length, code};
}

}  // namespace tabgrad
