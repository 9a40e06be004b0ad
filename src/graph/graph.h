// The graph: what is computed, as a list of nodes in which every node comes after its inputs. Knows no target.
//
// Invariants: shapes are static; `add` infers and checks them at once, so a graph that exists is well typed. Nodes are never
// changed after they were added. Broadcasting is explicit (kExpand); graph/build.h inserts it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "kernel/composite.h"
#include "kernel/scalar.h"
#include "tensor/dtype.h"
#include "tensor/host_tensor.h"
#include "tensor/shape.h"

namespace tabgrad {

enum class Op : unsigned char {
  kInput,      // a named buffer: role says who fills it
  kConst,      // `value` everywhere
  kUniform,    // scalar f32 given at run time by name
  kIota,       // the index along `axes[0]`, as f32
  kRandom,     // uniform in [0,1), keyed by (seed, step, stream, logical element)
  kScalar,     // `scalar` of inputs of one shape
  kCast,       // i32 → f32
  kReshape,    // same elements, shape = outputs[0]
  kPermute,    // output dimension i is input dimension axes[i]
  kExpand,     // dimensions of size 1 repeated, shape = outputs[0] (same rank)
  kSlice,      // input index = starts[i] + steps[i]·output index
  kPad,        // starts[i] zeros in front, the rest (outputs[0]) behind
  kReduceSum,  // over `axes` (ascending), which are dropped
  kReduceMax,
  kMatmul,      // rank 2, or rank 3 with equal batch; transpose_a / transpose_b say how operands are stored
  kGather,      // table (V,D), ids i32 (N) → (N,D)
  kSegmentSum,  // ids i32 (N), rows (N,D) → (V,D): the gradient of kGather
  kComposite,   // `composite`, or its gradient when `grad`
};

enum class Role : unsigned char {
  kParameter,  // trained
  kState,      // the optimizer's
  kInput,      // given before each run
  kConstant,   // fixed data held by the graph
};

struct TensorType {
  Dims dims;
  DType dtype = DType::kF32;
  bool operator==(const TensorType&) const = default;
};

struct Value {
  int node = -1;
  int out = 0;
  bool operator==(const Value&) const = default;
  bool valid() const { return node >= 0; }
};

struct Node {
  Op op = Op::kConst;
  std::vector<Value> inputs;
  std::vector<TensorType> outputs;
  std::string name;  // kInput, kUniform: its key; otherwise the layer, for messages
  ScalarOp scalar = ScalarOp::kAdd;
  Composite composite = Composite::kSoftmax;
  bool grad = false;
  CompositeAttrs attrs;
  Role role = Role::kInput;
  Dims axes, starts, steps;
  double value = 0;
  std::uint32_t stream = 0;
  bool transpose_a = false, transpose_b = false;
  int literal = -1;  // kInput with kConstant: index into Graph::literals
  // kReshape, kRandom: not to be taken for an equal value, so that what is computed from it is computed again (graph/recompute.h).
  bool again = false;
  // Of the forward pass of what gradients() has differentiated: an activation.
  bool forward = false;
};

class Graph {
 public:
  // Infers the output types, checks, appends. Throws Error naming op, layer and shapes.
  Value add(Node node);
  Value input(std::string name, Dims dims, Role role, DType dtype = DType::kF32);
  Value literal(std::string name, HostTensor data);

  const Node& node(Value v) const { return nodes[static_cast<std::size_t>(v.node)]; }
  const TensorType& type(Value v) const { return node(v).outputs[static_cast<std::size_t>(v.out)]; }
  const Dims& dims(Value v) const { return type(v).dims; }

  std::vector<Node> nodes;
  std::vector<HostTensor> literals;
  struct Output {
    std::string name;
    Value value;
  };
  std::vector<Output> outputs;
  struct Update {  // after the run, the buffer of `target` (a kInput) holds `value`
    Value target, value;
  };
  std::vector<Update> updates;
  std::string scope;  // prefix of the names of nodes added now: the layer at work
};

// A graph with the name under which a Program will offer it: "train_step", "evaluate", "predict", …
struct EntryGraph {
  std::string name;
  Graph graph;
};

// Output types of a node from its attributes and its inputs' types (graph/primitives.cc).
void infer_types(const Graph& graph, Node& node);

}  // namespace tabgrad
