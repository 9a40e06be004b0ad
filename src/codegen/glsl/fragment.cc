#include "codegen/glsl/fragment.h"

#include <algorithm>
#include <bit>

#include "codegen/templates.h"

namespace tabgrad::codegen {
namespace {

constexpr std::int64_t kExactInFloats = std::int64_t{1} << 24;

bool calls(const std::string& text, const std::string& function) { return text.find(function + "(") != std::string::npos; }

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  for (std::size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size()))
    text.replace(at, from.size(), to);
  return text;
}

std::string for_types(const std::string& text) {
  if (text.find('$') == std::string::npos) return text;
  return replaced(replaced(text, "$F", "float"), "$I", "int") + replaced(replaced(text, "$F", "vec4"), "$I", "ivec4");
}

// The library's functions by name, each with its text.
const std::vector<std::pair<std::string, std::string>>& library() {
  static const auto functions = [] {
    std::vector<std::pair<std::string, std::string>> result;
    const std::string text = templates::library;
    for (std::size_t at = text.find("\n// tg_"); at != std::string::npos;) {
      const std::size_t next = text.find("\n// tg_", at + 1);
      const std::string part = text.substr(at + 1, next == std::string::npos ? next : next - at);
      result.emplace_back(part.substr(3, part.find_first_of(": \n", 3) - 3), for_types(part.substr(part.find('\n') + 1)));
      at = next;
    }
    return result;
  }();
  return functions;
}

// The functions that a text needs; the library has them in an order in which they can stand.
std::string needed_functions(const std::string& text) {
  const auto& all = library();
  std::string needed;
  for (std::size_t i = all.size(); i-- > 0;)
    if (calls(text + needed, all[i].first)) needed = all[i].second + needed;
  return needed;
}

std::string place(const TextureShape& shape, const std::string& i) {
  if (shape.width == 1) return "ivec2(0)";
  const int shift = std::bit_width(static_cast<std::uint64_t>(shape.width)) - 1;
  return "ivec2(" + i + " & " + num(shape.width - 1) + ", " + i + " >> " + num(shift) + ")";
}

// The middle of the texel, for a sampler. Columns are exact; rows err by 2^-11 of one at most.
std::string middle(const TextureShape& shape, const std::string& row) {
  const float column = 1.0f / static_cast<float>(shape.width);
  return "vec2(column - " + row + " + " + number(0.5f * column) + ", (" + row + " + 0.5) * " +
         number(1.0f / static_cast<float>(shape.height)) + ")";
}

}  // namespace

std::size_t Fragment::input(int arg) {
  const int same = info_[static_cast<std::size_t>(arg)].same_as;
  if (same >= 0) arg = same;
  for (std::size_t k = 0; k < inputs_.size(); ++k)
    if (inputs_[k].arg == arg) return k;
  inputs_.push_back({arg, info_[static_cast<std::size_t>(arg)].elements});
  return inputs_.size() - 1;
}

std::string Fragment::texel(int arg, const std::string& i) {
  const std::size_t k = input(arg);
  const TextureShape shape = texture_shape(inputs_[k].elements);
  const bool sampled = uniform_flow && shape.width > 1 && shape.width * shape.height <= kExactInFloats;
  return (sampled ? "sample" : "texel") + num(static_cast<std::int64_t>(k)) + "(" + i + ")";
}

std::string Fragment::element(int arg, const std::string& e) {
  return "element" + num(static_cast<std::int64_t>(input(arg))) + "(" + e + ")";
}

std::string Fragment::four(int arg, const std::string& e, std::int64_t stride, bool aligned) {
  if (stride == 0) return "vec4(" + element(arg, e) + ")";
  if (stride == 1 && aligned) return texel(arg, "(" + e + ") >> 2");
  std::string text = "vec4(";
  for (std::int64_t lane = 0; lane < 4; ++lane) text += element(arg, e + " + " + num(lane * stride)) + (lane < 3 ? ", " : ")");
  return text;
}

std::string Fragment::output(int arg) {
  outputs_.push_back({arg, info_[static_cast<std::size_t>(arg)].elements});
  TG_CHECK(outputs_.back().elements == outputs_[0].elements);
  return "out" + num(static_cast<std::int64_t>(outputs_.size()) - 1);
}

Pass Fragment::made(const std::string& name, const std::string& guard) const {
  TG_CHECK(!outputs_.empty());
  Pass pass;
  const TextureShape area = texture_shape(outputs_[0].elements);
  pass.columns = area.width;
  pass.rows = area.height;
  pass.shader.name = name;
  pass.shader.fragment = true;
  const std::string code = functions + body, all = needed_functions(code) + code;
  std::string text = "#version 300 es\nprecision highp float;\nprecision highp int;\nprecision highp sampler2D;\n";
  const int vectors = uniform_vectors(all);
  pass.shader.uniforms = vectors > 0;
  if (vectors > 0) text += "layout(std140) uniform TgUniforms { highp uvec4 tg_u[" + num(vectors) + "]; };\n";
  if (calls(all, "tg_uniform"))
    text += "float tg_uniform(uint i) { return uintBitsToFloat(tg_u[(i + 4u) >> 2u][(i + 4u) & 3u]); }\n";
  if ((code + guard).find("tg_index") != std::string::npos) text += "uniform highp int tg_index;\n";
  for (std::size_t k = 0; k < inputs_.size(); ++k) {
    const std::string n = num(static_cast<std::int64_t>(k)), sampler = "t" + n;
    const TextureShape shape = texture_shape(inputs_[k].elements);
    const bool elements = calls(code, "element" + n);
    text += "uniform sampler2D " + sampler + ";\n";
    if (elements || calls(code, "texel" + n))
      text += "vec4 texel" + n + "(int i) { return texelFetch(" + sampler + ", " + place(shape, "i") + ", 0); }\n";
    if (calls(code, "sample" + n))
      text += "vec4 sample" + n + "(int i) {\nfloat column = float(i) * " + number(1.0f / static_cast<float>(shape.width)) +
              ", row = floor(column);\nreturn texture(" + sampler + ", " + middle(shape, "row") + ");\n}\n";
    if (elements) text += "float element" + n + "(int e) { return texel" + n + "(e >> 2)[e & 3]; }\n";
    pass.args.push_back(inputs_[k].arg);
    pass.shader.args.push_back({false, inputs_[k].elements});
  }
  for (std::size_t k = 0; k < outputs_.size(); ++k) {
    const std::string n = num(static_cast<std::int64_t>(k));
    text += "layout(location = " + n + ") out vec4 out" + n + ";\n";
    pass.args.push_back(outputs_[k].arg);
    pass.shader.args.push_back({true, outputs_[k].elements});
  }
  const int shift = std::bit_width(static_cast<std::uint64_t>(area.width)) - 1;
  text += needed_functions(code) + functions + "void main() {\nint i = (int(gl_FragCoord.y) << " + num(shift) +
          ") + int(gl_FragCoord.x);\n" + guard + body + "}\n";
  pass.shader.text = std::move(text);
  return pass;
}

Pass Fragment::finish(const std::string& name) const { return made(name, ""); }

Pass Fragment::finish_part(const std::string& name, int index, std::int64_t count) const {
  const std::string n = num(count);
  Pass pass = made(name, "if (i < tg_index * " + n + " || i >= (tg_index + 1) * " + n + ") discard;\n");
  pass.index = index;
  pass.first_row = index * count / pass.columns;
  pass.rows = ((index + 1) * count + pass.columns - 1) / pass.columns - pass.first_row;
  return pass;
}

bool is_aligned(const FlatAccess& at) {
  if (at.offset % 4 != 0) return false;
  for (std::size_t d = 0; d + 1 < at.strides.size(); ++d)
    if (at.strides[d] % 4 != 0) return false;
  return true;
}

bool draws_by_fours(const Body& body) {
  // Along a single dimension the last four may reach beyond its end: nobody reads what they give.
  if (body.space.empty() || (body.space.size() > 1 && body.space.back() % 4 != 0)) return false;
  for (const Load& l : body.loads)
    for (const DimRange& r : l.at.ranges)
      if (r.dim + 1 == static_cast<int>(body.space.size())) return false;
  return random_by_fours(body);
}

bool flows_alike(const Body& body) {
  return std::all_of(body.loads.begin(), body.loads.end(), [](const Load& l) { return l.at.ranges.empty(); });
}

PrintOptions print_options(Fragment& f, int width) {
  PrintOptions o;
  o.language = Language::kGlsl;
  o.width = width;
  o.load = [&f](const Load& l, const std::string& element, bool wide) {
    return wide ? f.four(l.arg, element, l.at.strides.back(), is_aligned(l.at)) : f.element(l.arg, element);
  };
  return o;
}

Kernel copy_of(const Dims& space, const FlatAccess& from) {
  Kernel k;
  k.body.space = space;
  k.body.loads = {{0, from, false}};
  Instr load;
  load.kind = InstrKind::kLoad;
  load.index = 0;
  k.body.code = {load};
  k.body.stores = {{1, 0, {contiguous_strides(space), 0, {}}}};
  return k;
}

}  // namespace tabgrad::codegen
