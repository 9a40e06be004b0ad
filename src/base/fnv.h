// FNV-1a (64 bits) over bytes: tells files, texts and weights apart. Not for secrets.
#pragma once

#include <cstdint>
#include <string_view>

namespace tabgrad {

class Fnv1a {
 public:
  void byte(unsigned value) { hash_ = (hash_ ^ (value & 0xFFu)) * 0x100000001B3u; }
  void bytes(std::string_view text) {
    for (const char c : text) byte(static_cast<unsigned char>(c));
  }
  // The low `bits` of a number, a multiple of 8, little-endian.
  void number(std::uint64_t value, int bits) {
    for (int shift = 0; shift < bits; shift += 8) byte(static_cast<unsigned>(value >> shift));
  }
  std::uint64_t value() const { return hash_; }

 private:
  std::uint64_t hash_ = 0xCBF29CE484222325u;
};

}  // namespace tabgrad
