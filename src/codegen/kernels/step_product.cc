#include "codegen/kernels/step_product.h"

namespace tabgrad::codegen {
namespace {

constexpr std::int64_t kLeastInputs = 16;      // of an invocation, before more share its outputs
constexpr std::int64_t kKeptFloats = 192;      // weights in registers: of the 255 that an invocation usually has
constexpr std::int64_t kUnrolledInputs = 64;  // up to which further weights are requested together, otherwise by kLeastInputs
constexpr std::int64_t kWorkgroups = 128;  // keep a GPU busy: beyond, they take more sequences each
constexpr std::int64_t kMostSequences = 4;

std::string num(std::int64_t n) { return std::to_string(n); }

}  // namespace

StepProduct::StepProduct(std::int64_t inputs, std::int64_t outputs, std::int64_t batch, const Caps& caps)
    : m(inputs), n(outputs) {
  wide = n % 4 == 0;
  units = wide ? n / 4 : n;
  slices = std::clamp<std::int64_t>(caps.workgroup_size / units, 1, ceil_div(m, kLeastInputs));
  each = ceil_div(ceil_div(m, slices), 4) * 4;
  threads = std::min<std::int64_t>(caps.workgroup_size, ceil_div(units * slices, 32) * 32);
  sequences = std::clamp<std::int64_t>(ceil_div(batch, kWorkgroups), 1, kMostSequences);
  while (sequences > 1 && floats() > caps.workgroup_floats) --sequences;
  TG_CHECK(floats() <= caps.workgroup_floats);
}

std::int64_t StepProduct::kept() const { return units > threads ? 0 : std::min(each, kKeptFloats / (wide ? 4 : 1)); }

void StepProduct::declare(Part& part) const {
  part.workgroup_size = static_cast<int>(threads);
  part.shared = {{"in", "vec4f", sequences * padded() / 4}, {"sums", type(), sequences * slices * units}};
}

std::string StepProduct::input(const std::string& sequence, const std::string& i) const {
  const std::string at = sequence + " * " + num(padded()) + " + " + i;
  return "$in[(" + at + ") / 4][(" + at + ") % 4]";
}

std::string StepProduct::sum(const std::string& sequence, const std::string& i) const {
  std::string text;
  for (std::int64_t s = 0; s < slices; ++s) {
    const std::string first = "$sums[(" + num(s * sequences) + " + " + sequence + ") * " + num(units) + " + ";
    text += (s ? " + " : "") + first + (wide ? "(" + i + ") / 4][(" + i + ") % 4]" : i + "]");
  }
  return text;
}

void StepProduct::begin(std::string& text) const {
  if (units > threads) return;
  text +=
      "let unit = i32(lid) % " + num(units) + ";\nlet slice = min(i32(lid) / " + num(units) + ", " + num(slices - 1) + ");\n";
  for (std::int64_t i = 0; i < kept(); ++i) text += "let w" + num(i) + " = " + weight(num(i)) + ";\n";
}

void StepProduct::step(std::string& text) const {
  if (units > threads) {
    text += "for (var unit = i32(lid); unit < " + num(units) + "; unit += " + num(threads) + ") {\nlet slice = 0;\n";
  } else {
    text += "if (i32(lid) < " + num(units * slices) + ") {\n";
  }
  for (std::int64_t b = 0; b < sequences; ++b) text += "var a" + num(b) + " = " + type() + "(0.0);\n";
  const std::int64_t rest = each - kept();
  const bool loop = rest > kUnrolledInputs;
  std::int64_t block = loop ? kLeastInputs : rest;
  while (loop && rest % block != 0) block -= 4;
  const std::string first = loop ? "i + " : num(kept()) + " + ";
  auto request = [&] {
    for (std::int64_t i = 0; i < block; ++i) text += "let u" + num(i) + " = " + weight(first + num(i)) + ";\n";
  };
  if (!loop) request();  // they are under way while those at hand are multiplied
  for (std::int64_t i = 0; i < kept(); i += 4) multiply(text, num(i), "w", i);
  if (loop) {
    text += "for (var i = " + num(kept()) + "; i < " + num(each) + "; i += " + num(block) + ") {\n";
    request();
  }
  for (std::int64_t i = 0; i < block; i += 4) multiply(text, first + num(i), "u", i);
  if (loop) text += "}\n";
  for (std::int64_t b = 0; b < sequences; ++b)
    text += "$sums[(slice * " + num(sequences) + " + " + num(b) + ") * " + num(units) + " + unit] = a" + num(b) + ";\n";
  text += "}\n";
}

// Weight of input i of the slice. Behind the last input there are zeros, whose weights only must be there.
std::string StepProduct::weight(const std::string& i) const {
  const std::string at = "slice * " + num(each) + " + " + i;
  return "$w[" + (padded() > m ? "min(" + at + ", " + num(m - 1) + ")" : "(" + at + ")") + " * " + num(units) + " + unit]";
}

// Four inputs of the slice, from i on, times weights NAMEfirst, ….
void StepProduct::multiply(std::string& text, const std::string& i, const std::string& name, std::int64_t first) const {
  for (std::int64_t b = 0; b < sequences; ++b)
    text += "{\nlet x = $in[" + num(b * padded() / 4) + " + (slice * " + num(each) + " + " + i + ") / 4];\na" + num(b) +
            " += (x.x * " + name + num(first) + " + x.y * " + name + num(first + 1) + ") + (x.z * " + name + num(first + 2) +
            " + x.w * " + name + num(first + 3) + ");\n}\n";
}

}  // namespace tabgrad::codegen
