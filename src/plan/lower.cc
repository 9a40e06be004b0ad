#include "plan/lower.h"

#include <algorithm>

#include "plan/passes.h"

namespace tabgrad {
namespace {

bool holds_data(const Graph& graph, const std::vector<bool>& stored, Value v) {
  return stored[static_cast<std::size_t>(v.node)] || graph.node(v).op == Op::kInput;
}

// The access to the node's input, for a view; nothing if it cannot be followed.
std::optional<Access> through(const Graph& graph, const Node& node, const Access& access) {
  const Dims& in_dims = graph.dims(node.inputs[0]);
  switch (node.op) {
    case Op::kReshape: return access.reshape(node.outputs[0].dims, in_dims);
    case Op::kPermute: return access.permute(node.axes);
    case Op::kExpand: return access.expand(in_dims);
    case Op::kSlice: return access.slice(node.starts, node.steps);
    case Op::kPad: return access.pad(node.starts, in_dims);
    default: TG_CHECK(false);
  }
}

}  // namespace

Value base_of(const Graph& graph, Value v) {
  while (graph.node(v).op == Op::kReshape) v = graph.node(v).inputs[0];
  return v;
}

int append_instr(Body& body, Instr instr) {
  const auto found = std::find(body.code.begin(), body.code.end(), instr);
  if (found != body.code.end()) return static_cast<int>(found - body.code.begin());
  body.code.push_back(std::move(instr));
  return static_cast<int>(body.code.size()) - 1;
}

int append_load(Body& body, Load load) {
  const auto found = std::find(body.loads.begin(), body.loads.end(), load);
  const int index = static_cast<int>(found - body.loads.begin());
  if (found == body.loads.end()) body.loads.push_back(std::move(load));
  return index;
}

int uniform_index(std::vector<std::string>& uniforms, const std::string& name) {
  const auto found = std::find(uniforms.begin(), uniforms.end(), name);
  const int index = static_cast<int>(found - uniforms.begin());
  if (found == uniforms.end()) uniforms.push_back(name);
  return index;
}

BodyBuilder::BodyBuilder(const Graph& graph, const std::vector<bool>& stored, Dims space, std::vector<std::string>& uniforms)
    : graph_(graph), stored_(stored), uniforms_(uniforms) {
  body.space = std::move(space);
}

int BodyBuilder::arg_of(Value v) {
  const auto found = std::find(args.begin(), args.end(), v);
  if (found != args.end()) return static_cast<int>(found - args.begin());
  args.push_back(v);
  return static_cast<int>(args.size()) - 1;
}

int BodyBuilder::load(int arg, const FlatAccess& at, bool ids) {
  Instr instr;
  instr.kind = InstrKind::kLoad;
  instr.index = append_load(body, {arg, at, ids});
  return append_instr(body, instr);
}

int BodyBuilder::value(Value v, const Access& access, bool root) {
  if (blocked >= 0) return 0;
  const Value base = base_of(graph_, v);
  if (!root && holds_data(graph_, stored_, base)) {
    const std::optional<FlatAccess> at = flatten(access, graph_.dims(v));
    if (!at) {
      TG_CHECK(last_pad_ >= 0);
      blocked = last_pad_;  // a mask over several indices: store the padded tensor
      return 0;
    }
    return load(arg_of(base), *at, graph_.type(v).dtype == DType::kI32);
  }
  const Node& node = graph_.node(v);
  Instr instr;
  switch (node.op) {
    case Op::kConst:
      instr.kind = InstrKind::kConst;
      instr.value = static_cast<float>(node.value);
      return append_instr(body, instr);
    case Op::kUniform: {
      instr.kind = InstrKind::kUniform;
      instr.index = uniform_index(uniforms_, node.name);
      return append_instr(body, instr);
    }
    case Op::kIota:
      instr.kind = InstrKind::kIndex;
      instr.affine = access.index[static_cast<std::size_t>(node.axes[0])];
      return append_instr(body, instr);
    case Op::kRandom:
      instr.kind = InstrKind::kRandom;
      instr.index = static_cast<int>(node.stream);
      instr.affine = linear_index(access, node.outputs[0].dims);
      return append_instr(body, instr);
    case Op::kScalar: {
      instr.kind = InstrKind::kScalar;
      instr.scalar = node.scalar;
      int* operands[] = {&instr.a, &instr.b, &instr.c};
      for (std::size_t i = 0; i < node.inputs.size(); ++i) *operands[i] = value(node.inputs[i], access);
      return blocked >= 0 ? 0 : append_instr(body, instr);
    }
    case Op::kCast: return value(node.inputs[0], access);
    case Op::kReshape:
    case Op::kPermute:
    case Op::kExpand:
    case Op::kSlice: {
      const std::optional<Access> inner = through(graph_, node, access);
      if (inner) return value(node.inputs[0], *inner);
      blocked = base_of(graph_, node.inputs[0]).node;
      return 0;
    }
    case Op::kPad: {
      // Masks reach the loads; what is computed without a load (a constant, an index) would miss them, and so would f(0) ≠ 0.
      const Access inner = *through(graph_, node, access);
      if (inner.masks.size() == access.masks.size()) return value(node.inputs[0], inner);
      last_pad_ = v.node;
      Value source = node.inputs[0];
      while (!holds_data(graph_, stored_, base_of(graph_, source)) && graph_.node(source).op != Op::kScalar &&
             graph_.node(source).inputs.size() == 1)
        source = graph_.node(source).inputs[0];
      if (holds_data(graph_, stored_, base_of(graph_, source))) return value(node.inputs[0], inner);
      blocked = base_of(graph_, node.inputs[0]).node;
      return 0;
    }
    case Op::kInput:
    case Op::kReduceSum:
    case Op::kReduceMax:
    case Op::kMatmul:
    case Op::kGather:
    case Op::kSegmentSum:
    case Op::kComposite: break;
  }
  TG_CHECK(false);
}

bool follow_views(const Graph& graph, const std::vector<bool>& stored, Value v, Value& base, FlatAccess& at, int& blocked) {
  const int operand = base_of(graph, v).node;
  Access access = Access::identity(graph.dims(v));
  while (!holds_data(graph, stored, base_of(graph, v))) {
    const Node& node = graph.node(v);
    const bool view = node.op == Op::kReshape || node.op == Op::kPermute || node.op == Op::kExpand || node.op == Op::kSlice;
    std::optional<Access> inner;
    if (view) inner = through(graph, node, access);
    if (!inner) {
      blocked = view ? operand : v.node;
      return false;
    }
    access = *inner;
    v = node.inputs[0];
  }
  base = base_of(graph, v);
  const std::optional<FlatAccess> flat = flatten(access, graph.dims(v));
  if (!flat || !flat->ranges.empty()) {
    blocked = operand;
    return false;
  }
  at = *flat;
  return true;
}

Value scratch_value(Graph& graph, Dims dims) {
  Node node;
  node.outputs = {{std::move(dims), DType::kF32}};
  graph.nodes.push_back(std::move(node));
  return {static_cast<int>(graph.nodes.size()) - 1, 0};
}

std::vector<codegen::ArgInfo> arg_infos(const Graph& graph, const std::vector<Value>& args) {
  std::vector<codegen::ArgInfo> infos;
  for (std::size_t a = 0; a < args.size(); ++a) {
    codegen::ArgInfo& info = infos.emplace_back();
    if (!args[a].valid()) continue;
    info.elements = num_elements(graph.dims(args[a]));
    info.ids = graph.type(args[a]).dtype == DType::kI32;
    const auto first = std::find(args.begin(), args.end(), args[a]) - args.begin();
    if (first < static_cast<std::ptrdiff_t>(a)) info.same_as = static_cast<int>(first);
  }
  return infos;
}

}  // namespace tabgrad
