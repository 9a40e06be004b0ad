#include "graph/evaluate.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "graph/compose/compose.h"
#include "graph/rewrite.h"
#include "tensor/philox.h"

namespace tabgrad {
namespace {

using Data = std::vector<double>;

// Visits every multi-index of dims in row-major order.
template <typename F>
void for_each_index(const Dims& dims, F&& visit) {
  Dims index(dims.size(), 0);
  const std::int64_t n = num_elements(dims);
  for (std::int64_t i = 0; i < n; ++i) {
    visit(i, index);
    for (std::size_t d = dims.size(); d-- > 0;) {
      if (++index[d] < dims[d]) break;
      index[d] = 0;
    }
  }
}

std::int64_t linear(const Dims& index, const Dims& strides) {
  std::int64_t at = 0;
  for (std::size_t i = 0; i < index.size(); ++i) at += index[i] * strides[i];
  return at;
}

Data movement(const Node& node, const Dims& in_dims, const Data& x) {
  const Dims& dims = node.outputs[0].dims;
  const Dims strides = contiguous_strides(in_dims);
  Data y(static_cast<std::size_t>(num_elements(dims)), 0.0);
  Dims source(in_dims.size());
  for_each_index(dims, [&](std::int64_t i, const Dims& index) {
    bool inside = true;
    for (std::size_t d = 0; d < index.size(); ++d) {
      if (node.op == Op::kPermute) {
        source[static_cast<std::size_t>(node.axes[d])] = index[d];
      } else if (node.op == Op::kExpand) {
        source[d] = in_dims[d] == 1 ? 0 : index[d];
      } else if (node.op == Op::kSlice) {
        source[d] = node.starts[d] + node.steps[d] * index[d];
      } else {
        source[d] = index[d] - node.starts[d];
        inside = inside && source[d] >= 0 && source[d] < in_dims[d];
      }
    }
    if (inside) y[static_cast<std::size_t>(i)] = x[static_cast<std::size_t>(linear(source, strides))];
  });
  return y;
}

Data reduction(const Node& node, const Dims& in_dims, const Data& x) {
  const bool is_max = node.op == Op::kReduceMax;
  Data y(static_cast<std::size_t>(num_elements(node.outputs[0].dims)), is_max ? -HUGE_VAL : 0.0);
  Dims strides(in_dims.size(), 0);  // of the output, 0 on reduced axes
  std::int64_t stride = 1;
  for (std::size_t d = in_dims.size(); d-- > 0;) {
    if (std::find(node.axes.begin(), node.axes.end(), static_cast<std::int64_t>(d)) != node.axes.end()) continue;
    strides[d] = stride;
    stride *= in_dims[d];
  }
  for_each_index(in_dims, [&](std::int64_t i, const Dims& index) {
    double& out = y[static_cast<std::size_t>(linear(index, strides))];
    const double v = x[static_cast<std::size_t>(i)];
    out = is_max ? std::max(out, v) : out + v;
  });
  return y;
}

Data product(const Node& node, const Dims& a_dims, const Data& a, const Data& b) {
  const Dims& dims = node.outputs[0].dims;
  const std::size_t r = dims.size();
  const std::int64_t batch = r == 3 ? dims[0] : 1, m = dims[r - 2], n = dims[r - 1];
  const std::int64_t k = a_dims[r - 1 - (node.transpose_a ? 1 : 0)];
  Data c(static_cast<std::size_t>(batch * m * n), 0.0);
  const std::int64_t am = node.transpose_a ? 1 : k, ak = node.transpose_a ? m : 1;
  const std::int64_t bk = node.transpose_b ? 1 : n, bn = node.transpose_b ? k : 1;
  for (std::int64_t s = 0; s < batch; ++s)
    for (std::int64_t i = 0; i < m; ++i)
      for (std::int64_t l = 0; l < k; ++l) {
        const double left = a[static_cast<std::size_t>(s * m * k + i * am + l * ak)];
        const double* right = b.data() + s * k * n + l * bk;
        double* out = c.data() + (s * m + i) * n;
        for (std::int64_t j = 0; j < n; ++j) out[j] += left * right[j * bn];
      }
  return c;
}

Data input_values(const Graph& graph, const Node& node, const EvaluateInputs& inputs) {
  const auto n = static_cast<std::size_t>(num_elements(node.outputs[0].dims));
  if (node.literal >= 0) {
    const HostTensor& t = graph.literals[static_cast<std::size_t>(node.literal)];
    return t.dtype == DType::kF32 ? Data(t.f32.begin(), t.f32.end()) : Data(t.i32.begin(), t.i32.end());
  }
  const auto found = inputs.values.find(node.name);
  if (found == inputs.values.end()) fail("[evaluate] input '", node.name, "' was not given");
  if (found->second.size() != n) fail("[evaluate] input '", node.name, "' needs ", n, " values, got ", found->second.size());
  return found->second;
}

Data node_value(const Graph& graph, const Node& node, const std::vector<Data>& values, const EvaluateInputs& inputs) {
  auto arg = [&](std::size_t i) -> const Data& { return values[static_cast<std::size_t>(node.inputs[i].node)]; };
  auto arg_dims = [&](std::size_t i) -> const Dims& { return graph.dims(node.inputs[i]); };
  const Dims& dims = node.outputs[0].dims;
  const auto n = static_cast<std::size_t>(num_elements(dims));
  switch (node.op) {
    case Op::kInput: return input_values(graph, node, inputs);
    case Op::kConst: return Data(n, node.value);
    case Op::kUniform: {
      const auto found = inputs.uniforms.find(node.name);
      if (found == inputs.uniforms.end()) fail("[evaluate] uniform '", node.name, "' was not given");
      return {found->second};
    }
    case Op::kIota: {
      Data y(n);
      for_each_index(dims, [&](std::int64_t i, const Dims& index) {
        y[static_cast<std::size_t>(i)] = static_cast<double>(index[static_cast<std::size_t>(node.axes[0])]);
      });
      return y;
    }
    case Op::kRandom: {
      Data y(n);
      for (std::size_t i = 0; i < n; ++i) y[i] = static_cast<double>(random_at(inputs.seed, node.stream, inputs.step, i));
      return y;
    }
    case Op::kScalar: {
      Data y(n);
      const std::size_t arity = node.inputs.size();
      for (std::size_t i = 0; i < n; ++i)
        y[i] = scalar_value(node.scalar, arg(0)[i], arity > 1 ? arg(1)[i] : 0, arity > 2 ? arg(2)[i] : 0);
      return y;
    }
    case Op::kCast:
    case Op::kReshape: return arg(0);
    case Op::kPermute:
    case Op::kExpand:
    case Op::kSlice:
    case Op::kPad: return movement(node, arg_dims(0), arg(0));
    case Op::kReduceSum:
    case Op::kReduceMax: return reduction(node, arg_dims(0), arg(0));
    case Op::kMatmul: return product(node, arg_dims(0), arg(0), arg(1));
    case Op::kGather:
    case Op::kSegmentSum: {
      const bool forward = node.op == Op::kGather;
      const Data& ids = arg(forward ? 1 : 0);
      const std::int64_t width = dims[1], rows = forward ? arg_dims(0)[0] : dims[0];
      Data y(n, 0.0);
      for (std::size_t i = 0; i < ids.size(); ++i) {
        const auto id = static_cast<std::int64_t>(ids[i]);
        if (id < 0 || id >= rows) continue;
        for (std::int64_t j = 0; j < width; ++j) {
          const auto row = static_cast<std::size_t>(static_cast<std::int64_t>(i) * width + j);
          const auto entry = static_cast<std::size_t>(id * width + j);
          if (forward) {
            y[row] = arg(0)[entry];
          } else {
            y[entry] += arg(1)[row];
          }
        }
      }
      return y;
    }
    case Op::kComposite: break;  // decomposed before
  }
  TG_CHECK(false);
}

}  // namespace

double scalar_value(ScalarOp op, double a, double b, double c) {
  switch (op) {
    case ScalarOp::kNeg: return -a;
    case ScalarOp::kAbs: return std::fabs(a);
    case ScalarOp::kSign: return a > 0 ? 1.0 : a < 0 ? -1.0 : 0.0;
    case ScalarOp::kExp: return std::exp(a);
    case ScalarOp::kLog: return std::log(a);
    case ScalarOp::kSqrt: return std::sqrt(a);
    case ScalarOp::kRsqrt: return 1.0 / std::sqrt(a);
    case ScalarOp::kRecip: return 1.0 / a;
    case ScalarOp::kTanh: return std::tanh(a);
    case ScalarOp::kSigmoid: return a >= 0 ? 1.0 / (1.0 + std::exp(-a)) : std::exp(a) / (1.0 + std::exp(a));
    case ScalarOp::kErf: return std::erf(a);
    case ScalarOp::kGelu: return 0.5 * a * std::erfc(-a / std::numbers::sqrt2);
    case ScalarOp::kGeluSlope:
      return 0.5 * std::erfc(-a / std::numbers::sqrt2) + a * std::exp(-0.5 * a * a) / std::sqrt(2.0 * std::numbers::pi);
    case ScalarOp::kSin: return std::sin(a);
    case ScalarOp::kCos: return std::cos(a);
    case ScalarOp::kFloor: return std::floor(a);
    case ScalarOp::kAdd: return a + b;
    case ScalarOp::kSub: return a - b;
    case ScalarOp::kMul: return a * b;
    case ScalarOp::kDiv: return a / b;
    case ScalarOp::kMax: return a < b ? b : a;
    case ScalarOp::kMin: return b < a ? b : a;
    case ScalarOp::kLess: return a < b ? 1.0 : 0.0;
    case ScalarOp::kEqual: return a == b ? 1.0 : 0.0;
    case ScalarOp::kSelect: return a != 0 ? b : c;
  }
  TG_CHECK(false);
}

Graph decompose_graph(const Graph& graph, bool (*keep)(void*, const Node&), void* context) {
  Graph result;
  GraphCopy copy(graph, result);
  bool again = false;
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    const Node& node = graph.nodes[i];
    if (node.op != Op::kComposite || keep(context, node)) {
      copy.copy(static_cast<int>(i));
      continue;
    }
    std::vector<Tensor> inputs;
    for (Value v : copy.mapped_inputs(node)) inputs.push_back({&result, v});
    std::vector<Value> outputs;
    for (const Tensor& t : decompose(result, node, inputs)) outputs.push_back(t.value);
    copy.replace(static_cast<int>(i), outputs);
    again = true;
  }
  copy.finish();
  // A decomposition may use composites in turn.
  return again ? decompose_graph(without_dead_nodes(result), keep, context) : result;
}

Evaluation evaluate(const Graph& source, const EvaluateInputs& inputs) {
  const Graph graph = without_dead_nodes(decompose_graph(source, [](void*, const Node&) { return false; }, nullptr));
  std::vector<int> last_use(graph.nodes.size(), -1);
  for (std::size_t i = 0; i < graph.nodes.size(); ++i)
    for (Value v : graph.nodes[i].inputs) last_use[static_cast<std::size_t>(v.node)] = static_cast<int>(i);
  const int kept = static_cast<int>(graph.nodes.size());
  for (const Graph::Output& o : graph.outputs) last_use[static_cast<std::size_t>(o.value.node)] = kept;
  for (const Graph::Update& u : graph.updates) last_use[static_cast<std::size_t>(u.value.node)] = kept;
  std::vector<Data> values(graph.nodes.size());
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    values[i] = node_value(graph, graph.nodes[i], values, inputs);
    for (Value v : graph.nodes[i].inputs)
      if (last_use[static_cast<std::size_t>(v.node)] == static_cast<int>(i))
        Data().swap(values[static_cast<std::size_t>(v.node)]);
  }
  Evaluation result;
  for (const Graph::Output& o : graph.outputs) result.outputs[o.name] = values[static_cast<std::size_t>(o.value.node)];
  for (const Graph::Update& u : graph.updates)
    result.updates[graph.node(u.target).name] = values[static_cast<std::size_t>(u.value.node)];
  return result;
}

}  // namespace tabgrad
