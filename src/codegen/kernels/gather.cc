// Gather and SegmentSum: rows of a table by id, and their gradient in pull form.
#include "codegen/emit.h"

namespace tabgrad::codegen {

Part gather_part(const Kernel& k, const std::vector<ArgInfo>& info) {
  Part part;
  part.name = "gather";
  const std::int64_t vocabulary = k.arg_dims[0][0], columns = k.arg_dims[0][1], rows = k.arg_dims[1][0];
  const bool wide = columns % 4 == 0;
  name_arg(part, info, "table", 0, false, wide);
  name_arg(part, info, "ids", 1, false);
  name_arg(part, info, "out", 2, true, wide);
  const std::int64_t each = wide ? columns / 4 : columns, threads = rows * each;
  part.workgroup_size = 128;
  part.workgroups = ceil_div(threads, 128);
  const std::string n = std::to_string(each), zero = wide ? "vec4f(0.0)" : "0.0";
  part.body = "let e = i32(wg * 128u + lid);\nif (e < " + std::to_string(threads) + ") {\nlet id = $ids[e / " + n +
              "];\nvar v = " + zero + ";\nif (id >= 0 && id < " + std::to_string(vocabulary) + ") { v = $table[id * " + n +
              " + e % " + n + "]; }\n$out[e] = v;\n}\n";
  return part;
}

// One workgroup for a row of the table and 64 of its columns: all ids pass through workgroup memory, in order, so the sum's
// order is fixed.
Part segment_sum_part(const Kernel& k, const std::vector<ArgInfo>& info) {
  Part part;
  part.name = "segment sum";
  const std::int64_t n = k.arg_dims[0][0], vocabulary = k.arg_dims[2][0], columns = k.arg_dims[2][1];
  const std::int64_t groups = ceil_div(columns, 64);
  name_arg(part, info, "ids", 0, false);
  name_arg(part, info, "rows", 1, false);
  name_arg(part, info, "out", 2, true);
  part.workgroup_size = 64;
  part.workgroups = vocabulary * groups;
  part.shared = {{"block", "vec4i", 64}};
  const std::string count = std::to_string(n), width = std::to_string(columns);
  part.body = "let row = i32(wg) / " + std::to_string(groups) + ";\nlet col = i32(wg) % " + std::to_string(groups) +
              " * 64 + i32(lid);\nvar sum = 0.0;\nfor (var first = 0; first < " + count + "; first += 256) {\n" +
              "var mine = vec4i(-1);\nfor (var i = 0; i < 4; i++) {\nlet at = first + i32(lid) * 4 + i;\nif (at < " + count +
              ") { mine[i] = $ids[at]; }\n}\n$block[lid] = mine;\nworkgroupBarrier();\n" +
              "for (var q = 0; q < 64; q++) {\nlet hit = $block[q] == vec4i(row);\nif (any(hit) && col < " + width +
              ") {\nfor (var i = 0; i < 4; i++) {\nif (hit[i]) { sum += $rows[(first + q * 4 + i) * " + width +
              " + col]; }\n}\n}\n}\nworkgroupBarrier();\n}\nif (col < " + width + ") { $out[row * " + width +
              " + col] = sum; }\n";
  return part;
}

}  // namespace tabgrad::codegen
