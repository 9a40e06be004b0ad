// Lowering: the expression behind a value, as the body of a kernel.
#pragma once

#include <string>
#include <vector>

#include "codegen/part.h"
#include "graph/graph.h"
#include "kernel/kernel.h"

namespace tabgrad {

// Position of an instruction in the code, or of a load: an equal one that is there already, or this one appended.
int append_instr(Body& body, Instr instr);
int append_load(Body& body, Load load);
int uniform_index(std::vector<std::string>& uniforms, const std::string& name);

// Builds one kernel body by walking from a value down to stored ones. When a view cannot be followed, `blocked` names the
// node that must be stored first and the body is unusable.
class BodyBuilder {
 public:
  BodyBuilder(const Graph& graph, const std::vector<bool>& stored, Dims space, std::vector<std::string>& uniforms);

  // The instruction that holds v at `access`. `root`: compute it even if it is stored.
  int value(Value v, const Access& access, bool root = false);
  // An instruction for a whole tensor given by its argument number.
  int load(int arg, const FlatAccess& at, bool ids);
  int arg_of(Value stored_value);

  Body body;
  std::vector<Value> args;
  int blocked = -1;

 private:
  const Graph& graph_;
  const std::vector<bool>& stored_;
  std::vector<std::string>& uniforms_;
  int last_pad_ = -1;
};

// How an operand of a matrix product lies in its buffer: follows views only. Returns false and sets `blocked` when the operand
// must be stored first.
bool follow_views(const Graph& graph, const std::vector<bool>& stored, Value v, Value& base, FlatAccess& at, int& blocked);

// For kernels that become shaders: a value that only they use, and what a generator must know of a kernel's arguments.
Value scratch_value(Graph& graph, Dims dims);
std::vector<codegen::ArgInfo> arg_infos(const Graph& graph, const std::vector<Value>& args);

}  // namespace tabgrad
