// Parameters of a model: names, shapes and initial values.
//
// Does: lists what a model trains; makes initial values on the CPU; hashes them. Does not: hold trained values (the session
// does), know layers.
//
// Invariants:
// - An initial value depends on (seed, position in the model's list, element) alone, through Philox (tensor/philox.h) and
//   IEEE operations in a fixed order: the same bits on every target and toolchain. Files that make values are compiled with
//   -ffp-contract=off.
// - The position in the list is the Philox stream. So a list's order is part of a model's definition.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tensor/host_tensor.h"

namespace tabgrad {

// How a parameter starts. Fans are those of a matrix (…,in,out): fan_in = in·K and fan_out = out·K, with K the product of the
// leading dimensions (the taps of a convolution).
struct Init {
  enum class Kind : unsigned char {
    kConstant,       // `scale` everywhere
    kSegment,        // `scale` in the elements [begin, end) of the flattened tensor, 0 elsewhere: one gate's bias
    kNormal,         // normal, mean 0, standard deviation `scale`
    kUniform,        // uniform in ±`scale`
    kGlorotUniform,  // uniform in ±scale·√(6/(fan_in+fan_out)) (Glorot & Bengio 2010)
    // Rank 2, cut into `blocks` blocks of columns (gates): in each, orthonormal rows (or columns, where there are fewer of
    // them), times `scale` (Saxe et al. 2014).
    kOrthogonal,
  };
  Kind kind = Kind::kConstant;
  double scale = 0;
  std::int64_t begin = 0, end = 0;
  std::int64_t blocks = 1;

  static Init zeros() { return {}; }
  static Init ones() { return {Kind::kConstant, 1.0}; }
  static Init constant(double value) { return {Kind::kConstant, value}; }
  static Init segment(double value, std::int64_t begin, std::int64_t end) { return {Kind::kSegment, value, begin, end}; }
  static Init normal(double std) { return {Kind::kNormal, std}; }
  static Init uniform(double bound) { return {Kind::kUniform, bound}; }
  static Init glorot_uniform(double gain = 1.0) { return {Kind::kGlorotUniform, gain}; }
  static Init orthogonal(double gain = 1.0, std::int64_t blocks = 1) { return {Kind::kOrthogonal, gain, 0, 0, blocks}; }
  bool operator==(const Init&) const = default;
};

struct ParameterSpec {
  std::string name;
  Dims dims;
  Init init;
  bool decay = true;  // weight decay applies (matrices and embeddings; not biases, nor norms' gains)
  bool hidden = false;  // a matrix between hidden values: not an embedding, nor a head tied to one
  bool operator==(const ParameterSpec&) const = default;
};

std::int64_t parameter_count(const std::vector<ParameterSpec>& parameters);

// index: the parameter's position in its model's list.
HostTensor initial_value(const ParameterSpec& spec, std::size_t index, std::uint64_t seed);
NamedTensors initial_values(const std::vector<ParameterSpec>& parameters, std::uint64_t seed);

// FNV-1a (64 bits) over the values' little-endian bytes, tensors in list order: proves that two runs start (or end) alike.
std::uint64_t hash_values(const NamedTensors& values);
std::string hash_text(std::uint64_t hash);  // "0x" and 16 digits

// Gives every parameter its initial value in a session, or in whatever has write(name, HostTensor). Optimizer state needs
// nothing: a session's buffers start at zero.
template <typename Session>
void write_initial_values(Session& session, const std::vector<ParameterSpec>& parameters, std::uint64_t seed) {
  for (std::size_t i = 0; i < parameters.size(); ++i) session.write(parameters[i].name, initial_value(parameters[i], i, seed));
}

}  // namespace tabgrad
