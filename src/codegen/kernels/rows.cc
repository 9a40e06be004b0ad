// Claimed kernels over rows: softmax, cross-entropy, sums of squares; and what row kernels share.
#include "codegen/kernels/rows.h"

#include <bit>

#include "codegen/templates.h"

namespace tabgrad::codegen {
namespace {

constexpr std::int64_t kKeptUnits = 16;  // of a row, in an invocation's registers
constexpr std::int64_t kSubgroupUnits = 8;  // of an invocation, for which a subgroup does a row

std::string num(std::int64_t n) { return std::to_string(n); }

// The texts' #exp, #columns (the numbers of a unit's columns, e counting units), #target (that an id is compared as) and #one (the
// target's own number).
void print_units(std::string& text, const RowTeams& t) {
  replace(text, "#exp", t.wide ? "tg_exp4" : "tg_exp");
  replace(text, "#columns", t.wide ? "vec4i(e % $U * 4) + vec4i(0, 1, 2, 3)" : "e % $U");
  replace(text, "#target", t.wide ? "vec4i(target_id)" : "target_id");
  replace(text, "#one", t.wide ? "[at + target_id / 4][target_id % 4]" : "[at + target_id]");
}

std::string unit_type(bool wide) {
  return wide ? "alias $V = vec4f;\nfn $fold(v: vec4f) -> f32 { return (v.x + v.y) + (v.z + v.w); }\n"
                "fn $most(v: vec4f) -> f32 { return max(max(v.x, v.y), max(v.z, v.w)); }\n"
              : "alias $V = f32;\nfn $fold(v: f32) -> f32 { return v; }\nfn $most(v: f32) -> f32 { return v; }\n";
}

}  // namespace

void replace(std::string& text, const std::string& from, const std::string& to) {
  for (std::size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size()))
    text.replace(at, from.size(), to);
}

std::string unrolled(const std::string& text, std::int64_t count, const std::string& number, const char* tag) {
  std::string out;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = text.find('\n', at) + 1;
    const std::string line = text.substr(at, end - at);
    at = end;
    if (!line.starts_with(tag)) {
      out += line;
      continue;
    }
    for (std::int64_t d = 0; d < count; ++d)
      for (char c : line.substr(3)) out += c != '@' ? std::string(1, c) : number.empty() ? num(d) : number;
  }
  return out;
}

std::string row_text(const std::string& text, const RowTeams& t) {
  const bool keeps = t.own <= kKeptUnits;
  std::string out, loads, loop;
  const auto close = [&] {
    if (!loop.empty()) out += "for (var d = 0; d < " + num(t.own) + "; d++) {\n" + unrolled(loads + loop, 1, "d") + "}\n";
    loop.clear();
  };
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = text.find('\n', at) + 1;
    const std::string line = text.substr(at, end - at);
    at = end;
    const bool load = line.starts_with("@l ");
    if (keeps) {
      out += load ? "@d " + line.substr(3) : line;
    } else if (load) {
      loads += "@d " + line.substr(3);
    } else if (line.starts_with("@d ")) {
      loop += line;
    } else {
      close();
      out += line;
    }
  }
  close();
  return keeps ? unrolled(out, t.own) : out;
}

// About four units an invocation, in teams of up to a workgroup. With subgroups, kernels that keep little do a row by one subgroup, which
// needs no barrier, or, where it is longer, by 128 invocations, or more for rows that no registers hold. On an H200 softmax of 256 MiB goes
// by that at 91 to 96 % of a copy's rate from 256 to 4096 columns, against 59 to 86 % by workgroups' teams of four units; gradients of
// norms, which keep five values of a unit, lose a sixth by it.
RowTeams row_teams(std::int64_t rows, std::int64_t cols, bool wide, std::int64_t subgroup, bool keeps_little) {
  RowTeams t;
  t.rows = rows;
  t.cols = cols;
  t.wide = wide;
  t.units = wide ? cols / 4 : cols;
  t.subgroup = subgroup;
  if (subgroup == 0 || !keeps_little) {
    t.team = std::max(t.team, subgroup);
    while (t.team < 256 && t.team * 4 < t.units) t.team *= 2;
  } else if (t.units <= kSubgroupUnits * subgroup) {
    t.team = subgroup;
  } else {
    t.team = t.units <= kKeptUnits * 128 ? 128 : 256;
  }
  t.teams = std::max<std::int64_t>(1, 128 / t.team);
  t.own = ceil_div(t.units, t.team);
  return t;
}

Part row_part(const char* text, const char* name, const RowTeams& t, const std::vector<Constant>& more) {
  std::vector<Constant> constants{
      {"R", num(t.rows)}, {"C", num(t.cols)}, {"U", num(t.units)}, {"T", num(t.team)}, {"ROWS", num(t.teams)}};
  constants.insert(constants.end(), more.begin(), more.end());
  std::string whole = templates::workgroup;
  const bool across = t.subgroup == 0 || t.team > t.subgroup;  // do results pass through workgroup memory?
  if (t.subgroup > 0) {
    constants.push_back({"S", num(t.subgroup)});
    const std::string butterfly =
        unrolled(templates::subgroup, std::countr_zero(static_cast<std::uint64_t>(t.subgroup)), "", "@s ");
    whole = unrolled(butterfly, across ? 1 : 0, "", "@w ");
  }
  whole += text;
  Part part = template_part(whole.c_str(), name, constants);
  part.declarations += unit_type(t.wide);
  part.workgroup_size = static_cast<int>(t.threads());
  if (t.subgroup == 0) {
    part.shared = {{"all", "vec4f", t.threads() / 4}};
  } else if (across) {
    part.shared = {{"all", "f32", t.threads() / t.subgroup}};
  }
  part.workgroups = ceil_div(t.rows, t.teams);
  return part;
}

Parts softmax_parts(const Kernel& k, const std::vector<ArgInfo>& info, const Caps& caps) {
  const std::int64_t rows = k.arg_dims[0][0], cols = k.arg_dims[0][1];
  const RowTeams teams = row_teams(rows, cols, cols % 4 == 0, caps.subgroups, true);
  Part p = row_part(k.grad ? templates::softmax_grad : templates::softmax, k.grad ? "softmax gradient" : "softmax", teams, {});
  print_units(p.body, teams);
  p.body = row_text(p.body, teams);
  name_arg(p, info, k.grad ? "y" : "x", k.grad ? 1 : 0, false, teams.wide);
  if (k.grad) name_arg(p, info, "dy", 2, false, teams.wide);
  name_arg(p, info, k.grad ? "dx" : "y", k.grad ? 3 : 1, true, teams.wide);
  return {{std::move(p)}, {}};
}

Parts cross_entropy_parts(const Kernel& k, const std::vector<ArgInfo>& info, const Caps& caps) {
  const std::int64_t rows = k.arg_dims[0][0], cols = k.arg_dims[0][1];
  const RowTeams teams = row_teams(rows, cols, cols % 4 == 0, k.grad ? 0 : caps.subgroups, true);
  Part p = row_part(k.grad ? templates::cross_entropy_grad : templates::cross_entropy,
                    k.grad ? "cross entropy gradient" : "cross entropy", teams, {});
  print_units(p.body, teams);
  p.body = row_text(p.body, teams);
  name_arg(p, info, "x", 0, false, teams.wide);
  name_arg(p, info, "target_ids", 1, false);
  if (!k.grad) {
    name_arg(p, info, "nll", 2, true);
    name_arg(p, info, "lse", 3, true);
    return {{std::move(p)}, {}};
  }
  p.workgroup_size = 128;
  p.workgroups = ceil_div(teams.rows * teams.units, 128);
  name_arg(p, info, "lse", 3, false);
  name_arg(p, info, "dnll", 4, false);
  name_arg(p, info, "dx", 5, true, teams.wide);
  return {{std::move(p)}, {}};
}

// Arguments x1, x2, … → scalar: the chunks of all arrays leave their sums side by side, and a last part adds them and runs the
// epilogue, whose arguments follow.
Parts sum_squares_parts(const Kernel& k, const std::vector<ArgInfo>& info, const Caps& caps) {
  constexpr std::int64_t kThreads = 256, kMostChunks = 512;
  Parts result;
  const int scratch = static_cast<int>(info.size()), out = static_cast<int>(k.arg_dims.size()) - 1;
  std::int64_t total = 0;
  std::vector<Part> parts;
  for (int i = 0; i < out; ++i) {
    const std::int64_t elements = info[static_cast<std::size_t>(i)].elements;
    const bool wide = elements % 4 == 0;
    const std::int64_t n = wide ? elements / 4 : elements;
    const std::int64_t chunks = std::clamp<std::int64_t>(ceil_div(n, 4 * kThreads), 1, kMostChunks), each = ceil_div(n, chunks);
    const RowTeams team{.rows = chunks, .wide = wide, .team = kThreads, .teams = 1, .subgroup = caps.subgroups};
    Part p =
        row_part(templates::sum_squares, "sum of squares", team, {{"N", num(n)}, {"EACH", num(each)}, {"FIRST", num(total)}});
    name_arg(p, info, "x", i, false, wide);
    parts.push_back(std::move(p));
    total += chunks;
  }
  result.scratch = {{total}};
  std::vector<ArgInfo> more = info;
  more.push_back({total, false, -1});
  for (Part& p : parts) {
    name_arg(p, more, "out", scratch, true);
    result.parts.push_back(std::move(p));
  }
  Part sum = row_part(templates::sum_chunks, "sum", {.rows = 1, .team = kThreads, .teams = 1, .subgroup = caps.subgroups},
                      {{"N", num(total)}});
  name_arg(sum, more, "x", scratch, false);
  const bool epilogue = !k.body.code.empty(), stored = !epilogue || k.store_product;
  if (stored) name_arg(sum, info, "out", out, true);
  if (epilogue) use_epilogue_args(sum, k.body, info, out, false);
  sum.body +=
      std::string(stored ? "$out[0] = sum;\n" : "") + print_epilogue(sum, info, k.body, out, "sum", "0", "0", 1) + "}\n";
  result.parts.push_back(std::move(sum));
  return result;
}

}  // namespace tabgrad::codegen
