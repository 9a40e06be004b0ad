// The product in each step of a recurrent kernel: outputs (n) of each of the workgroup's sequences = its inputs (m) · w (m,n).
//
// An invocation makes four outputs (or one) from one slice of the inputs; the slices' results are added up by whoever reads them.
// Latency is all that counts: invocations keep as many weights as fit in registers, and request all others together. Texts use
// `$w`, an argument, and the workgroup arrays `$in`, zeros where nobody has written, and `$sums`.
#pragma once

#include "codegen/emit.h"

namespace tabgrad::codegen {

struct StepProduct {
  std::int64_t m = 0, n = 0;
  std::int64_t sequences = 1;  // of a workgroup
  bool wide = false;  // four outputs an invocation
  std::int64_t units = 0;  // of outputs: fours, or single ones
  std::int64_t slices = 1;
  std::int64_t each = 0;  // inputs of a slice, a multiple of 4
  std::int64_t threads = 0;

  StepProduct(std::int64_t inputs, std::int64_t outputs, std::int64_t batch, const Caps& caps);

  std::int64_t padded() const { return slices * each; }  // inputs of a sequence
  std::string type() const { return wide ? "vec4f" : "f32"; }
  void declare(Part& part) const;  // its workgroup and shared arrays

  // Input `i` of a sequence, a place; output `i` of a sequence. All are i32 expressions.
  std::string input(const std::string& sequence, const std::string& i) const;
  std::string sum(const std::string& sequence, const std::string& i) const;

  // Before the first step: where the invocation stands, and the weights that it keeps.
  void begin(std::string& text) const;
  // The product. A barrier must stand before and behind it.
  void step(std::string& text) const;

 private:
  std::int64_t floats() const { return sequences * (padded() + slices * n); }
  std::int64_t kept() const;  // weights, a multiple of 4
  std::string weight(const std::string& i) const;
  void multiply(std::string& text, const std::string& i, const std::string& name, std::int64_t first) const;
};

}  // namespace tabgrad::codegen
