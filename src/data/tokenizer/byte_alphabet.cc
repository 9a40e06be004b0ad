#include "data/tokenizer/byte_alphabet.h"

#include "base/utf8.h"

namespace tabgrad {
namespace {

constexpr char32_t kFirstMoved = 256;  // bytes that do not print are moved to U+0100 and up, in their order

constexpr bool prints(unsigned byte) { return (byte >= '!' && byte <= '~') || (byte >= 0xA1 && byte <= 0xAC) || byte >= 0xAE; }

struct Alphabet {
  std::array<std::string, 256> chars;
  std::array<std::uint8_t, 256> order{};
  std::array<int, kFirstMoved + 256> byte_of{};  // by code point; -1: none

  Alphabet() {
    byte_of.fill(-1);
    std::size_t place = 0;
    for (unsigned byte = 0; byte < 256; ++byte) {
      if (prints(byte)) add(byte, byte, place++);
    }
    char32_t moved = kFirstMoved;
    for (unsigned byte = 0; byte < 256; ++byte) {
      if (!prints(byte)) add(byte, moved++, place++);
    }
  }

  void add(unsigned byte, char32_t code, std::size_t place) {
    chars[byte] = code < 0x80 ? std::string{static_cast<char>(code)}
                              : std::string{static_cast<char>(0xC0 | code >> 6), static_cast<char>(0x80 | (code & 0x3F))};
    byte_of[code] = static_cast<int>(byte);
    order[place] = static_cast<std::uint8_t>(byte);
  }
};

const Alphabet& alphabet() {
  static const Alphabet instance;
  return instance;
}

}  // namespace

std::string_view alphabet_char(std::uint8_t byte) { return alphabet().chars[byte]; }

std::string to_alphabet(std::string_view bytes) {
  std::string text;
  for (const char c : bytes) text += alphabet_char(static_cast<std::uint8_t>(c));
  return text;
}

bool from_alphabet(std::string_view text, std::string* bytes) {
  const auto& byte_of = alphabet().byte_of;
  bytes->clear();
  while (!text.empty()) {
    const Utf8Char c = first_char(text);
    if (c.kind != Utf8Char::kValid || c.code >= byte_of.size() || byte_of[c.code] < 0) return false;
    *bytes += static_cast<char>(byte_of[c.code]);
    text.remove_prefix(c.bytes);
  }
  return true;
}

const std::array<std::uint8_t, 256>& alphabet_order() { return alphabet().order; }

}  // namespace tabgrad
