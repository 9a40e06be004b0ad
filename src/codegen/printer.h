// The printer of kernel bodies as C-like statements: loads as affine index expressions, scalar operations, uniforms, random
// numbers. What differs between targets' scaffolding (buffers, entry functions) stays out of it.
//
// Width 4 prints four neighbours along the last dimension at once, as vectors: every load must then step by 1 or 0 there, or
// it is put together from four.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "kernel/kernel.h"

namespace tabgrad::codegen {

enum class Language : unsigned char { kWgsl, kGlsl };

std::string number(float value);  // "1.5f", exact; large finite numbers instead of infinities
std::string affine(const Dims& coef, std::int64_t offset, const std::vector<std::string>& index);  // an i32 expression

// Coordinates of element `linear` of a space as constants prefix0, prefix1, …; the last one steps by `width`, of which `linear`
// counts the wholes.
std::string coordinates(const Dims& space, const std::string& linear, const std::string& prefix, int width,
                        std::vector<std::string>& names, Language language = Language::kWgsl);

struct PrintOptions {
  Language language = Language::kWgsl;
  int width = 1;
  std::vector<std::string> index;  // i32 expressions, one for each dimension of the space; the first of four when wide
  // Where an argument's element (i32 expression) is read; wide: the text of a vector of four from that element on.
  std::function<std::string(const Load& load, const std::string& element, bool wide)> load;
  // A load that is at hand already: its text, or "" for an ordinary one.
  std::function<std::string(const Load& load)> known;
  std::string prefix = "v";  // of the values' names
};

// Statements that compute the body's instructions; instruction i is then `prefix`i. Stores are the caller's.
std::string print_code(const Body& body, const PrintOptions& options);

// Uniform k lies in word 4 + k of the block. The vectors of four words that a shader's text needs.
int uniform_vectors(const std::string& text);

// True when four neighbours of every random number's elements are one block of the generator, so that width 4 prints them too
// (GLSL alone has the function).
bool random_by_fours(const Body& body);

// True when the loads and indices allow width 4 at a profit: the last dimension is divisible by 4 and steps by 0 or 1.
bool widens(const Body& body);

}  // namespace tabgrad::codegen
