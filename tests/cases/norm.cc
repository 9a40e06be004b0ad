// Softmax, cross-entropy, layer norm, RMS norm: sizes around vector widths, views before them, and extreme values.
#include "graph/compose/compose.h"
#include "optest/optest.h"

namespace tabgrad::optest {
namespace {

using Dim = std::int64_t;

std::vector<Case> sized_cases() {
  std::vector<Case> cases;
  for (const Dims& d : std::vector<Dims>{{1, 1}, {3, 7}, {2, 3, 16}, {5, 33}, {33, 130}, {2, 1031}, {2, 4099}, {1, 16400}}) {
    const Dim c = d.back();
    const Dims rows(d.begin(), d.end() - 1);
    const std::string size = str(num_elements(rows), "x", c);
    cases.push_back({.name = "softmax_" + size,
                     .inputs = {{"x", d, -3, 3}},
                     .build = [](Graph&, const std::vector<Tensor>& in) { return std::vector<Tensor>{softmax(in[0])}; }});
    cases.push_back(
        {.name = "cross_entropy_" + size,
         .inputs = {{"x", d, -3, 3}, {.name = "t", .dims = rows, .ids = c}},
         .build = [](Graph&, const std::vector<Tensor>& in) { return std::vector<Tensor>{cross_entropy(in[0], in[1])}; }});
    if (c == 1) continue;
    cases.push_back(
        {.name = "layer_norm_" + size,
         .inputs = {{"x", d, -2, 3}, {"gamma", {c}, 0.5, 1.5}, {"beta", {c}}},
         .build = [](Graph&, const std::vector<Tensor>& in) { return std::vector<Tensor>{layer_norm(in[0], in[1], in[2])}; }});
    cases.push_back(
        {.name = "rms_norm_" + size,
         .inputs = {{"x", d, -2, 3}, {"gamma", {c}, 0.5, 1.5}},
         .build = [](Graph&, const std::vector<Tensor>& in) { return std::vector<Tensor>{rms_norm(in[0], in[1])}; }});
  }
  return cases;
}

// Long products before norms and behind them, forward and backward: on a GPU they come as partial products. And norms whose
// gradients meet others: one residual, two.
std::vector<Case> joined_cases() {
  Case layer{.name = "layer_norm_of_long_products", .differences = false};
  layer.inputs = {
      {"x", {33, 1030}, -0.1, 0.1}, {"w", {1030, 36}, -0.5, 0.5}, {"r", {33, 36}}, {"gamma", {36}, 0.5, 1.5}, {"beta", {36}},
      {"u", {36, 1030}, -0.1, 0.1}};
  layer.build = [](Graph&, const std::vector<Tensor>& in) {
    const Tensor s = matmul(in[0], in[1]) + in[2];
    return std::vector<Tensor>{matmul(layer_norm(s, in[3], in[4]), in[5]), s * 0.5};
  };
  Case rms{.name = "rms_norm_of_long_products", .differences = false};
  rms.inputs = {
      {"x", {7, 1031}, -0.1, 0.1}, {"w", {1031, 132}, -0.5, 0.5}, {"gamma", {132}, 0.5, 1.5}, {"u", {132, 517}, -0.1, 0.1}};
  rms.build = [](Graph&, const std::vector<Tensor>& in) {
    const Tensor y = rms_norm(matmul(in[0], in[1]), in[2]);
    return std::vector<Tensor>{matmul(y, in[3]), y};
  };
  Case sum{.name = "norm_of_sum_of_norms"};
  sum.inputs = {{"x", {9, 130}}, {"gamma", {130}, 0.5, 1.5}, {"beta", {130}}};
  sum.build = [](Graph&, const std::vector<Tensor>& in) {
    const Tensor s = in[0] + layer_norm(in[0], in[1], in[2]);
    return std::vector<Tensor>{s + rms_norm(s, in[1]) * 0.5 + layer_norm(s, in[1], in[2])};
  };
  return {layer, rms, sum};
}

const bool kAdded =
    add_cases(sized_cases()) && add_cases(joined_cases()) &&
    add_cases({
        {.name = "softmax_of_view",
         .inputs = {{"x", {7, 5, 9}}},
         .build =
             [](Graph&, const std::vector<Tensor>& in) {
               return std::vector<Tensor>{softmax(permute(in[0], {1, 0, 2}) * 2.0) * permute(in[0], {1, 0, 2})};
             }},
        {.name = "cross_entropy_mean_after_linear",
         .inputs = {{"x", {12, 10}}, {"w", {10, 17}}, {.name = "t", .dims = {3, 4}, .ids = 17}},
         .build =
             [](Graph&, const std::vector<Tensor>& in) {
               return std::vector<Tensor>{mean(cross_entropy(reshape(matmul(in[0], in[1]), {3, 4, 17}), in[2]), {0, 1})};
             }},
        {.name = "layer_norm_residual_linear",
         .inputs = {{"x", {2, 6, 16}}, {"r", {2, 6, 16}}, {"gamma", {16}, 0.5, 1.5}, {"beta", {16}}, {"w", {16, 5}}},
         .build =
             [](Graph&, const std::vector<Tensor>& in) {
               const Tensor s = in[0] + in[1];
               return std::vector<Tensor>{matmul(layer_norm(s, in[2], in[3]), in[4]), s * s};
             }},
        {.name = "norm_twice_shared_gamma",
         .inputs = {{"x", {6, 16}}, {"gamma", {16}, 0.5, 1.5}},
         .build =
             [](Graph&, const std::vector<Tensor>& in) {
               return std::vector<Tensor>{rms_norm(tanh(rms_norm(in[0], in[1])), in[1])};
             }},
        // ---- extreme values ----
        {.name = "softmax_huge_logits",
         .inputs = {{.name = "x",
                     .dims = {4, 4},
                     .values = {1e4, -1e4, 0, 1e4, -1e4, -1e4, -1e4, -1e4, 1e4, 9999, 9998, -1e4, 3e38, -3e38, 0, 1}}},
         .build = [](Graph&, const std::vector<Tensor>& in) { return std::vector<Tensor>{softmax(in[0])}; },
         .differences = false},
        {.name = "cross_entropy_huge_logits",
         .inputs = {{.name = "x", .dims = {3, 4}, .values = {1e4, -1e4, 0, 1e4, -1e4, -1e4, -1e4, -1e4, 1e4, 9999, 9998, -1e4}},
                    {.name = "t", .dims = {3}, .ids = 4, .values = {1, 2, 0}}},
         .build = [](Graph&, const std::vector<Tensor>& in) { return std::vector<Tensor>{cross_entropy(in[0], in[1])}; },
         .backward = {1e-3, 1e-3},  // the row's log-sum, about 1e4, is kept in f32: steps of 1e-3
         .differences = false},
        {.name = "cross_entropy_ids_out_of_range",  // a way to mask: loss 0, gradient 0
         .inputs = {{"x", {4, 5}}, {.name = "t", .dims = {4}, .ids = 5, .values = {-1, 5, 2, 100000}}},
         .build = [](Graph&, const std::vector<Tensor>& in) { return std::vector<Tensor>{cross_entropy(in[0], in[1])}; }},
        // Constant rows: variance 0, so rstd = 1/sqrt(eps) and the rows' rounding errors are multiplied by 316.
        {.name = "layer_norm_constant_rows",
         .inputs = {{.name = "x", .dims = {3, 4}, .values = {2, 2, 2, 2, 0, 0, 0, 0, -7, -7, -7, -7}},
                    {"gamma", {4}},
                    {"beta", {4}}},
         .build = [](Graph&, const std::vector<Tensor>& in) { return std::vector<Tensor>{layer_norm(in[0], in[1], in[2])}; },
         .backward = {1e-5, 1e-4},
         .h = 1e-6},
        {.name = "rms_norm_zero_rows",
         .inputs = {{.name = "x", .dims = {2, 4}, .values = {0, 0, 0, 0, 1, 0, 0, 0}}, {"gamma", {4}}},
         .build = [](Graph&, const std::vector<Tensor>& in) { return std::vector<Tensor>{rms_norm(in[0], in[1])}; },
         .h = 1e-6},
        // A large mean: variance by E[x²]−E[x]² would be noise here.
        {.name = "layer_norm_large_mean",
         .inputs = {{"x", {4, 64}, 1000, 1001}, {"gamma", {64}}, {"beta", {64}}},
         .build = [](Graph&, const std::vector<Tensor>& in) { return std::vector<Tensor>{layer_norm(in[0], in[1], in[2])}; },
         .forward = {1e-3, 1e-4},
         .backward = {1e-3, 1e-3}},
    });

}  // namespace
}  // namespace tabgrad::optest
