// Claimed attention, forward and backward, without T×T scores in memory.
#include "codegen/emit.h"
#include "codegen/templates.h"

namespace tabgrad::codegen {
namespace {

constexpr int kTeams = 4;

std::string num(std::int64_t n) { return std::to_string(n); }

// Lines that begin with @d once for each d < count, with @ as its number.
std::string unrolled(const std::string& text, std::int64_t count) {
  std::string out;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = text.find('\n', at) + 1;
    const std::string line = text.substr(at, end - at);
    at = end;
    if (!line.starts_with("@d ")) {
      out += line;
      continue;
    }
    for (std::int64_t d = 0; d < count; ++d)
      for (char c : line.substr(3)) out += c == '@' ? num(d) : std::string(1, c);
  }
  return out;
}

class Emitter {
 public:
  Emitter(const Kernel& k, const std::vector<ArgInfo>& info) : info_(info) {
    const Dims& qkv = k.arg_dims[0];
    batch_ = qkv[0];
    t_ = qkv[1];
    heads_ = k.attrs.heads;
    kv_ = k.attrs.kv_heads;
    d_ = qkv[2] / (heads_ + 2 * kv_);
    const std::int64_t dv = ceil_div(d_, 4);
    tile_ = dv <= 8 ? 32 : 16;  // 8 KiB for heads of up to 64
    constants_ = {{"T", num(t_)},
                  {"H", num(heads_)},
                  {"KV", num(kv_)},
                  {"G", num(heads_ / kv_)},
                  {"D", num(d_)},
                  {"DV", num(dv)},
                  {"W", num(qkv[2])},
                  {"S", num(kTeams)},
                  {"BK", num(tile_)},
                  {"OWN", num(tile_ / kTeams)},
                  {"SCALE", number(k.attrs.scale)},
                  {"CAUSAL", k.attrs.causal ? "true" : "false"}};
    dv_ = dv;
  }

  Part part(const char* text, const char* name, std::int64_t heads) const {
    Part p = template_part(text, name, constants_);
    p.body = unrolled(p.body, dv_);
    p.workgroup_size = 32 * kTeams;
    p.workgroups = batch_ * heads * ceil_div(t_, 32);
    p.shared = {{"tile_a", "vec4f", tile_ * dv_},
                {"tile_b", "vec4f", tile_ * dv_},
                {"add", "vec4f", 32 * kTeams},
                {"tops", "f32", 32 * kTeams},
                {"sums", "f32", 32 * kTeams}};
    return p;
  }
  // An argument whose rows of heads are read, or written, by fours: fn load_NAME(at, d), fn put_NAME(at, d, v).
  void use(Part& p, const char* name, int arg, bool written) const {
    const bool wide = d_ % 4 == 0;
    name_arg(p, info_, name, arg, written, wide);
    const std::string n = name, at = "at + d * 4";
    std::string& text = p.declarations;
    if (written) {
      text += "fn $put_" + n + "(at: i32, d: i32, v: vec4f) {\n";
      if (wide) text += "$" + n + "[at / 4 + d] = v;\n";
      for (int i = 0; i < 4 && !wide; ++i)
        text +=
            "if (d * 4 + " + num(i) + " < " + num(d_) + ") { $" + n + "[" + at + " + " + num(i) + "] = v[" + num(i) + "]; }\n";
    } else {
      text += "fn $load_" + n + "(at: i32, d: i32) -> vec4f {\n";
      if (wide) {
        text += "return $" + n + "[at / 4 + d];\n";
      } else {
        text += "var v = vec4f(0.0);\n";
        for (int i = 0; i < 4; ++i)
          text += "if (d * 4 + " + num(i) + " < " + num(d_) + ") { v[" + num(i) + "] = $" + n + "[" + at + " + " + num(i) +
                  "]; }\n";
        text += "return v;\n";
      }
    }
    text += "}\n";
  }

  std::int64_t heads() const { return heads_; }
  std::int64_t kv_heads() const { return kv_; }

 private:
  const std::vector<ArgInfo>& info_;
  std::int64_t batch_, t_, heads_, kv_, d_, tile_, dv_;
  std::vector<Constant> constants_;
};

}  // namespace

// Arguments: qkv → out, lse; gradient: qkv, out, lse, dout → dqkv.
Parts attention_parts(const Kernel& k, const std::vector<ArgInfo>& info) {
  const Emitter e(k, info);
  if (!k.grad) {
    Part p = e.part(templates::attention_forward, "attention", e.heads());
    e.use(p, "qkv", 0, false);
    e.use(p, "out", 1, true);
    name_arg(p, info, "lse", 2, true);
    return {{std::move(p)}, {}};
  }
  Parts result;
  for (const bool queries : {false, true}) {
    Part p = queries ? e.part(templates::attention_dq, "attention dq", e.heads())
                     : e.part(templates::attention_dkv, "attention dk dv", e.kv_heads());
    e.use(p, "qkv", 0, false);
    e.use(p, "out", 1, false);
    name_arg(p, info, "lse", 2, false);
    e.use(p, "dout", 3, false);
    e.use(p, "dqkv", 4, true);
    result.parts.push_back(std::move(p));
  }
  return result;
}

}  // namespace tabgrad::codegen
