// Values that kernels leave for each other and for the backward pass, which a target may store as f16 (plan/narrow.cc): what enters and
// leaves each kind of kernel here comes from another kernel and goes to one. On all other targets these are cases like any.
#include <array>

#include "graph/compose/compose.h"
#include "optest/optest.h"

namespace tabgrad::optest {
namespace {

using Dim = std::int64_t;
using Tensors = std::vector<Tensor>;

Case half(const std::string& name, std::vector<Spec> inputs, std::function<Tensors(Graph&, const Tensors&)> build) {
  return {.name = "half_" + name, .inputs = std::move(inputs), .build = std::move(build)};
}

// (m,k)·(k,n)·(n,p): the value between is read along both of its dimensions, forward and backward.
std::vector<Case> sized_cases() {
  std::vector<Case> cases;
  for (const auto& [m, k, n, p] : std::vector<std::array<Dim, 4>>{
           {1, 7, 33, 1}, {7, 33, 1, 7}, {33, 130, 7, 33}, {7, 1031, 33, 130}, {130, 33, 36, 1}, {33, 7, 1030, 132}}) {
    cases.push_back(half(str("products_", m, "x", k, "x", n, "x", p), {{"x", {m, k}}, {"w", {k, n}}, {"u", {n, p}}},
                         [](Graph&, const Tensors& in) { return Tensors{matmul(matmul(in[0], in[1]), in[2])}; }));
  }
  for (const Dim n : {Dim{7}, Dim{33}, Dim{36}, Dim{130}, Dim{1031}}) {
    const std::vector<Spec> inputs{{"x", {9, 20}}, {"w", {20, n}}, {"gamma", {n}, 0.5, 1.5}, {"beta", {n}}, {"u", {n, 5}}};
    cases.push_back(half(str("layer_norm_", n), inputs, [](Graph&, const Tensors& in) {
      const Tensor h = matmul(in[0], in[1]);
      return Tensors{matmul(layer_norm(h, in[2], in[3]), in[4])};
    }));
    cases.push_back(half(str("rms_norm_", n), inputs, [](Graph&, const Tensors& in) {
      const Tensor h = matmul(in[0], in[1]) + in[3];
      return Tensors{matmul(rms_norm(h, in[2]) + h, in[4])};
    }));
    cases.push_back(half(str("softmax_", n), inputs, [](Graph&, const Tensors& in) {
      return Tensors{matmul(softmax(matmul(in[0], in[1]) * in[2]), in[4])};
    }));
    cases.push_back(half(str("cross_entropy_", n), {{"x", {9, 20}}, {"w", {20, n}}, {.name = "t", .dims = {9}, .ids = n}},
                         [](Graph&, const Tensors& in) { return Tensors{cross_entropy(matmul(in[0], in[1]), in[2])}; }));
  }
  for (const Dim d : {Dim{5}, Dim{16}}) {
    cases.push_back(
        half(str("attention_", d), {{"x", {2, 33, 9}}, {"w", {9, 4 * d}}, {"o", {2 * d, 7}}}, [](Graph&, const Tensors& in) {
          const Tensor qkv = matmul(in[0], in[1]);
          return Tensors{matmul(attention(qkv, {.heads = 2, .kv_heads = 1}), in[2])};
        }));
  }
  return cases;
}

const bool kAdded =
    add_cases(sized_cases()) &&
    add_cases({
        half("elementwise", {{"x", {7, 33}}, {"w", {33, 33}}, {"b", {33}}},
             [](Graph&, const Tensors& in) {
               const Tensor h = gelu(matmul(tanh(in[0]), in[1]) + in[2]);
               return Tensors{matmul(h * sigmoid(h), in[1]), sum(h * h, {0})};
             }),
        half("views", {{"x", {6, 5, 4}}, {"w", {4, 6}}, {"u", {5, 3}}},
             [](Graph&, const Tensors& in) {
               const Tensor h = tanh(matmul(in[0], in[1]));  // (6,5,6)
               const Tensor turned = matmul(reshape(permute(h, {0, 2, 1}), {36, 5}), in[2]);
               return Tensors{turned, matmul(reshape(slice(h, 2, 1, 5), {30, 4}), in[1])};
             }),
        half("gather", {{"table", {11, 10}}, {.name = "ids", .dims = {7}, .ids = 11}, {"p", {7, 10}}, {"w", {10, 3}}},
             [](Graph&, const Tensors& in) {
               const Tensor h = gather(in[0], in[1]) + in[2];
               return Tensors{matmul(h, in[3]), matmul(exp(h), in[3])};
             }),
    });

}  // namespace
}  // namespace tabgrad::optest
