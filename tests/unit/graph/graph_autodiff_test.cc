// Autodiff where differences say nothing: ties, kinks, seeds, values that do not depend on each other.
#include "graph/autodiff.h"

#include <gtest/gtest.h>

#include <cmath>

#include "graph/compose/compose.h"
#include "graph/evaluate.h"

namespace tabgrad {
namespace {

using Numbers = std::vector<double>;

Numbers value(Graph& g, Tensor y, std::map<std::string, Numbers> inputs) {
  g.outputs = {{"y", y.value}};
  EvaluateInputs in;
  in.values = std::move(inputs);
  return evaluate(g, in).outputs.at("y");
}

TEST(Gradients, TiesAndKinks) {
  Graph g;
  const Tensor a = input(g, "a", {3}), b = input(g, "b", {3});
  const std::map<std::string, Numbers> at{{"a", {1, 2, 3}}, {"b", {2, 2, 2}}};
  auto grad = [&](Tensor y, Tensor x) { return value(g, gradients(sum(y, {0}), {x})[0], at); };
  EXPECT_EQ(grad(maximum(a, b), a), (Numbers{0, 1, 1}));  // a tie goes to the first
  EXPECT_EQ(grad(maximum(a, b), b), (Numbers{1, 0, 0}));
  EXPECT_EQ(grad(minimum(a, b), a), (Numbers{1, 1, 0}));
  EXPECT_EQ(grad(minimum(a, b), b), (Numbers{0, 0, 1}));
  EXPECT_EQ(grad(abs(a - b), a), (Numbers{-1, 0, 1}));
  EXPECT_EQ(grad(max(b, {0}, true), b), (Numbers{1. / 3, 1. / 3, 1. / 3}));  // shared evenly
  EXPECT_EQ(grad(select(less(a, b), a * 2.0, a * 3.0), a), (Numbers{2, 3, 3}));
}

TEST(Gradients, SeedReplacesOnes) {
  Graph g;
  const Tensor a = input(g, "a", {2}), s = input(g, "s", {2});
  const std::map<std::string, Numbers> at{{"a", {3, 4}}, {"s", {10, 100}}};
  EXPECT_EQ(value(g, gradients(a * a, {a}, s)[0], at), (Numbers{60, 800}));
}

TEST(Gradients, OfWhatIsIndependentAreZero) {
  Graph g;
  const Tensor a = input(g, "a", {2}), b = input(g, "b", {3});
  const Tensor y = sum(a, {0});
  const Tensor later = input(g, "later", {4});
  const std::vector<Tensor> grads = gradients(y, {b, later, a, y});
  const std::map<std::string, Numbers> at{{"a", {3, 4}}, {"b", {1, 1, 1}}, {"later", {1, 1, 1, 1}}};
  EXPECT_EQ(value(g, grads[0], at), Numbers(3, 0));
  EXPECT_EQ(value(g, grads[1], at), Numbers(4, 0));
  EXPECT_EQ(value(g, grads[2], at), Numbers(2, 1));
  EXPECT_EQ(value(g, grads[3], at), Numbers{1});
}

TEST(Gradients, OfIntermediateValuesStopThere) {
  Graph g;
  const Tensor a = input(g, "a", {2});
  const Tensor h = a * 3.0;
  const Tensor y = sum(h * h, {0});
  const std::vector<Tensor> grads = gradients(y, {h, a});
  EXPECT_EQ(value(g, grads[0], {{"a", {1, 2}}}), (Numbers{6, 12}));
  EXPECT_EQ(value(g, grads[1], {{"a", {1, 2}}}), (Numbers{18, 36}));
}

TEST(Gradients, TwiceGivesTheSecondDerivative) {
  Graph g;
  const Tensor a = input(g, "a", {});
  const Tensor first = gradients(exp(a * 2.0) * a, {a})[0];
  const Tensor second = gradients(first, {a})[0];  // (4a + 4)·e^2a
  EXPECT_NEAR(value(g, second, {{"a", {0.5}}})[0], 6 * std::exp(1.0), 1e-12);
}

TEST(Gradients, OneValueGivenTwiceToAComposite) {
  Graph g;
  const Tensor v = input(g, "v", {2});
  const Tensor x = input(g, "x", {1, 2});
  const Tensor grad = gradients(sum(layer_norm(x, v, v), {0, 1}), {v})[0];
  const Numbers got = value(g, grad, {{"v", {1, 1}}, {"x", {-1, 1}}});  // normalised x, and 1 for beta
  EXPECT_NEAR(got[0], -1 + 1, 1e-5);
  EXPECT_NEAR(got[1], 1 + 1, 1e-5);
}

TEST(Gradients, OnlyOutputZeroOfACompositeHasOne) {
  Graph g;
  const Tensor x = input(g, "x", {2, 3});
  const Tensor y = rms_norm(x, input(g, "gamma", {3}));
  const Tensor rstd{&g, {y.value.node, 1}};
  EXPECT_THROW(gradients(sum(rstd, {0}), {x}), Error);
}

}  // namespace
}  // namespace tabgrad
