// The 256 printable characters by which GPT-2's files write bytes: a space is "Ġ", a line end "Ċ".
//
// Does: maps bytes to those characters and back. Does not: know tokens.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

namespace tabgrad {

// The character of a byte, in UTF-8.
std::string_view alphabet_char(std::uint8_t byte);
std::string to_alphabet(std::string_view bytes);
// False, and *bytes unspecified, if a character of the text is not of the alphabet.
bool from_alphabet(std::string_view text, std::string* bytes);
// The bytes in the order of their characters' code points: that of the ids in GPT-2's vocabulary.
const std::array<std::uint8_t, 256>& alphabet_order();

}  // namespace tabgrad
