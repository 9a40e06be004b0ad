// Plain compositions: activations, dropout, linear, conv1d, the elementwise losses, sums of squares.
#include <gtest/gtest.h>

#include "graph/compose/compose.h"
#include "optest/optest.h"

namespace tabgrad::optest {
namespace {

Case unary(const std::string& name, Tensor (*f)(Tensor), double h = 1e-4) {
  return {.name = name,
          .inputs = {{"x", {9, 131}, -6, 6}},
          .build = [f](Graph&, const std::vector<Tensor>& in) { return std::vector<Tensor>{f(in[0])}; },
          .h = h};
}

Case loss(const std::string& name, std::function<Tensor(Tensor, Tensor)> f) {
  return {.name = "loss_" + name,
          .inputs = {{"y", {7, 12}, -3, 3}, {"target", {7, 12}, -3, 3}},
          .build =
              [f](Graph&, const std::vector<Tensor>& in) {
                const Tensor e = f(in[0], in[1]);
                return std::vector<Tensor>{e, mean(e, {0, 1})};
              },
          .h = 1e-6};
}

Case conv(const std::string& name, Dims x, Dims w, std::int64_t before, std::int64_t after, bool bias) {
  Case c{.name = "conv1d_" + name, .inputs = {{"x", x}, {"w", w}}};
  if (bias) c.inputs.push_back({"b", {w[2]}});
  c.build = [before, after, bias](Graph&, const std::vector<Tensor>& in) {
    return std::vector<Tensor>{conv1d(in[0], in[1], bias ? in[2] : Tensor{}, before, after)};
  };
  return c;
}

Case drop(const std::string& name, Dims dims, double rate) {
  return {.name = "dropout_" + name, .inputs = {{"x", dims, 1, 2}}, .build = [rate](Graph&, const std::vector<Tensor>& in) {
            return std::vector<Tensor>{dropout(in[0], rate, 5), dropout(permute(in[0] * 2.0, {1, 0}), rate, 6)};
          }};
}

const bool kAdded = add_cases({
    unary("relu", relu, 1e-7),
    unary("gelu", gelu),
    unary("silu", silu),
    drop("small", {3, 5}, 0.5),
    drop("large", {70, 90}, 0.1),
    drop("none", {3, 5}, 0.0),
    {.name = "dropout_of_view",  // the mask belongs to the logical element, whatever the fusion
     .inputs = {{"x", {6, 10}}},
     .build =
         [](Graph&, const std::vector<Tensor>& in) {
           const Tensor y = dropout(in[0], 0.4, 1);
           return std::vector<Tensor>{permute(y, {1, 0}), slice(y, 0, 2, 4), sum(y, {0}), reshape(y, {4, 15})};
         }},
    {.name = "linear_bias",
     .inputs = {{"x", {2, 5, 7}}, {"w", {7, 3}}, {"b", {3}}},
     .build = [](Graph&, const std::vector<Tensor>& in) { return std::vector<Tensor>{linear(in[0], in[1], in[2])}; }},
    conv("plain", {2, 9, 3}, {4, 3, 5}, 0, 0, true),
    conv("causal", {2, 9, 3}, {4, 3, 5}, 3, 0, true),
    conv("same", {3, 8, 2}, {3, 2, 6}, 1, 1, false),
    conv("one_tap", {2, 6, 3}, {1, 3, 4}, 0, 0, true),
    conv("one_channel", {1, 33, 1}, {7, 1, 1}, 6, 0, true),
    conv("whole", {2, 5, 3}, {5, 3, 4}, 0, 0, true),
    loss("mse", mse_loss),
    loss("mae", mae_loss),
    loss("huber", [](Tensor y, Tensor t) { return huber_loss(y, t, 0.7); }),
    loss("quantile_10", [](Tensor y, Tensor t) { return quantile_loss(y, t, 0.1); }),
    loss("quantile_50", [](Tensor y, Tensor t) { return quantile_loss(y, t, 0.5); }),
    loss("quantile_90", [](Tensor y, Tensor t) { return quantile_loss(y, t, 0.9); }),
    {.name = "sum_squares",
     .inputs = {{"a", {33, 7}}, {"b", {}}, {"c", {5000}}, {"d", {2, 3, 4}}},
     .build =
         [](Graph&, const std::vector<Tensor>& in) {
           return std::vector<Tensor>{sum_squares(in), sqrt(sum_squares({tanh(in[0])})), sum_squares({in[1]})};
         },
     .gradients = false},
});

// What a keep rate promises, and that steps draw different masks: on the first target, through a Program.
TEST(Dropout, KeepsTheRateAndDiffersByStepAndStream) {
  Graph g;
  const Tensor ones = constant(g, 1.0, {200, 500});
  const Tensor x = input(g, "x", {200, 500});
  g.outputs = {{"a", dropout(ones * x, 0.3, 1).value}, {"b", dropout(ones * x, 0.3, 2).value}};
  Session session = open(targets()[0], {{"run", g}});
  session.write("x", HostTensor::of({200, 500}, std::vector<float>(100000, 1.0f)));
  auto run_step = [&](std::uint64_t seed, std::uint32_t step, const char* output) {
    session.set_random(seed, step);
    session.run("run");
    return session.read(output).f32;
  };
  const std::vector<float> a = run_step(1, 1, "a");
  double total = 0, kept = 0;
  for (float v : a) {
    total += static_cast<double>(v);
    kept += v != 0;
  }
  EXPECT_NEAR(kept / 1e5, 0.7, 0.006);   // four standard deviations
  EXPECT_NEAR(total / 1e5, 1.0, 0.009);  // the mean is kept
  EXPECT_EQ(a, run_step(1, 1, "a"));
  EXPECT_NE(a, run_step(1, 2, "a"));
  EXPECT_NE(a, run_step(2, 1, "a"));
  EXPECT_NE(a, run_step(1, 1, "b"));
}

}  // namespace
}  // namespace tabgrad::optest
