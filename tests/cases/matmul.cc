// Matrix products: the four ways operands are stored, odd sizes, batches, operands that are views, and fused neighbours.
#include "graph/compose/compose.h"
#include "optest/optest.h"

namespace tabgrad::optest {
namespace {

Case product(std::int64_t batch, std::int64_t m, std::int64_t n, std::int64_t k, bool ta, bool tb) {
  auto dims = [batch](std::int64_t rows, std::int64_t cols, bool transposed) {
    const Dims d = transposed ? Dims{cols, rows} : Dims{rows, cols};
    return batch == 1 ? d : Dims{batch, d[0], d[1]};
  };
  return {
      .name = str("matmul_", batch, "x", m, "x", n, "x", k, "_", ta ? "t" : "n", tb ? "t" : "n"),
      .inputs = {{"a", dims(m, k, ta)}, {"b", dims(k, n, tb)}},
      .build = [ta, tb](Graph&, const std::vector<Tensor>& in) { return std::vector<Tensor>{matmul(in[0], in[1], ta, tb)}; },
      .differences = m * n * k < 50000,
      .large = m * n * k > 300000};
}

std::vector<Case> products() {
  std::vector<Case> cases;
  const std::vector<Dims> sizes{{1, 1, 1},    {1, 33, 7},   {33, 1, 7},    {7, 33, 1},     {7, 7, 7},
                                {33, 7, 130}, {130, 33, 7}, {33, 130, 33}, {130, 130, 130}};
  for (const Dims& s : sizes)
    for (int form = 0; form < 4; ++form)
      for (std::int64_t batch : {1, 3}) cases.push_back(product(batch, s[0], s[1], s[2], form & 1, form & 2));
  // Whole fours of rows and columns, which some targets draw by eights or fours of rows, and with k in chunks.
  for (const Dims& s : std::vector<Dims>{{40, 60, 130}, {40, 36, 128}, {36, 60, 128}})
    for (int form = 0; form < 4; ++form)
      for (std::int64_t batch : {1, 2}) cases.push_back(product(batch, s[0], s[1], s[2], form & 1, form & 2));
  return cases;
}

using Build = std::function<std::vector<Tensor>(Tensor a, Tensor b)>;
Case of_views(const std::string& name, Dims a, Dims b, Build build) {
  return {.name = "matmul_of_" + name, .inputs = {{"a", a}, {"b", b}}, .build = [build](Graph&, const std::vector<Tensor>& in) {
            return build(in[0], in[1]);
          }};
}

// x (33,20) · w (20,24), then something.
using Epilogue = std::function<std::vector<Tensor>(Tensor product, Tensor bias, Tensor other)>;
Case then(const std::string& name, Epilogue epilogue, double h = 1e-4) {
  return {.name = "matmul_then_" + name,
          .inputs = {{"x", {33, 20}}, {"w", {20, 24}}, {"b", {24}}, {"r", {33, 24}}},
          .build = [epilogue](Graph&, const std::vector<Tensor>& in) { return epilogue(matmul(in[0], in[1]), in[2], in[3]); },
          .h = h};
}

const bool kAdded =
    add_cases(products()) &&
    add_cases({
        of_views("slices", {40, 30}, {30, 50},
                 [](Tensor a, Tensor b) {
                   return std::vector<Tensor>{matmul(slice(slice(a, 0, 3, 36), 1, 5, 25), slice(slice(b, 0, 5, 25), 1, 1, 40))};
                 }),
        of_views("transposed_slices", {40, 30}, {40, 50},
                 [](Tensor a, Tensor b) {
                   return std::vector<Tensor>{matmul(slice(a, 0, 4, 40), slice(b, 0, 0, 36), true, false)};
                 }),
        of_views("permuted", {20, 33}, {24, 20},
                 [](Tensor a, Tensor b) { return std::vector<Tensor>{matmul(permute(a, {1, 0}), permute(b, {1, 0}))}; }),
        // Heads in the middle, as attention has them: (B,T,H,D) read as (B·H) matrices cannot be one batch stride.
        of_views("heads", {2, 7, 3, 5}, {2, 7, 3, 5},
                 [](Tensor a, Tensor b) {
                   auto heads = [](Tensor x) { return reshape(permute(x, {0, 2, 1, 3}), {6, 7, 5}); };
                   return std::vector<Tensor>{matmul(heads(a), heads(b), false, true)};
                 }),
        of_views("heads_of_one_batch", {1, 7, 3, 5}, {1, 7, 3, 5},
                 [](Tensor a, Tensor b) {
                   auto heads = [](Tensor x) { return reshape(permute(x, {0, 2, 1, 3}), {3, 7, 5}); };
                   return std::vector<Tensor>{matmul(heads(a), heads(b), false, true)};
                 }),
        of_views("stepped_rows", {40, 12}, {12, 9},
                 [](Tensor a, Tensor b) {
                   return std::vector<Tensor>{matmul(reshape(slice(reshape(a, {20, 2, 12}), 1, 1, 2), {20, 12}), b)};
                 }),
        of_views("padded", {5, 6}, {8, 9}, [](Tensor a, Tensor b) { return std::vector<Tensor>{matmul(pad(a, 1, 1, 1), b)}; }),
        of_views("expanded", {1, 6}, {6, 9},
                 [](Tensor a, Tensor b) { return std::vector<Tensor>{matmul(expand(a, {4, 6}), b)}; }),
        of_views("shared_weight", {3, 5, 6}, {6, 9}, [](Tensor a, Tensor b) { return std::vector<Tensor>{matmul(a, b)}; }),
        of_views("shared_weight_transposed", {2, 3, 5, 6}, {9, 6},
                 [](Tensor a, Tensor b) { return std::vector<Tensor>{matmul(a, b, false, true)}; }),
        of_views("rank_4", {2, 3, 5, 6}, {2, 3, 6, 4}, [](Tensor a, Tensor b) { return std::vector<Tensor>{matmul(a, b)}; }),
        of_views("itself", {6, 6}, {6, 6},
                 [](Tensor a, Tensor b) { return std::vector<Tensor>{matmul(a, a) + b, matmul(a, a, true, false)}; }),
        of_views("computed", {9, 6}, {6, 5},
                 [](Tensor a, Tensor b) { return std::vector<Tensor>{matmul(tanh(a), exp(b) * 0.5)}; }),
        of_views("products", {9, 6}, {6, 6},
                 [](Tensor a, Tensor b) { return std::vector<Tensor>{matmul(matmul(a, b), matmul(b, b))}; }),
        then("bias", [](Tensor p, Tensor b, Tensor) { return std::vector<Tensor>{p + b}; }),
        then("bias_gelu", [](Tensor p, Tensor b, Tensor) { return std::vector<Tensor>{gelu(p + b)}; }),
        then("bias_tanh_scale", [](Tensor p, Tensor b, Tensor) { return std::vector<Tensor>{tanh(p + b) * 0.5}; }),
        then(
            "bias_relu", [](Tensor p, Tensor b, Tensor) { return std::vector<Tensor>{relu(p + b)}; }, 1e-6),
        then("residual", [](Tensor p, Tensor b, Tensor r) { return std::vector<Tensor>{r + (p + b)}; }),
        then("product_kept", [](Tensor p, Tensor b, Tensor r) { return std::vector<Tensor>{sigmoid(p + b), p * r}; }),
        then("product_is_output", [](Tensor p, Tensor b, Tensor) { return std::vector<Tensor>{p, gelu(p + b)}; }),
        then("row_bias", [](Tensor p, Tensor, Tensor r) { return std::vector<Tensor>{p + slice(r, 1, 3, 4)}; }),
        then("sum", [](Tensor p, Tensor b, Tensor) { return std::vector<Tensor>{sum(tanh(p + b), {1}), sum(p, {0})}; }),
        then("transpose",
             [](Tensor p, Tensor, Tensor r) { return std::vector<Tensor>{permute(p, {1, 0}) * permute(r, {1, 0})}; }),
        then("split",
             [](Tensor p, Tensor b, Tensor) {
               const Tensor y = p + b;
               return std::vector<Tensor>{slice(y, 1, 0, 12) * sigmoid(slice(y, 1, 12, 24))};
             }),
        then("reshape", [](Tensor p, Tensor b,
                           Tensor) { return std::vector<Tensor>{permute(reshape(p + b, {3, 11, 4, 6}), {0, 2, 1, 3}) * 2.0}; }),
        then("softmax", [](Tensor p, Tensor b, Tensor) { return std::vector<Tensor>{softmax(p + b)}; }),
        then("index", [](Tensor p, Tensor, Tensor) { return std::vector<Tensor>{p * (iota(*p.graph, p.dims(), 1) + 1.0)}; }),
        then("uniformless_dropout", [](Tensor p, Tensor b, Tensor) { return std::vector<Tensor>{dropout(p + b, 0.25, 3)}; }),
        {.name = "matmul_batched_then_bias",
         .inputs = {{"x", {3, 9, 20}}, {"w", {20, 24}}, {"b", {24}}, {"r", {3, 9, 24}}},
         .build = [](Graph&,
                     const std::vector<Tensor>& in) { return std::vector<Tensor>{in[3] + gelu(linear(in[0], in[1], in[2]))}; }},
        {.name = "matmul_batch_then_scale",
         .inputs = {{"a", {3, 9, 20}}, {"b", {3, 20, 7}}, {"r", {3, 9, 7}}},
         .build = [](Graph&,
                     const std::vector<Tensor>& in) { return std::vector<Tensor>{matmul(in[0], in[1]) * 0.3 + in[2]}; }},
    });

}  // namespace
}  // namespace tabgrad::optest
