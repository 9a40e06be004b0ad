// The planner: graphs + Caps → Program. Pure functions, no device.
#pragma once

#include <string>
#include <vector>

#include "graph/graph.h"
#include "kernel/caps.h"
#include "program/program.h"

namespace tabgrad {

// Inputs of equal name and role in several entries are one buffer. Throws Error where they disagree on shape.
Program compile(const std::vector<EntryGraph>& entries, const Caps& caps, const std::string& target);

// A readable listing: buffers, kernels, launches with FLOPs and bytes (TABGRAD_DEBUG, `tabgrad plan --dump`).
std::string dump(const Program& program);

// Bytes held by a Program: persistent buffers, and the largest arena of its entries.
struct MemoryUse {
  std::int64_t parameters = 0, state = 0, inputs_outputs = 0, constants = 0, arena = 0;
  std::int64_t total() const { return parameters + state + inputs_outputs + constants + arena; }
};
MemoryUse memory_use(const Program& program);

}  // namespace tabgrad
