#include "codegen/wgsl.h"

#include <algorithm>
#include <cctype>
#include <map>
#include <set>

#include "codegen/printer.h"
#include "codegen/templates.h"
#include "tensor/dtype.h"

namespace tabgrad::codegen {
namespace {

bool in_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; }

// The bracket that closes the one at `open`.
std::size_t closing(const std::string& text, std::size_t open) {
  TG_CHECK(open < text.size() && text[open] == '[');
  std::size_t at = open;
  for (int depth = 0; at < text.size(); ++at) {
    depth += text[at] == '[' ? 1 : text[at] == ']' ? -1 : 0;
    if (depth == 0) break;
  }
  return at;
}

// Each `$name` replaced by what `rename` makes of it; a replacement that ends in ` + ` has opened the index that follows.
// `halves(name)`: 1 or 4 for an array of f16, or of vectors of them, otherwise 0. What is read of such is converted to f32, and what is
// stored in one, from f32.
std::string renamed(const std::string& text, const std::function<std::string(const std::string&)>& rename,
                    const std::function<int(const std::string&)>& halves = nullptr) {
  std::string out;
  for (std::size_t i = 0; i < text.size();) {
    if (text[i] != '$') {
      out += text[i++];
      continue;
    }
    std::size_t end = ++i;
    while (end < text.size() && in_word(text[end])) ++end;
    const std::string name = text.substr(i, end - i), with = rename(name);
    i = end;
    if (const int width = halves ? halves(name) : 0; width > 0) {
      const std::size_t close = closing(text, i);
      const std::string element =
          (with.ends_with(" + ") ? with : with + "[") + renamed(text.substr(i + 1, close - i - 1), rename, halves) + "]";
      i = close + 1;
      if (text.compare(i, 3, " = ") == 0) {
        const std::size_t stop = text.find(';', i);
        const std::string value = renamed(text.substr(i + 3, stop - i - 3), rename, halves);
        out += element + " = " + (width == 4 ? "vec4h(" : "f16(") + value + ")";
        i = stop;
      } else {
        out += (width == 4 ? "vec4f(" : "f32(") + element + ")";
      }
      continue;
    }
    out += with;
    if (with.ends_with(" + ")) {  // an offset: `b1[64 + `
      TG_CHECK(text[i] == '[');
      ++i;
    }
  }
  return out;
}

bool mentions(const std::string& text, const std::string& name) {
  const std::string word = "$" + name;
  for (std::size_t at = text.find(word); at != std::string::npos; at = text.find(word, at + 1))
    if (at + word.size() == text.size() || !in_word(text[at + word.size()])) return true;
  return false;
}

std::string for_width(const char* text, int width) {
  return renamed(text, [&](const std::string& name) -> std::string {
    if (name == "W" || name.empty()) return width == 4 ? "4" : "";
    const char* scalar = name == "F" ? "f32" : name == "I" ? "i32" : "u32";
    const char* vector = name == "F" ? "vec4f" : name == "I" ? "vec4i" : "vec4u";
    return width == 4 ? vector : scalar;
  });
}

// The library's functions by name, each with its text.
const std::vector<std::pair<std::string, std::string>>& library() {
  static const auto functions = [] {
    std::vector<std::pair<std::string, std::string>> result;
    for (const std::string& text :
         {for_width(templates::math, 1), for_width(templates::math, 4), std::string(templates::random)}) {
      for (std::size_t at = text.find("\nfn "); at != std::string::npos;) {
        const std::size_t next = text.find("\nfn ", at + 1);
        std::string body = text.substr(at + 1, next == std::string::npos ? next : next - at);
        const std::size_t comment = body.find("\n//");  // of the next function
        if (comment != std::string::npos) body.resize(comment + 1);
        result.emplace_back(body.substr(3, body.find('(') - 3), body);
        at = next;
      }
    }
    return result;
  }();
  return functions;
}

bool calls(const std::string& text, const std::string& function) { return text.find(function + "(") != std::string::npos; }

// The functions that a text needs, those that they need first.
std::string needed_functions(const std::string& text) {
  const auto& all = library();
  std::vector<bool> needed(all.size(), false);
  std::string seen = text;
  for (bool more = true; more;) {
    more = false;
    for (std::size_t i = 0; i < all.size(); ++i) {
      if (needed[i] || !calls(seen, all[i].first)) continue;
      needed[i] = more = true;
      seen += all[i].second;
    }
  }
  std::string out;
  for (std::size_t i = 0; i < all.size(); ++i)
    if (needed[i]) out += all[i].second;
  return out;
}

// The workgroup arrays of a shader: the parts' n-th arrays of a type are one, of the largest size.
struct Pool {
  std::string name, type;
  std::int64_t count = 0;
};
std::string pool_name(const Part& part, std::size_t array) {
  const std::string& type = part.shared[array].type;
  int number = 0;
  for (std::size_t i = 0; i < array; ++i) number += part.shared[i].type == type;
  return "shared_" + type + "_" + std::to_string(number);
}
std::vector<Pool> pools_of(const std::vector<const Part*>& parts) {
  std::vector<Pool> pools;
  for (const Part* part : parts) {
    for (std::size_t a = 0; a < part->shared.size(); ++a) {
      const std::string name = pool_name(*part, a);
      auto found = std::find_if(pools.begin(), pools.end(), [&](const Pool& p) { return p.name == name; });
      if (found == pools.end()) found = pools.insert(pools.end(), {name, part->shared[a].type, 0});
      found->count = std::max(found->count, part->shared[a].count);
    }
  }
  return pools;
}

}  // namespace

std::int64_t shared_floats(const std::vector<const Part*>& parts) {
  std::int64_t floats = 0;
  for (const Pool& p : pools_of(parts)) floats += p.count * (p.type == "f32" ? 1 : 4);
  return floats;
}

Finished finish(const std::vector<Part>& parts, const std::function<bool(int)>& rewritable, const Caps& caps) {
  Finished f;
  struct Binding {
    bool written = false, ids = false, vec4 = false, f16 = false;
    std::int64_t elements = 0;
  };
  std::vector<Binding> bindings;
  auto binding_of = [&](int arg) {
    const auto found = std::find(f.args.begin(), f.args.end(), arg);
    if (found != f.args.end()) return static_cast<std::size_t>(found - f.args.begin());
    f.args.push_back(arg);
    bindings.emplace_back();
    return f.args.size() - 1;
  };
  std::string declarations, body;
  std::int64_t first = 0;
  std::vector<const Part*> pointers;
  for (const Part& part : parts) pointers.push_back(&part);
  for (const Pool& pool : pools_of(pointers))
    declarations += "var<workgroup> " + pool.name + ": array<" + pool.type + ", " + std::to_string(pool.count) + ">;\n";
  for (std::size_t p = 0; p < parts.size(); ++p) {
    const Part& part = parts[p];
    TG_CHECK(part.workgroup_size == parts[0].workgroup_size);
    const std::string prefix = parts.size() > 1 ? "p" + std::to_string(p) + "_" : "";
    std::map<std::string, std::string> names;
    std::map<std::string, int> narrow;
    for (std::size_t a = 0; a < part.shared.size(); ++a) names[part.shared[a].name] = pool_name(part, a);
    for (const PartArg& a : part.args) {
      if (!mentions(part.declarations, a.name) && !mentions(part.body, a.name)) continue;  // a load outside of its range
      const std::size_t at = binding_of(a.arg);
      Binding& b = bindings[at];
      TG_CHECK(b.elements == 0 || (b.vec4 == a.vec4 && b.ids == a.ids && b.f16 == a.f16));
      if (a.f16) narrow[a.name] = a.vec4 ? 4 : 1;
      b = {b.written || a.written, a.ids, a.vec4, a.f16, std::max(b.elements, a.offset + a.elements)};
      TG_CHECK(!a.vec4 || a.offset % 4 == 0);
      names[a.name] = "b" + std::to_string(at) +
                      (a.offset > 0 ? "[" + std::to_string(a.vec4 ? a.offset / 4 : a.offset) + " + " : std::string());
    }
    auto rename = [&](const std::string& name) {
      const auto found = names.find(name);
      return found != names.end() ? found->second : prefix + name;
    };
    auto halves = [&](const std::string& name) { return narrow.contains(name) ? narrow.at(name) : 0; };
    declarations += renamed(part.declarations, rename, halves);
    const std::string text = renamed(part.body, rename, halves);
    if (parts.size() == 1) {
      body += text;
    } else {
      const std::string begin = std::to_string(first) + "u", end = std::to_string(first + part.workgroups) + "u";
      body += (p ? "else if (tg_wg < " : "if (tg_wg < ") + end + ") {\nlet wg = tg_wg - " + begin + ";\n" + text + "}\n";
    }
    first += part.workgroups;
    f.shader.name += (p ? " | " : "") + part.name;
  }
  TG_CHECK(static_cast<int>(bindings.size()) <= caps.max_args);

  std::string text;
  const int vectors = uniform_vectors(declarations + body + needed_functions(declarations + body));
  f.shader.uniforms = vectors > 0;
  if (vectors > 0) text += "@group(0) @binding(0) var<uniform> tg_u: array<vec4u, " + std::to_string(vectors) + ">;\n";
  if (calls(declarations + body, "tg_uniform"))
    text += "fn tg_uniform(i: u32) -> f32 { return bitcast<f32>(tg_u[(i + 4u) / 4u][(i + 4u) % 4u]); }\n";
  for (std::size_t i = 0; i < bindings.size(); ++i) {
    const Binding& b = bindings[i];
    const bool writes = b.written || rewritable(f.args[i]);
    text += "@group(0) @binding(" + std::to_string(i + 1) + ") var<storage, " + (writes ? "read_write" : "read") + "> b" +
            std::to_string(i) + ": array<" +
            (b.ids    ? "i32"
             : b.vec4 ? (b.f16 ? "vec4h" : "vec4f")
                      : (b.f16 ? "f16" : "f32")) +
            ">;\n";
    f.shader.args.push_back({writes, storage_words(b.f16 ? DType::kF16 : DType::kF32, b.elements)});
  }
  text += needed_functions(declarations + body) + declarations;
  text += "@compute @workgroup_size(" + std::to_string(parts[0].workgroup_size) +
          ") fn main(@builtin(workgroup_id) tg_id: vec3u, @builtin(local_invocation_index) lid: u32) {\n";
  const std::string name = parts.size() == 1 ? "wg" : "tg_wg";
  if (first <= caps.max_workgroups) {
    f.grid[0] = static_cast<std::uint32_t>(first);
    text += "let " + name + " = tg_id.x;\n";
  } else {  // folded; the last row may be longer than there is work
    const std::int64_t rows = (first + caps.max_workgroups - 1) / caps.max_workgroups, columns = (first + rows - 1) / rows;
    TG_CHECK(rows <= caps.max_workgroups);
    f.grid = {static_cast<std::uint32_t>(columns), static_cast<std::uint32_t>(rows), 1};
    text += "let " + name + " = tg_id.x + tg_id.y * " + std::to_string(columns) + "u;\nif (" + name +
            " >= " + std::to_string(first) + "u) { return; }\n";
  }
  text += body + "}\n";
  const bool f16 = std::any_of(bindings.begin(), bindings.end(), [](const Binding& b) { return b.f16; });
  const bool subgroups = text.find("subgroup") != std::string::npos;
  f.shader.text = std::string(f16 ? "enable f16;\n" : "") + (subgroups ? "enable subgroups;\n" : "") + text;
  return f;
}

}  // namespace tabgrad::codegen
