// Rows of a table by id, and their gradient, the segment sum: repeated, missing and out-of-range ids.
#include <gtest/gtest.h>

#include "graph/compose/compose.h"
#include "optest/optest.h"

namespace tabgrad::optest {
namespace {

Case rows(const std::string& name, Dims table, Spec ids, bool gradients = true) {
  ids.name = "ids";
  return {.name = "gather_" + name,
          .inputs = {{"table", table}, ids},
          .build = [](Graph&, const std::vector<Tensor>& in) { return std::vector<Tensor>{gather(in[0], in[1])}; },
          .gradients = gradients};
}

const bool kAdded = add_cases({
    rows("few", {5, 3}, {.dims = {4}, .ids = 5}),
    rows("one", {1, 1}, {.dims = {1}, .ids = 1}),
    rows("repeated", {7, 33}, {.dims = {64}, .ids = 3}),  // rows 3…6 get no gradient
    rows("batch", {50, 16}, {.dims = {3, 5}, .ids = 50}),
    rows("large", {300, 40}, {.dims = {1000}, .ids = 300}),
    rows("all_the_same", {9, 5}, {.dims = {40}, .ids = 9, .values = std::vector<double>(40, 4.0)}),
    // An id outside the table reads zeros and gets no gradient: never memory that is not the table's.
    rows("out_of_range", {5, 3}, {.dims = {6}, .ids = 5, .values = {0, 5, -1, 4, 1000000, -2147483648.0}}),
    {.name = "gather_then_work",
     .inputs = {{"table", {11, 8}}, {.name = "ids", .dims = {2, 6}, .ids = 11}, {"p", {6, 8}}},
     .build =
         [](Graph&, const std::vector<Tensor>& in) {
           const Tensor x = gather(tanh(in[0]), in[1]) + in[2];
           return std::vector<Tensor>{x * x, sum(x, {1})};
         }},
    {.name = "gather_twice_tied",  // as a tied embedding: gathered and multiplied
     .inputs = {{"table", {11, 8}}, {.name = "ids", .dims = {6}, .ids = 11}},
     .build =
         [](Graph&, const std::vector<Tensor>& in) {
           return std::vector<Tensor>{matmul(tanh(gather(in[0], in[1])), in[0], false, true)};
         }},
    {.name = "cast_ids",
     .inputs = {{"x", {4, 6}}, {.name = "ids", .dims = {4, 1}, .ids = 6}},
     .build =
         [](Graph& g, const std::vector<Tensor>& in) {
           return std::vector<Tensor>{in[0] * equal(iota(g, {4, 6}, 1), cast_f32(in[1])), in[0] * cast_f32(in[1])};
         }},
});

TEST(Gather, SlicedIdsAreRefused) {  // i32 is copied nowhere: a GPU's f32 registers would lose it
  Graph g;
  const Tensor ids = input(g, "ids", {3, 6}, Role::kInput, DType::kI32);
  g.outputs = {{"y", gather(input(g, "table", {11, 8}), slice(ids, 1, 1, 5)).value}};
  EXPECT_THROW(open(targets()[0], {{"run", g}}), Error);
}

}  // namespace
}  // namespace tabgrad::optest
