// The primitives: for each, its shape rule and its gradient rule. Scalar ops' derivatives are in scalar_grad.cc, composites'
// rules in compose/.
#include "graph/compose/compose.h"
#include "graph/rules.h"

namespace tabgrad {
namespace {

[[noreturn]] void reject(const Graph& graph, const Node& node, const char* op, const std::string& why) {
  std::string text = str("[", op, "]");
  if (!node.name.empty()) text += str(" '", node.name, "'");
  text += ":";
  for (Value v : node.inputs) text += " " + to_string(graph.dims(v));
  fail(text, " ", why);
}

Dims drop_axes(const Dims& dims, const Dims& axes) {
  Dims kept;
  std::size_t next = 0;
  for (std::size_t i = 0; i < dims.size(); ++i) {
    if (next < axes.size() && axes[next] == static_cast<std::int64_t>(i)) {
      ++next;
    } else {
      kept.push_back(dims[i]);
    }
  }
  TG_CHECK(next == axes.size());
  return kept;
}

void infer_matmul(const Graph& graph, Node& node) {
  const Dims& a = graph.dims(node.inputs[0]);
  const Dims& b = graph.dims(node.inputs[1]);
  const std::size_t r = a.size();
  if (r != b.size() || (r != 2 && r != 3) || (r == 3 && a[0] != b[0]))
    reject(graph, node, "matmul", "needs two matrices, or two batches of equal size");
  const std::int64_t m = a[r - 2 + (node.transpose_a ? 1 : 0)], k = a[r - 1 - (node.transpose_a ? 1 : 0)];
  const std::int64_t kb = b[r - 2 + (node.transpose_b ? 1 : 0)], n = b[r - 1 - (node.transpose_b ? 1 : 0)];
  if (k != kb) reject(graph, node, "matmul", str("inner sizes ", k, " and ", kb, " differ"));
  Dims out = r == 3 ? Dims{a[0], m, n} : Dims{m, n};
  node.outputs = {{std::move(out), DType::kF32}};
}

}  // namespace

void infer_types(const Graph& graph, Node& node) {
  auto in = [&](std::size_t i) -> const TensorType& { return graph.type(node.inputs[i]); };
  for (std::size_t i = 0; i < node.inputs.size(); ++i) {
    const bool ids = node.op == Op::kCast || (node.op == Op::kGather && i == 1) || (node.op == Op::kSegmentSum && i == 0) ||
                     (node.op == Op::kComposite && node.composite == Composite::kCrossEntropy && i == 1);
    const bool passes = node.op == Op::kReshape || node.op == Op::kPermute || node.op == Op::kSlice || node.op == Op::kExpand;
    if (!passes && (in(i).dtype == DType::kI32) != ids)
      reject(graph, node, "types", str("argument ", i, " must be ", ids ? "i32" : "f32"));
  }
  switch (node.op) {
    case Op::kInput:
    case Op::kConst:
    case Op::kIota:
    case Op::kRandom: {  // outputs given by the builder
      const Dims& dims = node.outputs[0].dims;
      for (std::int64_t d : dims)
        if (d < 1) reject(graph, node, "shape", to_string(dims) + " has a size below 1");
      if (node.op == Op::kIota && (node.axes[0] < 0 || node.axes[0] >= static_cast<std::int64_t>(dims.size())))
        reject(graph, node, "iota", str(to_string(dims), " has no axis ", node.axes[0]));
      return;
    }
    case Op::kUniform: node.outputs = {{{}, DType::kF32}}; return;
    case Op::kScalar:
      TG_CHECK(static_cast<int>(node.inputs.size()) == scalar_info(node.scalar).arity);
      for (std::size_t i = 1; i < node.inputs.size(); ++i)
        if (in(i).dims != in(0).dims) reject(graph, node, scalar_info(node.scalar).name, "shapes differ");
      node.outputs = {{in(0).dims, DType::kF32}};
      return;
    case Op::kCast: node.outputs = {{in(0).dims, DType::kF32}}; return;
    case Op::kReshape:
      if (num_elements(node.outputs[0].dims) != num_elements(in(0).dims))
        reject(graph, node, "reshape", "cannot become " + to_string(node.outputs[0].dims));
      node.outputs[0].dtype = in(0).dtype;
      return;
    case Op::kPermute: {
      const std::size_t rank = in(0).dims.size();
      Dims dims;
      std::vector<bool> taken(rank, false);
      bool ok = node.axes.size() == rank;
      for (std::size_t i = 0; ok && i < rank; ++i) {
        const auto axis = static_cast<std::size_t>(node.axes[i]);
        ok = axis < rank && !taken[axis];
        if (!ok) break;
        taken[axis] = true;
        dims.push_back(in(0).dims[axis]);
      }
      if (!ok) reject(graph, node, "permute", str("axes ", to_string(node.axes), " are not each of its axes once"));
      node.outputs = {{dims, in(0).dtype}};
      return;
    }
    case Op::kExpand: {
      const Dims& out = node.outputs[0].dims;
      bool fits = out.size() == in(0).dims.size();
      for (std::size_t i = 0; fits && i < out.size(); ++i) fits = in(0).dims[i] == out[i] || in(0).dims[i] == 1;
      if (!fits) reject(graph, node, "expand", "cannot be broadcast to " + to_string(out));
      node.outputs[0].dtype = in(0).dtype;
      return;
    }
    case Op::kSlice: {
      const Dims& out = node.outputs[0].dims;
      for (std::size_t i = 0; i < out.size(); ++i) {
        const std::int64_t last = node.starts[i] + node.steps[i] * (out[i] - 1);
        if (out[i] < 1 || node.starts[i] < 0 || last < 0 || node.starts[i] >= in(0).dims[i] || last >= in(0).dims[i])
          reject(graph, node, "slice", str("is out of range in dimension ", i));
      }
      node.outputs[0].dtype = in(0).dtype;
      return;
    }
    case Op::kPad: {
      const Dims& out = node.outputs[0].dims;
      for (std::size_t i = 0; i < out.size(); ++i)
        if (node.starts[i] < 0 || node.starts[i] + in(0).dims[i] > out[i]) reject(graph, node, "pad", "is negative");
      return;
    }
    case Op::kReduceSum:
    case Op::kReduceMax: node.outputs = {{drop_axes(in(0).dims, node.axes), DType::kF32}}; return;
    case Op::kMatmul: infer_matmul(graph, node); return;
    case Op::kGather:
      if (in(0).dims.size() != 2 || in(1).dims.size() != 1) reject(graph, node, "gather", "needs a table (V,D) and ids (N)");
      node.outputs = {{{in(1).dims[0], in(0).dims[1]}, DType::kF32}};
      return;
    case Op::kSegmentSum:
      if (in(0).dims.size() != 1 || in(1).dims.size() != 2 || in(0).dims[0] != in(1).dims[0])
        reject(graph, node, "segment_sum", "needs ids (N) and rows (N,D)");
      TG_CHECK(node.outputs.size() == 1 && node.outputs[0].dims[1] == in(1).dims[1]);
      return;
    case Op::kComposite: infer_composite(graph, node); return;
  }
}

std::vector<Tensor> node_gradients(Graph& graph, int index, const std::vector<Tensor>& douts) {
  const Node node = graph.nodes[static_cast<std::size_t>(index)];  // a copy: adding nodes moves the list
  const Tensor dy = douts[0];
  auto arg = [&](std::size_t i) { return Tensor{&graph, node.inputs[i]}; };
  switch (node.op) {
    case Op::kInput:
    case Op::kConst:
    case Op::kUniform:
    case Op::kIota:
    case Op::kRandom: return {};
    case Op::kCast: return {Tensor{}};
    case Op::kScalar: {
      std::vector<Tensor> args;
      for (std::size_t i = 0; i < node.inputs.size(); ++i) args.push_back(arg(i));
      return scalar_gradients(node.scalar, args, Tensor{&graph, {index, 0}}, dy);
    }
    case Op::kReshape: return {reshape(dy, arg(0).dims())};
    case Op::kPermute: {
      Dims inverse(node.axes.size());
      for (std::size_t i = 0; i < inverse.size(); ++i)
        inverse[static_cast<std::size_t>(node.axes[i])] = static_cast<std::int64_t>(i);
      return {permute(dy, inverse)};
    }
    case Op::kExpand: {
      Dims axes;
      for (std::size_t i = 0; i < node.outputs[0].dims.size(); ++i)
        if (arg(0).dims()[i] != node.outputs[0].dims[i]) axes.push_back(static_cast<std::int64_t>(i));
      return {reshape(sum(dy, axes), arg(0).dims())};
    }
    case Op::kSlice: {
      Tensor dx = dy;
      for (std::size_t i = 0; i < node.starts.size(); ++i) {
        const int axis = static_cast<int>(i);
        const std::int64_t size = arg(0).dims()[i];
        if (size == node.outputs[0].dims[i] && node.steps[i] == 1) continue;
        if (node.steps[i] != 1) fail("[slice] has no gradient for a step other than 1");
        dx = pad(dx, axis, node.starts[i], size - node.starts[i] - node.outputs[0].dims[i]);
      }
      return {dx};
    }
    case Op::kPad: {
      Tensor dx = dy;
      for (std::size_t i = 0; i < node.starts.size(); ++i)
        dx = slice(dx, static_cast<int>(i), node.starts[i], node.starts[i] + arg(0).dims()[i]);
      return {dx};
    }
    case Op::kReduceSum:
    case Op::kReduceMax: {
      Dims kept = arg(0).dims();
      for (std::int64_t axis : node.axes) kept[static_cast<std::size_t>(axis)] = 1;
      const Tensor spread = expand(reshape(dy, kept), arg(0).dims());
      if (node.op == Op::kReduceSum) return {spread};
      // Ties share the gradient evenly.
      const Tensor y = expand(reshape(Tensor{&graph, {index, 0}}, kept), arg(0).dims());
      const Tensor hit = equal(arg(0), y);
      return {spread * (hit / expand(sum(hit, node.axes, true), arg(0).dims()))};
    }
    case Op::kMatmul: {
      const bool ta = node.transpose_a, tb = node.transpose_b;
      const Tensor a = arg(0), b = arg(1);
      return {ta ? matmul(b, dy, tb, true) : matmul(dy, b, false, !tb),
              tb ? matmul(dy, a, true, ta) : matmul(a, dy, !ta, false)};
    }
    case Op::kGather: {
      Node sum_rows;
      sum_rows.op = Op::kSegmentSum;
      sum_rows.inputs = {node.inputs[1], dy.value};
      sum_rows.outputs = {{arg(0).dims(), DType::kF32}};
      return {Tensor{&graph, graph.add(std::move(sum_rows))}, Tensor{}};
    }
    case Op::kSegmentSum: {
      Node rows;
      rows.op = Op::kGather;
      rows.inputs = {dy.value, node.inputs[0]};
      return {Tensor{}, Tensor{&graph, graph.add(std::move(rows))}};
    }
    case Op::kComposite: {
      if (node.grad) fail("[", composite_name(node.composite), "] has no second derivative");
      for (std::size_t i = 1; i < douts.size(); ++i)
        if (douts[i].graph) fail("[", composite_name(node.composite), "] only output 0 can be differentiated");
      const std::vector<bool> differentiable = composite_differentiable(node.composite, node.inputs.size());
      Node back = node;
      back.grad = true;
      back.name.clear();  // the backward pass's, as of all its nodes
      back.outputs.clear();
      for (std::size_t i = 0; i < node.outputs.size(); ++i) back.inputs.push_back({index, static_cast<int>(i)});
      back.inputs.push_back(dy.value);
      const Value first = graph.add(std::move(back));
      std::vector<Tensor> result(node.inputs.size());
      int out = 0;
      for (std::size_t i = 0; i < result.size(); ++i)
        if (differentiable[i]) result[i] = Tensor{&graph, {first.node, out++}};
      return result;
    }
  }
  TG_CHECK(false);
}

}  // namespace tabgrad
