// Claimed attention, forward and backward, without T×T scores in memory.
#include "codegen/kernels/rows.h"
#include "codegen/templates.h"

namespace tabgrad::codegen {
namespace {

constexpr int kTeams = 4;

std::string num(std::int64_t n) { return std::to_string(n); }

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
    p.workgroup_size = 32 * kTeams;
    p.body = unrolled(p.body, dv_);
    p.body = unrolled(p.body, ceil_div(tile_ * dv_, p.workgroup_size), "", "@e ");
    p.body = unrolled(p.body, ceil_div(dv_, 4), "", "@q ");
    p.workgroups = batch_ * heads * ceil_div(t_, 32);
    const std::int64_t vectors = std::max<std::int64_t>(tile_ * dv_, 2 * p.workgroup_size);
    p.shared = {{"tile_a", "vec4f", vectors},
                {"tile_b", "vec4f", vectors},
                {"tops", "f32", 32 * kTeams},
                {"sums", "f32", 32 * kTeams},
                {"deltas", "vec4f", tile_}};
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

  // The teams' `variable`s (each an expression of d, as @), added up and stored by $put_NAME(at, d, …) where `live`. Four of them a
  // round, one a team, through the tiles, which nobody reads any more.
  void add_teams(Part& p, const std::string& variable, const std::string& live, const std::string& put) const {
    static_assert(kTeams == 4);
    std::string& s = p.body;
    for (std::int64_t first = 0; first < dv_; first += kTeams) {
      const std::int64_t count = std::min<std::int64_t>(kTeams, dv_ - first);
      for (std::int64_t j = 0; j < count; ++j) {
        std::string value = variable;
        replace(value, "@", num(first + j));
        s += (j < 2 ? "$tile_a[" : "$tile_b[") + num(j % 2 * 128) + " + i32(lid)] = " + value + ";\n";
      }
      const auto sum_of = [](const std::string& tile) {
        return "(" + tile + "[slot] + " + tile + "[slot + 32]) + (" + tile + "[slot + 64] + " + tile + "[slot + 96])";
      };
      s += "workgroupBarrier();\nif (" + live + " && team < " + num(count) +
           ") {\nlet slot = team % 2 * 128 + me;\nvar v = " + sum_of("$tile_a") +
           ";\nif (team >= 2) { v = " + sum_of("$tile_b") + "; }\n";
      std::string store = put;
      replace(store, "@", num(first) + " + team");
      s += store + "\n}\nworkgroupBarrier();\n";
    }
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
    e.add_teams(p, "acc@ * weight", "i < $T", "$put_out((b * $T + i) * $H * $D + h * $D, @, v * scale);");
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
    if (queries) {
      e.add_teams(p, "dq@", "i < $T", "$put_dqkv(row * $W + h * $D, @, v);");
    } else {
      e.add_teams(p, "dk@", "j < $T", "$put_dqkv(k_at, @, v);");
      e.add_teams(p, "dv@", "j < $T", "$put_dqkv(k_at + $KV * $D, @, v);");
    }
    result.parts.push_back(std::move(p));
  }
  return result;
}

}  // namespace tabgrad::codegen
