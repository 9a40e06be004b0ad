// Reading the goldens (tests/golden/README.md) and comparing with them.
#pragma once

#include <cmath>
#include <cstdint>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "data/safetensors.h"
#include "tensor/philox.h"

namespace tabgrad::golden {

// name: file under tests/golden, without ".safetensors". Tests run in the source folder.
inline Safetensors read(const std::string& name) {
  const std::string path = "tests/golden/" + name + ".safetensors";
  std::ifstream file(path, std::ios::binary);
  if (!file) throw Error("cannot read " + path);
  return read_safetensors(std::string(std::istreambuf_iterator<char>(file), {}), path);
}

inline const HostTensor& tensor(const Safetensors& file, const std::string& name) {
  for (const auto& [key, value] : file.tensors)
    if (key == name) return value;
  throw Error("the golden has no tensor " + name);
}

inline double norm(const std::vector<float>& x) {
  double squares = 0;
  for (const float v : x) squares += static_cast<double>(v) * static_cast<double>(v);
  return std::sqrt(squares);
}

// ‖a − b‖
inline double distance(const std::vector<float>& a, const std::vector<float>& b) {
  double squares = 0;
  for (std::size_t i = 0; i < a.size(); ++i) squares += std::pow(static_cast<double>(a[i]) - static_cast<double>(b[i]), 2);
  return std::sqrt(squares);
}

}  // namespace tabgrad::golden
