// Every row of scalar.def over its domain: small, of one element, larger than the interpreter's blocks, and broadcast.
#include <algorithm>

#include "optest/optest.h"

namespace tabgrad::optest {
namespace {

const std::vector<std::vector<Dims>> kShapes[] = {
    // names: small, one, long, broadcast
    {{{3, 5}}, {{}}, {{1031}}, {{2, 1, 3}}},
    {{{3, 5}, {3, 5}}, {{}, {}}, {{1031}, {1031}}, {{4, 1}, {3, 1, 5}}, {{7, 300}, {300}}, {{7, 300}, {7, 1}}},
    {{{3, 5}, {3, 5}, {3, 5}}, {{}, {}, {}}, {{1031}, {1031}, {1031}}, {{5}, {3, 1}, {}}},
};

std::vector<Case> scalar_cases() {
  std::vector<Case> cases;
  for (int i = 0; i < kScalarOpCount; ++i) {
    const auto op = static_cast<ScalarOp>(i);
    const ScalarInfo& info = scalar_info(op);
    int shape = 0;
    for (const std::vector<Dims>& dims : kShapes[info.arity - 1]) {
      Case c{.name = str("scalar_", info.name, "_", shape++),
             .build = [op](Graph&, const std::vector<Tensor>& in) { return std::vector<Tensor>{scalar_op(op, in)}; }};
      const bool whole = op == ScalarOp::kEqual || op == ScalarOp::kSelect;  // so that both branches are taken
      for (std::size_t a = 0; a < dims.size(); ++a)
        c.inputs.push_back({.name = std::string(1, static_cast<char>('a' + a)),
                            .dims = dims[a],
                            .low = info.low,
                            .high = info.high,
                            .whole = whole && (a == 0 || op == ScalarOp::kEqual)});
      c.h = info.low == 1e-3 ? 1e-6 : 1e-5;  // poles near the lower end
      cases.push_back(std::move(c));
    }
  }
  return cases;
}

// The same handle as both arguments, a constant on either side, a scalar uniform, an index: forms that lowering treats apart.
Case form(const std::string& name, std::function<Tensor(Graph&, Tensor)> build) {
  return {.name = "scalar_form_" + name,
          .inputs = {{"x", {6, 50}, 0.5, 2}},
          .build = [build](Graph& g, const std::vector<Tensor>& in) { return std::vector<Tensor>{build(g, in[0])}; },
          .uniforms = [](int) { return std::map<std::string, double>{{"u", 0.7}}; }};
}

const bool kAdded =
    add_cases(scalar_cases()) &&
    add_cases({
        form("square", [](Graph&, Tensor x) { return x * x; }),
        form("const_right", [](Graph&, Tensor x) { return (x - 0.25) / 3.0; }),
        form("const_left", [](Graph& g, Tensor x) { return constant(g, 2.0) - constant(g, 3.0) / x; }),
        form("const_both", [](Graph& g, Tensor x) { return x * (constant(g, 2.0) / constant(g, 3.0)); }),
        form("compare_left", [](Graph& g, Tensor x) { return select(less(constant(g, 1.0), x), x, x * x); }),
        form("uniform", [](Graph& g, Tensor x) { return x * uniform(g, "u") + uniform(g, "u"); }),
        form("iota", [](Graph& g, Tensor x) { return x * iota(g, x.dims(), 1) + iota(g, x.dims(), 0); }),
        form("long_chain",
             [](Graph&, Tensor x) {
               Tensor y = x;
               for (int i = 0; i < 40; ++i) y = tanh(y) + x * 0.5;
               return y;
             }),
        form("diamond",
             [](Graph&, Tensor x) {
               const Tensor a = exp(x), b = log(x);
               return a * b + a / x - b * tanh(a + b);
             }),
        // exp overflows f32 at 88.73 and must say so: infinity, never a large number; 1/inf is 0.
        {.name = "scalar_exp_overflow",
         .inputs = {{.name = "x", .dims = {6}, .values = {-200, -87, 0, 88, 89, 1000}}},
         .build =
             [](Graph&, const std::vector<Tensor>& in) {
               return std::vector<Tensor>{exp(in[0]), constant(*in[0].graph, 1.0) / exp(in[0]), sigmoid(in[0]), tanh(in[0])};
             },
         .gradients = false},
        {.name = "scalar_edges",
         .inputs = {{.name = "x", .dims = {8}, .values = {0, -0.0, 1e-38, -1e-38, 1e-30, 3e38, -3e38, 1}}},
         .build =
             [](Graph&, const std::vector<Tensor>& in) {
               const Tensor x = in[0];
               return std::vector<Tensor>{erf(x), tanh(x), sigmoid(x),  scalar_op(ScalarOp::kSign, {x}),
                                          abs(x), x + x,   sqrt(abs(x))};
             },
         .gradients = false},
    });

}  // namespace
}  // namespace tabgrad::optest
