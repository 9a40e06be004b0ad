// WGSL's scaffolding around parts: bindings, shared functions, the entry function.
#pragma once

#include <array>
#include <functional>

#include "codegen/part.h"

namespace tabgrad::codegen {

// A shader from parts that do not depend on each other and have one workgroup size; the first part's workgroups come first.
struct Finished {
  Shader shader;
  std::vector<int> args;  // the argument behind each binding; parts count theirs alike
  std::array<std::uint32_t, 3> grid{1, 1, 1};
};

// `rewritable(arg)`: the argument lies in an allocation that the same launch may write elsewhere, so that it must be bound
// read_write even where it is only read.
Finished finish(const std::vector<Part>& parts, const std::function<bool(int)>& rewritable, const Caps& caps);

}  // namespace tabgrad::codegen
