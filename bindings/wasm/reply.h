// What a call gives the page: JSON, with its arrays apart as bytes that become typed arrays.
//
// An array stands in the JSON as {"$array": "f64", "at": byte offset, "length": elements}; packages/tabgrad/src/engine.ts
// puts the array in its place. The bytes stay valid until the next call.
#pragma once

#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "train/json_fields.h"

namespace tabgrad::wasm {

class Reply {
 public:
  Json json = Json::object();

  void clear() {
    json = Json::object();
    bytes_.clear();
  }
  Json array(std::span<const double> values) { return add("f64", values.data(), values.size(), sizeof(double)); }
  Json array(std::span<const float> values) { return add("f32", values.data(), values.size(), sizeof(float)); }
  Json array(std::string_view values) { return add("u8", values.data(), values.size(), 1); }
  const std::vector<std::uint8_t>& bytes() const { return bytes_; }

 private:
  Json add(const char* type, const void* data, std::size_t count, std::size_t size) {
    const std::size_t at = (bytes_.size() + 7) / 8 * 8;
    bytes_.resize(at + count * size);
    if (count > 0) std::memcpy(bytes_.data() + at, data, count * size);
    return {{"$array", type}, {"at", at}, {"length", count}};
  }
  std::vector<std::uint8_t> bytes_;
};

}  // namespace tabgrad::wasm
