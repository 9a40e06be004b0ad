#include "codegen/emit.h"

namespace tabgrad::codegen {

namespace {

PartArg* find_arg(Part& part, int id) {
  for (PartArg& a : part.args)
    if (a.arg == id) return &a;
  return nullptr;
}
const PartArg& declared(const Part& part, int id) {
  for (const PartArg& a : part.args)
    if (a.arg == id) return a;
  TG_CHECK(false);
}

}  // namespace

Part template_part(const char* text, std::string name, const std::vector<Constant>& constants) {
  Part part;
  part.name = std::move(name);
  for (const Constant& c : constants) part.declarations += std::string("const $") + c.name + " = " + c.value + ";\n";
  const std::string whole = text, mark = "// body\n";
  const std::size_t at = whole.find(mark);
  TG_CHECK(at != std::string::npos);
  part.declarations += whole.substr(0, at);
  part.body = whole.substr(at + mark.size());
  return part;
}

void name_arg(Part& part, const std::vector<ArgInfo>& info, const char* name, int arg, bool written, bool vec4) {
  const int id = arg_id(info, arg);
  const ArgInfo& a = info[static_cast<std::size_t>(id)];
  part.args.push_back({name, id, written, a.ids, vec4, a.elements});
}

void use_arg(Part& part, const std::vector<ArgInfo>& info, int arg, bool written, bool vec4) {
  const int id = arg_id(info, arg);
  const ArgInfo& a = info[static_cast<std::size_t>(id)];
  // What is only read is always an array of vectors if it can be, so that parts of one launch agree.
  vec4 = (vec4 || (!written && !a.ids)) && a.elements % 4 == 0;
  if (PartArg* known = find_arg(part, id)) {
    TG_CHECK(!(written || known->written) || vec4 == known->vec4);
    known->vec4 = known->vec4 || vec4;
    known->written = known->written || written;
    return;
  }
  part.args.push_back({"a" + std::to_string(id), id, written, a.ids, vec4, a.elements});
}

void use_epilogue_args(Part& part, const Body& body, const std::vector<ArgInfo>& info, int known, bool wide) {
  for (const Load& l : body.loads)
    if (l.arg != known && !find_arg(part, arg_id(info, l.arg)))
      use_arg(part, info, l.arg, false, wide && l.at.strides.back() == 1);
  for (const Store& s : body.stores) use_arg(part, info, s.arg, true, wide);
}

void use_body_args(Part& part, const Body& body, const std::vector<ArgInfo>& info, bool wide) {
  for (const Load& l : body.loads) use_arg(part, info, l.arg, false, wide && l.at.strides.back() == 1);
  for (const Store& s : body.stores) use_arg(part, info, s.arg, true, wide);
}

std::string load_text(const Part& part, const std::vector<ArgInfo>& info, int arg, const std::string& element, bool whole) {
  const PartArg& a = declared(part, arg_id(info, arg));
  const std::string name = "$" + a.name;
  if (a.ids) return "f32(" + name + "[" + element + "])";
  if (!a.vec4) {
    if (!whole) return name + "[" + element + "]";
    std::string text = "vec4f(";
    for (int i = 0; i < 4; ++i) text += name + "[" + element + " + " + std::to_string(i) + (i < 3 ? "], " : "])");
    return text;
  }
  if (whole) return name + "[(" + element + ") / 4]";
  return name + "[(" + element + ") / 4][(" + element + ") % 4]";
}

std::string store_text(const Part& part, const std::vector<ArgInfo>& info, int arg, const std::string& element,
                       const std::string& value, bool whole) {
  const PartArg& a = declared(part, arg_id(info, arg));
  const std::string name = "$" + a.name;
  if (!whole) {
    TG_CHECK(!a.vec4);
    return name + "[" + element + "] = " + value + ";\n";
  }
  if (a.vec4) return name + "[(" + element + ") / 4] = " + value + ";\n";
  std::string text;
  for (int i = 0; i < 4; ++i)
    text += name + "[" + element + " + " + std::to_string(i) + "] = " + value + "[" + std::to_string(i) + "];\n";
  return text;
}

std::string print_stores(const Part& part, const std::vector<ArgInfo>& info, const Body& body, const PrintOptions& o) {
  std::string text;
  for (const Store& s : body.stores)
    text += store_text(part, info, s.arg, affine(s.at.strides, s.at.offset, o.index), o.prefix + std::to_string(s.value),
                       o.width == 4);
  return text;
}

std::string print_epilogue(const Part& part, const std::vector<ArgInfo>& info, const Body& body, int known,
                           const std::string& value, const std::string& row, const std::string& column, int width) {
  if (body.code.empty()) return "";
  PrintOptions o;
  o.width = width;
  const Dims rows(body.space.begin(), body.space.empty() ? body.space.end() : body.space.end() - 1);
  const std::string text = coordinates(rows, row, "i", 1, o.index);
  if (!body.space.empty()) o.index.push_back(column);
  o.load = [&](const Load& l, const std::string& element, bool whole) { return load_text(part, info, l.arg, element, whole); };
  o.known = [&](const Load& l) { return l.arg == known ? value : ""; };
  return text + print_code(body, o) + print_stores(part, info, body, o);
}

}  // namespace tabgrad::codegen
