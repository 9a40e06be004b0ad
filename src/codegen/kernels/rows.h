// What kernels over rows share: a row belongs to a team of invocations, and a workgroup has as many teams as it has room for.
#pragma once

#include "codegen/emit.h"

namespace tabgrad::codegen {

struct RowTeams {
  std::int64_t rows = 0, cols = 0;
  bool wide = false;        // fours at once
  std::int64_t units = 0;   // of a row: its numbers, or fours
  std::int64_t team = 32;   // invocations, a power of two
  std::int64_t teams = 4;   // of a workgroup
  std::int64_t own = 1;     // units of an invocation
  std::int64_t subgroup = 0;  // Caps::subgroups, of which a team is a multiple

  std::int64_t threads() const { return team * teams; }
};
// keeps_little: an invocation keeps one or two values of each of its units.
RowTeams row_teams(std::int64_t rows, std::int64_t cols, bool wide, std::int64_t subgroup, bool keeps_little);

// A part over the rows, a team each: the texts' constants R, C, U, T (team), ROWS (teams), their type V (a unit), sums and maxima.
Part row_part(const char* text, const char* name, const RowTeams& teams, const std::vector<Constant>& more);

void replace(std::string& text, const std::string& from, const std::string& to);
// Lines that begin with @d (or another tag) once for each d < count, with @ as its number (or as `number`).
std::string unrolled(const std::string& text, std::int64_t count, const std::string& number = "", const char* tag = "@d ");
// The text of a row kernel: lines of @d once for each of an invocation's units, lines of @l, which load them, once before the first of
// those; for long rows, whose units no registers hold, each run of @d lines is a loop that loads them again.
std::string row_text(const std::string& text, const RowTeams& teams);

}  // namespace tabgrad::codegen
