// The graph's builder: shapes that fit, and messages for those that do not.
#include "graph/build.h"

#include <gtest/gtest.h>

#include <functional>

#include "graph/autodiff.h"
#include "graph/compose/compose.h"
#include "graph/evaluate.h"
#include "graph/rewrite.h"

namespace tabgrad {
namespace {

class Build : public ::testing::Test {
 protected:
  Tensor x(Dims dims, DType dtype = DType::kF32) {
    return input(g_, str("x", g_.nodes.size()), std::move(dims), Role::kInput, dtype);
  }
  Tensor ids(Dims dims) { return x(std::move(dims), DType::kI32); }
  Graph g_;
};

TEST_F(Build, Shapes) {
  EXPECT_EQ((x({2, 1, 3}) + x({4, 1})).dims(), (Dims{2, 4, 3}));
  EXPECT_EQ((x({}) * 2.0).dims(), Dims{});
  EXPECT_EQ(reshape(x({4, 6}), {2, -1, 3}).dims(), (Dims{2, 4, 3}));
  EXPECT_EQ(permute(x({2, 3, 4}), {2, 0, 1}).dims(), (Dims{4, 2, 3}));
  EXPECT_EQ(expand(x({3, 1}), {2, 3, 5}).dims(), (Dims{2, 3, 5}));
  EXPECT_EQ(slice(x({7}), 0, 1, 6, 2).dims(), Dims{3});
  EXPECT_EQ(slice(x({7}), 0, 1, 7, 2).dims(), Dims{3});
  EXPECT_EQ(slice(x({7}), 0, 0, 7, 2).dims(), Dims{4});
  EXPECT_EQ(slice(x({7}), 0, 6, -1, -1).dims(), Dims{7});
  EXPECT_EQ(slice(x({7}), 0, 6, 0, -2).dims(), Dims{3});
  EXPECT_EQ(pad(x({2, 3}), -1, 1, 2).dims(), (Dims{2, 6}));
  EXPECT_EQ(concat({x({2, 3}), x({2, 4})}, 1).dims(), (Dims{2, 7}));
  EXPECT_EQ(sum(x({2, 3, 4}), {0, -1}).dims(), Dims{3});
  EXPECT_EQ(sum(x({2, 3, 4}), {0, -1}, true).dims(), (Dims{1, 3, 1}));
  EXPECT_EQ(matmul(x({5, 2}), x({5, 3}), true).dims(), (Dims{2, 3}));
  EXPECT_EQ(matmul(x({2, 4, 5, 2}), x({2, 3})).dims(), (Dims{2, 4, 5, 3}));
  EXPECT_EQ(matmul(x({2, 4, 5, 2}), x({2, 4, 2, 3})).dims(), (Dims{2, 4, 5, 3}));
  EXPECT_EQ(gather(x({9, 4}), ids({2, 3})).dims(), (Dims{2, 3, 4}));
  EXPECT_EQ(conv1d(x({2, 9, 3}), x({4, 3, 5}), {}, 3, 0).dims(), (Dims{2, 9, 5}));
  EXPECT_EQ(attention(x({2, 7, 48}), {.heads = 4, .kv_heads = 2}).dims(), (Dims{2, 7, 24}));
  EXPECT_EQ(lstm_sequence(x({5, 2, 12}), x({3, 12})).dims(), (Dims{5, 2, 3}));
}

TEST_F(Build, NothingIsAddedForViewsThatChangeNothing) {
  const Tensor a = x({2, 3});
  const std::size_t nodes = g_.nodes.size();
  EXPECT_EQ(reshape(a, {2, 3}).value, a.value);
  EXPECT_EQ(permute(a, {0, 1}).value, a.value);
  EXPECT_EQ(expand(a, {2, 3}).value, a.value);
  EXPECT_EQ(slice(a, 0, 0, 2).value, a.value);
  EXPECT_EQ(pad(a, 1, 0, 0).value, a.value);
  EXPECT_EQ(sum(a, {}).value, a.value);
  EXPECT_EQ(g_.nodes.size(), nodes);
}

// Each mistake, and what its message must hold: the op, the shapes, the layer when one is set.
TEST_F(Build, MistakesNameOpAndShapes) {
  const Tensor a = x({2, 3}), b = x({4, 5}), v = x({3}), n = ids({2});
  const struct {
    std::function<void()> mistake;
    std::vector<const char*> words;
  } rows[] = {
      {[&] { a + b; }, {"broadcast", "(2,3)", "(4,5)"}},
      {[&] { select(a, v, b); }, {"broadcast", "(2,3)", "(3)", "(4,5)"}},
      {[&] { matmul(a, b); }, {"matmul", "(2,3)", "(4,5)", "3", "4"}},
      {[&] { matmul(v, a); }, {"matmul", "(3)", "(2,3)"}},
      {[&] { matmul(x({2, 3, 4}), x({3, 4, 5})); }, {"matmul", "(2,3,4)", "(3,4,5)"}},
      {[&] { matmul(a, n); }, {"(2,3)", "(2)", "f32"}},
      {[&] { reshape(a, {4, 2}); }, {"reshape", "(2,3)", "(4,2)"}},
      {[&] { reshape(a, {4, -1}); }, {"reshape", "(2,3)"}},
      {[&] { reshape(a, {0, -1}); }, {"reshape", "(2,3)", "(0,-1)"}},
      {[&] { reshape(a, {-1, -1}); }, {"reshape", "(2,3)", "(-1,-1)"}},
      {[&] { reshape(a, {-2, -3}); }, {"reshape", "(2,3)", "(-2,-3)"}},
      {[&] { permute(a, {0}); }, {"permute", "(2,3)"}},
      {[&] { permute(a, {1, 1}); }, {"permute", "(2,3)"}},
      {[&] { permute(a, {1, 2}); }, {"permute", "(2,3)"}},
      {[&] { expand(a, {3}); }, {"expand", "(2,3)", "(3)"}},
      {[&] { expand(a, {2, 4}); }, {"expand", "(2,3)", "(2,4)"}},
      {[&] { slice(a, 1, 1, 4); }, {"slice", "(2,3)"}},  // as long as the axis, but not of it
      {[&] { slice(a, 0, 0, 3); }, {"slice", "(2,3)"}},
      {[&] { slice(a, 0, 1, 1); }, {"slice", "(2,3)"}},
      {[&] { slice(a, 0, 0, 2, 0); }, {"slice", "(2,3)", "step"}},
      {[&] { slice(a, 2, 0, 1); }, {"axis", "2", "(2,3)"}},
      {[&] { pad(a, 0, -1, 0); }, {"pad", "(2,3)"}},
      {[&] { concat({a, x({3, 3})}, 1); }, {"broadcast", "(2,6)", "(3,6)"}},
      {[&] { sum(a, {2}); }, {"axis", "2", "(2,3)"}},
      {[&] { sum(a, {0, -2}); }, {"axis", "(2,3)"}},
      {[&] { gather(a, v); }, {"(2,3)", "i32"}},
      {[&] { gather(v, n); }, {"(3)"}},
      {[&] { cast_f32(a); }, {"(2,3)", "i32"}},
      {[&] { n + n; }, {"(2)", "f32"}},
      {[&] { layer_norm(a, v, x({4})); }, {"layer_norm", "(2,3)", "(4)"}},
      {[&] { cross_entropy(a, ids({3})); }, {"cross_entropy", "(2,3)", "(3)"}},
      {[&] { attention(x({2, 3, 7}), {.heads = 2, .kv_heads = 2}); }, {"attention", "(2,3,7)"}},
      {[&] { attention(x({2, 3, 12}), {.heads = 3, .kv_heads = 2}); }, {"attention", "(2,3,12)"}},
      {[&] { lstm_sequence(x({5, 2, 13}), x({3, 12})); }, {"lstm", "(5,2,13)", "(3,12)"}},
      {[&] { gru_sequence(x({5, 2, 9}), x({3, 9}), x({3}), true); }, {"gru", "(5,2,9)", "(3)"}},
      {[&] { conv1d(x({2, 3, 4}), x({5, 4, 6}), {}, 0, 0); }, {"conv1d", "3", "5"}},
      {[&] { conv1d(x({2, 3, 4}), x({2, 5, 6}), {}, 0, 0); }, {"conv1d", "(2,3,4)", "(2,5,6)"}},
      {[&] { dropout(a, 1.0, 0); }, {"dropout", "1"}},
      {[&] { x({2, 0}); }, {"'x", "(2,0)"}},
      {[&] { constant(g_, 1.0, {2, 0}); }, {"(2,0)"}},
      {[&] { iota(g_, {2, 3}, 2); }, {"iota", "(2,3)", "2"}},
      {[&] { gradients(a, {a}); }, {"gradients", "(2,3)"}},
      {[&] { gradients(sum(slice(a, 1, 0, 3, 2), {0, 1}), {a}); }, {"slice", "step"}},
      {[&] { gradients(sum_squares({a}), {a}); }, {"sum_squares"}},
  };
  int row = 0;
  for (const auto& r : rows) {
    g_.scope = "head";
    try {
      r.mistake();
      ADD_FAILURE() << "row " << row << " (" << r.words[0] << ") was accepted";
    } catch (const Error& e) {
      for (const char* word : r.words)
        EXPECT_NE(std::string(e.what()).find(word), std::string::npos)
            << "row " << row << ": '" << e.what() << "' lacks " << word;
    } catch (const std::exception& e) {
      ADD_FAILURE() << "row " << row << " (" << r.words[0] << ") is no user error: " << e.what();
    }
    ++row;
  }
}

TEST_F(Build, MessagesNameTheLayer) {
  g_.scope = "layer 3";
  try {
    matmul(x({2, 3}), x({4, 5}));
    FAIL();
  } catch (const Error& e) {
    EXPECT_NE(std::string(e.what()).find("'layer 3'"), std::string::npos) << e.what();
  }
}

TEST_F(Build, DeadNodesGoLiveOnesStay) {
  const Tensor a = x({2}), b = x({2});
  exp(b);
  g_.outputs = {{"y", (a * 2.0).value}};
  g_.updates = {{a.value, (a + 1.0).value}};
  const Graph live = without_dead_nodes(g_);
  EXPECT_EQ(live.nodes.size(), g_.nodes.size() - 2);  // b and its exp
  EvaluateInputs in;
  in.values = {{"x0", {1, 2}}};
  EXPECT_EQ(evaluate(live, in).outputs.at("y"), (std::vector<double>{2, 4}));
  EXPECT_EQ(evaluate(live, in).updates.at("x0"), (std::vector<double>{2, 3}));
}

}  // namespace
}  // namespace tabgrad
