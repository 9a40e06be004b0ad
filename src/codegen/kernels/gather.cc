// Gather and SegmentSum: rows of a table by id, and their gradient in pull form.
#include "codegen/emit.h"

namespace tabgrad::codegen {

Part gather_part(const Kernel& k, const std::vector<ArgInfo>& info) {
  Part part;
  part.name = "gather";
  const std::int64_t vocabulary = k.arg_dims[0][0], columns = k.arg_dims[0][1], rows = k.arg_dims[1][0];
  const bool epilogue = !k.body.code.empty(), wide = columns % 4 == 0 && (!epilogue || widens(k.body));
  name_arg(part, info, "table", 0, false, wide);
  name_arg(part, info, "ids", 1, false);
  const bool stored = !epilogue || k.store_product;
  if (stored) name_arg(part, info, "out", 2, true, wide);
  if (epilogue) use_epilogue_args(part, k.body, info, 2, wide);
  const std::int64_t each = wide ? columns / 4 : columns, threads = rows * each;
  part.workgroup_size = 128;
  part.workgroups = ceil_div(threads, 128);
  const std::string n = std::to_string(each), zero = wide ? "vec4f(0.0)" : "0.0";
  part.body = "let e = i32(wg * 128u + lid);\nif (e < " + std::to_string(threads) + ") {\nlet row = e / " + n +
              ";\nlet id = $ids[row" + "];\nvar v = " + zero + ";\nif (id >= 0 && id < " + std::to_string(vocabulary) +
              ") { v = $table[id * " + n + " + e % " + n + "]; }\n";
  if (stored) part.body += "$out[e] = v;\n";
  if (epilogue)
    part.body += "let column = e % " + n + " * " + (wide ? "4" : "1") + ";\n" +
                 print_epilogue(part, info, k.body, 2, "v", "row", "column", wide ? 4 : 1);
  part.body += "}\n";
  return part;
}

// One workgroup for a row of the table and up to 32 units (columns, or fours of them): all ids pass through workgroup memory, each of
// four teams looks through a part of them, and the teams' sums are added in order, so the sum's order is fixed.
Part segment_sum_part(const Kernel& k, const std::vector<ArgInfo>& info) {
  constexpr std::int64_t kTeam = 32, kTeams = 4, kThreads = kTeam * kTeams;
  Part part;
  part.name = "segment sum";
  const std::int64_t n = k.arg_dims[0][0], vocabulary = k.arg_dims[2][0], columns = k.arg_dims[2][1];
  const bool wide = columns % 4 == 0;
  const std::int64_t units = wide ? columns / 4 : columns, groups = ceil_div(units, kTeam);
  const std::string type = wide ? "vec4f" : "f32", width = std::to_string(units), count = std::to_string(n);
  name_arg(part, info, "ids", 0, false);
  name_arg(part, info, "rows", 1, false, wide);
  name_arg(part, info, "out", 2, true, wide);
  part.workgroup_size = kThreads;
  part.workgroups = vocabulary * groups;
  part.shared = {{"block", "vec4i", kThreads}, {"sums", type, kThreads}};
  std::string& s = part.body;
  s += "let row = i32(wg) / " + std::to_string(groups) + ";\nlet lane = i32(lid) % 32;\nlet team = i32(lid) / 32;\n";
  s += "let col = i32(wg) % " + std::to_string(groups) + " * 32 + lane;\nvar sum = " + type + "(0.0);\n";
  s += "for (var first = 0; first < " + count + "; first += " + std::to_string(4 * kThreads) + ") {\nvar mine = vec4i(-1);\n";
  s +=
      "for (var i = 0; i < 4; i++) {\nlet at = first + i32(lid) * 4 + i;\nif (at < " + count + ") { mine[i] = $ids[at]; }\n}\n";
  s += "$block[lid] = mine;\nworkgroupBarrier();\nfor (var q = team * 32; q < (team + 1) * 32; q++) {\n";
  s += "let hit = $block[q] == vec4i(row);\nif (any(hit) && col < " + width + ") {\n";
  s += "for (var i = 0; i < 4; i++) {\nif (hit[i]) { sum += $rows[(first + q * 4 + i) * " + width + " + col]; }\n}\n}\n}\n";
  s += "workgroupBarrier();\n}\n$sums[lid] = sum;\nworkgroupBarrier();\n";
  s += "if (team == 0 && col < " + width + ") { $out[row * " + width +
       " + col] = ($sums[lane] + $sums[lane + 32]) + ($sums[lane + 64] + " + "$sums[lane + 96]); }\n";
  return part;
}

}  // namespace tabgrad::codegen
