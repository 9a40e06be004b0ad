#include "graph/build.h"

#include <algorithm>

namespace tabgrad {
namespace {

Tensor append(Graph& g, Node node) { return {&g, g.add(std::move(node))}; }

Node make(Op op, std::vector<Value> inputs) {
  Node node;
  node.op = op;
  node.inputs = std::move(inputs);
  return node;
}

std::size_t normal_axis(Tensor x, std::int64_t axis) {
  const std::int64_t rank = x.rank();
  if (axis < -rank || axis >= rank) fail("[axis] ", axis, " is out of range for shape ", to_string(x.dims()));
  return static_cast<std::size_t>(axis < 0 ? axis + rank : axis);
}

Dims normal_axes(Tensor x, const Dims& axes) {
  Dims result;
  for (std::int64_t a : axes) result.push_back(static_cast<std::int64_t>(normal_axis(x, a)));
  std::sort(result.begin(), result.end());
  if (std::adjacent_find(result.begin(), result.end()) != result.end())
    fail("[axis] ", to_string(axes), " names an axis of shape ", to_string(x.dims()), " twice");
  return result;
}

Dims broadcast_dims(const std::vector<Tensor>& args) {
  std::size_t rank = 0;
  for (const Tensor& t : args) rank = std::max(rank, t.dims().size());
  Dims out(rank, 1);
  for (const Tensor& t : args) {
    const std::size_t shift = rank - t.dims().size();
    for (std::size_t i = 0; i < t.dims().size(); ++i) {
      const std::int64_t d = t.dims()[i];
      if (d == 1 || d == out[shift + i]) continue;
      if (out[shift + i] != 1) {
        std::string shapes;
        for (const Tensor& u : args) shapes += " " + to_string(u.dims());
        fail("[broadcast] shapes do not fit:", shapes);
      }
      out[shift + i] = d;
    }
  }
  return out;
}

}  // namespace

std::int64_t Tensor::dim(int i) const { return dims()[normal_axis(*this, i)]; }

Tensor input(Graph& g, const std::string& name, Dims dims, Role role, DType dtype) {
  return {&g, g.input(name, std::move(dims), role, dtype)};
}
Tensor literal(Graph& g, const std::string& name, HostTensor data) { return {&g, g.literal(name, std::move(data))}; }

Tensor constant(Graph& g, double value, Dims dims) {
  Node node = make(Op::kConst, {});
  node.value = value;
  node.outputs = {{std::move(dims), DType::kF32}};
  return append(g, std::move(node));
}
Tensor uniform(Graph& g, const std::string& name) {
  Node node = make(Op::kUniform, {});
  node.name = name;
  return append(g, std::move(node));
}
Tensor iota(Graph& g, Dims dims, int axis) {
  Node node = make(Op::kIota, {});
  node.axes = {axis};
  node.outputs = {{std::move(dims), DType::kF32}};
  return append(g, std::move(node));
}
Tensor random_uniform(Graph& g, Dims dims, std::uint32_t stream) {
  Node node = make(Op::kRandom, {});
  node.stream = stream;
  node.outputs = {{std::move(dims), DType::kF32}};
  return append(g, std::move(node));
}

Tensor scalar_op(ScalarOp op, const std::vector<Tensor>& args) {
  const Dims dims = broadcast_dims(args);
  Node node = make(Op::kScalar, {});
  node.scalar = op;
  for (const Tensor& t : args) node.inputs.push_back(expand(t, dims).value);
  return append(*args[0].graph, std::move(node));
}
Tensor operator+(Tensor a, Tensor b) { return scalar_op(ScalarOp::kAdd, {a, b}); }
Tensor operator-(Tensor a, Tensor b) { return scalar_op(ScalarOp::kSub, {a, b}); }
Tensor operator*(Tensor a, Tensor b) { return scalar_op(ScalarOp::kMul, {a, b}); }
Tensor operator/(Tensor a, Tensor b) { return scalar_op(ScalarOp::kDiv, {a, b}); }
Tensor operator+(Tensor a, double b) { return a + constant(*a.graph, b); }
Tensor operator-(Tensor a, double b) { return a - constant(*a.graph, b); }
Tensor operator*(Tensor a, double b) { return a * constant(*a.graph, b); }
Tensor operator/(Tensor a, double b) { return a / constant(*a.graph, b); }
Tensor operator-(Tensor a) { return scalar_op(ScalarOp::kNeg, {a}); }
Tensor maximum(Tensor a, Tensor b) { return scalar_op(ScalarOp::kMax, {a, b}); }
Tensor minimum(Tensor a, Tensor b) { return scalar_op(ScalarOp::kMin, {a, b}); }
Tensor less(Tensor a, Tensor b) { return scalar_op(ScalarOp::kLess, {a, b}); }
Tensor equal(Tensor a, Tensor b) { return scalar_op(ScalarOp::kEqual, {a, b}); }
Tensor select(Tensor c, Tensor yes, Tensor no) { return scalar_op(ScalarOp::kSelect, {c, yes, no}); }
Tensor exp(Tensor x) { return scalar_op(ScalarOp::kExp, {x}); }
Tensor log(Tensor x) { return scalar_op(ScalarOp::kLog, {x}); }
Tensor sqrt(Tensor x) { return scalar_op(ScalarOp::kSqrt, {x}); }
Tensor rsqrt(Tensor x) { return scalar_op(ScalarOp::kRsqrt, {x}); }
Tensor tanh(Tensor x) { return scalar_op(ScalarOp::kTanh, {x}); }
Tensor sigmoid(Tensor x) { return scalar_op(ScalarOp::kSigmoid, {x}); }
Tensor erf(Tensor x) { return scalar_op(ScalarOp::kErf, {x}); }
Tensor abs(Tensor x) { return scalar_op(ScalarOp::kAbs, {x}); }
Tensor cast_f32(Tensor ids) { return append(*ids.graph, make(Op::kCast, {ids.value})); }

Tensor reshape(Tensor x, Dims dims) {
  const Dims asked = dims;
  std::int64_t known = 1;
  std::size_t open = dims.size();
  bool ok = true;
  for (std::size_t i = 0; i < dims.size(); ++i) {
    if (dims[i] == -1) {
      ok = ok && open == dims.size();
      open = i;
    } else {
      ok = ok && dims[i] > 0;
      known *= dims[i];
    }
  }
  if (!ok) fail("[reshape] ", to_string(x.dims()), " cannot become ", to_string(asked), ": sizes are above 0, or one is -1");
  if (open < dims.size()) dims[open] = num_elements(x.dims()) / known;
  if (dims == x.dims()) return x;
  Node node = make(Op::kReshape, {x.value});
  node.outputs = {{std::move(dims), DType::kF32}};
  return append(*x.graph, std::move(node));
}

Tensor permute(Tensor x, Dims axes) {
  bool identity = axes.size() == x.dims().size();
  for (std::size_t i = 0; i < axes.size(); ++i) identity = identity && axes[i] == static_cast<std::int64_t>(i);
  if (identity) return x;
  Node node = make(Op::kPermute, {x.value});
  node.axes = std::move(axes);
  return append(*x.graph, std::move(node));
}

Tensor expand(Tensor x, Dims dims) {
  if (x.dims() == dims) return x;
  Dims padded(dims.size() - std::min(dims.size(), x.dims().size()), 1);
  padded.insert(padded.end(), x.dims().begin(), x.dims().end());
  const Tensor aligned = reshape(x, padded);
  if (padded == dims) return aligned;
  Node node = make(Op::kExpand, {aligned.value});
  node.outputs = {{std::move(dims), DType::kF32}};
  return append(*x.graph, std::move(node));
}

Tensor slice(Tensor x, int axis, std::int64_t start, std::int64_t end, std::int64_t step) {
  const std::size_t a = normal_axis(x, axis);
  if (step == 0) fail("[slice] ", to_string(x.dims()), ": the step is 0");
  Node node = make(Op::kSlice, {x.value});
  node.starts.assign(x.dims().size(), 0);
  node.steps.assign(x.dims().size(), 1);
  Dims dims = x.dims();
  node.starts[a] = start;
  node.steps[a] = step;
  dims[a] = (end - start + step - (step > 0 ? 1 : -1)) / step;
  if (dims == x.dims() && start == 0 && step == 1) return x;
  node.outputs = {{std::move(dims), DType::kF32}};
  return append(*x.graph, std::move(node));
}

Tensor pad(Tensor x, int axis, std::int64_t before, std::int64_t after) {
  if (before == 0 && after == 0) return x;
  const std::size_t a = normal_axis(x, axis);
  Node node = make(Op::kPad, {x.value});
  node.starts.assign(x.dims().size(), 0);
  node.starts[a] = before;
  Dims dims = x.dims();
  dims[a] += before + after;
  node.outputs = {{std::move(dims), DType::kF32}};
  return append(*x.graph, std::move(node));
}

Tensor concat(const std::vector<Tensor>& parts, int axis) {
  std::int64_t total = 0;
  for (const Tensor& p : parts) total += p.dim(axis);
  Tensor result;
  std::int64_t at = 0;
  for (const Tensor& p : parts) {
    const Tensor padded = pad(p, axis, at, total - at - p.dim(axis));
    result = result.graph ? result + padded : padded;
    at += p.dim(axis);
  }
  return result;
}

namespace {
Tensor reduce(Op op, Tensor x, const Dims& axes, bool keep_dims) {
  const Dims sorted = normal_axes(x, axes);
  Dims kept = x.dims();
  for (std::int64_t a : sorted) kept[static_cast<std::size_t>(a)] = 1;
  Tensor y = x;
  if (!sorted.empty()) {
    Node node = make(op, {x.value});
    node.axes = sorted;
    y = append(*x.graph, std::move(node));
  }
  return keep_dims ? reshape(y, kept) : y;
}
}  // namespace

Tensor sum(Tensor x, Dims axes, bool keep_dims) { return reduce(Op::kReduceSum, x, axes, keep_dims); }
Tensor max(Tensor x, Dims axes, bool keep_dims) { return reduce(Op::kReduceMax, x, axes, keep_dims); }
Tensor mean(Tensor x, Dims axes, bool keep_dims) {
  std::int64_t n = 1;
  for (std::int64_t a : normal_axes(x, axes)) n *= x.dims()[static_cast<std::size_t>(a)];
  return sum(x, axes, keep_dims) * (1.0 / static_cast<double>(n));
}

Tensor matmul(Tensor a, Tensor b, bool transpose_a, bool transpose_b) {
  Dims lead(a.dims().begin(), a.dims().end() - std::min<std::ptrdiff_t>(2, a.rank()));
  Tensor x = a, y = b;
  const bool shared = b.rank() == 2 && a.rank() > 2 && !transpose_a;
  if (shared) {
    x = reshape(a, {-1, a.dim(-1)});
    lead.assign(a.dims().begin(), a.dims().end() - 1);
  } else if (a.rank() > 3) {
    x = reshape(a, {-1, a.dim(-2), a.dim(-1)});
    y = reshape(b, {-1, b.dim(-2), b.dim(-1)});
  }
  Node node = make(Op::kMatmul, {x.value, y.value});
  node.transpose_a = transpose_a;
  node.transpose_b = transpose_b;
  const Tensor c = append(*a.graph, std::move(node));
  if (a.rank() <= 3 && !shared) return c;
  Dims dims = lead;
  if (!shared) dims.push_back(c.dim(-2));
  dims.push_back(c.dim(-1));
  return reshape(c, dims);
}

Tensor gather(Tensor table, Tensor ids) {
  Dims dims = ids.dims();
  dims.push_back(table.dim(1));
  const Tensor flat = reshape(ids, {-1});
  return reshape(append(*table.graph, make(Op::kGather, {table.value, flat.value})), dims);
}

}  // namespace tabgrad
