#include "codegen/printer.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <string_view>

namespace tabgrad::codegen {
namespace {

const char* float_type(Language language, bool wide) {
  if (language == Language::kWgsl) return wide ? "vec4f" : "f32";
  return wide ? "vec4" : "float";
}

std::string constant(Language language, const char* type, const std::string& name) {
  return (language == Language::kWgsl ? std::string("let ") : std::string(type) + " ") + name + " = ";
}

// `operation`: "<", "==" or "!=".
std::string comparison(const std::string& a, const char* operation, const std::string& b, Language language, bool wide) {
  if (language == Language::kWgsl || !wide) return a + " " + operation + " " + b;
  const std::string_view o = operation;
  return std::string(o == "<" ? "lessThan(" : o == "==" ? "equal(" : "notEqual(") + a + ", " + b + ")";
}

std::string choice(const std::string& no, const std::string& yes, const std::string& test, Language language, bool wide) {
  if (language == Language::kWgsl) return "select(" + no + ", " + yes + ", " + test + ")";
  return wide ? "mix(" + no + ", " + yes + ", " + test + ")" : "(" + test + " ? " + yes + " : " + no + ")";
}

std::string scalar_text(ScalarOp op, const std::string& a, const std::string& b, const std::string& c, Language language,
                        bool wide) {
  const std::string type = float_type(language, wide), w = wide && language == Language::kWgsl ? "4" : "";
  const std::string one = wide ? type + "(1.0)" : "1.0", zero = wide ? type + "(0.0)" : "0.0";
  switch (op) {
    case ScalarOp::kNeg: return "-" + a;
    case ScalarOp::kAbs: return "abs(" + a + ")";
    case ScalarOp::kSign: return "tg_sign" + w + "(" + a + ")";
    case ScalarOp::kExp: return "tg_exp" + w + "(" + a + ")";
    case ScalarOp::kLog: return "tg_log" + w + "(" + a + ")";
    case ScalarOp::kSqrt: return "sqrt(" + a + ")";
    case ScalarOp::kRsqrt: return one + " / sqrt(" + a + ")";
    case ScalarOp::kRecip: return one + " / " + a;
    case ScalarOp::kTanh: return "tg_tanh" + w + "(" + a + ")";
    case ScalarOp::kSigmoid: return "tg_sigmoid" + w + "(" + a + ")";
    case ScalarOp::kErf: return "tg_erf" + w + "(" + a + ")";
    case ScalarOp::kGelu: return "tg_gelu" + w + "(" + a + ")";
    case ScalarOp::kGeluSlope: return "tg_gelu_slope" + w + "(" + a + ")";
    case ScalarOp::kSin: return "tg_sin" + w + "(" + a + ")";
    case ScalarOp::kCos: return "tg_cos" + w + "(" + a + ")";
    case ScalarOp::kFloor: return "floor(" + a + ")";
    case ScalarOp::kAdd: return a + " + " + b;
    case ScalarOp::kSub: return a + " - " + b;
    case ScalarOp::kMul: return a + " * " + b;
    case ScalarOp::kDiv: return a + " / " + b;
    case ScalarOp::kMax: return "max(" + a + ", " + b + ")";
    case ScalarOp::kMin: return "min(" + a + ", " + b + ")";
    case ScalarOp::kLess: return choice(zero, one, comparison(a, "<", b, language, wide), language, wide);
    case ScalarOp::kEqual: return choice(zero, one, comparison(a, "==", b, language, wide), language, wide);
    case ScalarOp::kSelect: return choice(c, b, comparison(a, "!=", zero, language, wide), language, wide);
  }
  TG_CHECK(false);
}

std::string range_test(const std::vector<DimRange>& ranges, const Dims& space, const std::vector<std::string>& index) {
  std::string test;
  for (const DimRange& r : ranges) {
    const std::string& i = index[static_cast<std::size_t>(r.dim)];
    if (r.low >= r.high) return "false";
    if (r.low > 0) test += (test.empty() ? "" : " && ") + i + " >= " + std::to_string(r.low);
    if (r.high < space[static_cast<std::size_t>(r.dim)])
      test += (test.empty() ? "" : " && ") + i + " < " + std::to_string(r.high);
  }
  return test;
}

}  // namespace

std::string number(float value) {
  if (std::isinf(value)) value = value > 0 ? 3.402823466e38f : -3.402823466e38f;
  char text[40];
  std::snprintf(text, sizeof text, "%.9g", static_cast<double>(value));
  std::string s = text;
  if (s.find_first_of(".e") == std::string::npos) s += ".0";
  return value < 0 ? "(" + s + ")" : s;
}

std::string affine(const Dims& coef, std::int64_t offset, const std::vector<std::string>& index) {
  std::string text;
  for (std::size_t i = 0; i < coef.size(); ++i) {
    if (coef[i] == 0) continue;
    const std::string term = coef[i] == 1 ? index[i] : std::to_string(coef[i]) + " * " + index[i];
    text += text.empty() ? term : " + " + term;
  }
  if (offset != 0 || text.empty()) text += (text.empty() ? "" : " + ") + std::to_string(offset);
  return text;
}

std::string coordinates(const Dims& space, const std::string& linear, const std::string& prefix, int width,
                        std::vector<std::string>& names, Language language) {
  std::string text;
  names.assign(space.size(), "");
  std::string rest = linear;
  auto integer = [language](const std::string& name) { return constant(language, "int", name); };
  for (std::size_t d = space.size(); d-- > 0;) {
    names[d] = prefix + std::to_string(d);
    const std::int64_t size = d + 1 == space.size() ? space[d] / width : space[d];
    const std::string scale = d + 1 == space.size() && width > 1 ? " * " + std::to_string(width) : "";
    if (d == 0) {
      text += integer(names[d]) + rest + scale + ";\n";
      break;
    }
    const std::string next = prefix + "q" + std::to_string(d);
    text += integer(names[d]) + "(" + rest + " % " + std::to_string(size) + ")" + scale + ";\n" + integer(next) + rest + " / " +
            std::to_string(size) + ";\n";
    rest = next;
  }
  return text;
}

bool random_by_fours(const Body& body) {
  for (const Instr& i : body.code) {
    if (i.kind != InstrKind::kRandom) continue;
    if (i.affine.offset % 4 != 0 || i.affine.coef.empty() || i.affine.coef.back() != 1) return false;
    for (std::size_t d = 0; d + 1 < i.affine.coef.size(); ++d)
      if (i.affine.coef[d] % 4 != 0) return false;
  }
  return true;
}

bool widens(const Body& body) {
  if (body.space.empty() || body.space.back() % 4 != 0) return false;
  auto plain = [&](const FlatAccess& at, bool store) {
    const std::int64_t last = at.strides.back();
    if (last != 1 && (store || last != 0)) return false;
    if (last == 1) {
      if (at.offset % 4 != 0) return false;
      for (std::size_t i = 0; i + 1 < at.strides.size(); ++i)
        if (at.strides[i] % 4 != 0) return false;
    }
    for (const DimRange& r : at.ranges)
      if (r.dim + 1 == static_cast<int>(body.space.size())) return false;
    return true;
  };
  for (const Load& l : body.loads)
    if (l.ids || !plain(l.at, false)) return false;
  for (const Store& s : body.stores)
    if (!plain(s.at, true)) return false;
  for (const Instr& i : body.code)
    if (i.kind == InstrKind::kRandom) return false;
  return true;
}

std::string print_code(const Body& body, const PrintOptions& o) {
  std::string out;
  const bool wide = o.width == 4, glsl = o.language == Language::kGlsl;
  const std::string type = float_type(o.language, wide), scalar = float_type(o.language, false);
  const std::string integer = glsl ? "int" : "i32", word = glsl ? "uint" : "u32", integers = glsl ? "ivec4" : "vec4i";
  auto name = [&](int i) { return o.prefix + std::to_string(i); };
  for (std::size_t i = 0; i < body.code.size(); ++i) {
    const Instr& in = body.code[i];
    std::string text;
    switch (in.kind) {
      case InstrKind::kLoad: {
        const Load& l = body.loads[static_cast<std::size_t>(in.index)];
        if (o.known) text = o.known(l);
        if (!text.empty()) break;
        const bool splat = wide && l.at.strides.back() == 0;
        std::string element = o.load(l, affine(l.at.strides, l.at.offset, o.index), wide && !splat);
        if (splat) element = type + "(" + element + ")";
        const std::string test = range_test(l.at.ranges, body.space, o.index);
        if (test.empty()) {
          text = element;
          break;
        }
        // Under `if`: outside of the range the element may lie outside of the buffer.
        out += (glsl ? type + " " : std::string("var ")) + name(static_cast<int>(i)) + " = " + type + "(0.0);\n";
        if (test != "false") out += "if (" + test + ") { " + name(static_cast<int>(i)) + " = " + element + "; }\n";
        continue;
      }
      case InstrKind::kConst: text = type + "(" + number(in.value) + ")"; break;
      case InstrKind::kUniform: text = type + "(tg_uniform(" + std::to_string(in.index) + "u))"; break;
      case InstrKind::kIndex: {
        const std::string at = affine(in.affine.coef, in.affine.offset, o.index);
        text = scalar + "(" + at + ")";
        if (wide && in.affine.coef.back() != 0)
          text = type + "(" + integers + "(" + at + ") + " + std::to_string(in.affine.coef.back()) + " * " + integers +
                 "(0, 1, 2, 3))";
        else if (wide)
          text = type + "(" + text + ")";
        break;
      }
      case InstrKind::kRandom:
        text = (wide ? "tg_random4(" : "tg_random(") + std::to_string(static_cast<std::uint32_t>(in.index)) + "u, " + word +
               "(" + affine(in.affine.coef, in.affine.offset, o.index) + "))";
        break;
      case InstrKind::kScalar:
        text = scalar_text(in.scalar, name(in.a), in.b >= 0 ? name(in.b) : "", in.c >= 0 ? name(in.c) : "", o.language, wide);
        break;
    }
    out += constant(o.language, type.c_str(), name(static_cast<int>(i))) + text + ";\n";
  }
  return out;
}

int uniform_vectors(const std::string& text) {
  int vectors = text.find("tg_u[") != std::string::npos ? 1 : 0;
  const std::string call = "tg_uniform(";
  for (std::size_t at = text.find(call); at != std::string::npos; at = text.find(call, at + 1))
    vectors = std::max(vectors, (4 + std::atoi(text.c_str() + at + call.size())) / 4 + 1);
  return vectors;
}

}  // namespace tabgrad::codegen
