// Views: each alone, in chains, in chains that no strides can express (the planner must store between), and pads that meet.
#include "optest/optest.h"

namespace tabgrad::optest {
namespace {

using Build = std::function<Tensor(Tensor)>;

// A view feeds an elementwise op, a reduction and an output: three consumers that read through it in their own way.
Case view(const std::string& name, Dims dims, Build build, bool gradients = true) {
  return {.name = "view_" + name,
          .inputs = {{"x", dims}},
          .build =
              [build](Graph&, const std::vector<Tensor>& in) {
                const Tensor y = build(in[0]);
                return std::vector<Tensor>{y, tanh(y) * y, sum(y, {-1})};
              },
          .gradients = gradients};
}

const bool kAdded = add_cases({
    view("reshape", {4, 6}, [](Tensor x) { return reshape(x, {2, -1, 3}); }),
    view("reshape_ones", {4, 6}, [](Tensor x) { return reshape(x, {1, 4, 1, 6, 1}); }),
    view("permute_2d", {5, 7}, [](Tensor x) { return permute(x, {1, 0}); }),
    view("permute_3d", {3, 4, 5}, [](Tensor x) { return permute(x, {2, 0, 1}); }),
    view("permute_4d", {2, 3, 4, 5}, [](Tensor x) { return permute(x, {0, 2, 1, 3}); }),
    view("permute_large", {130, 70}, [](Tensor x) { return permute(x, {1, 0}); }),
    view("permute_reshape", {3, 4, 5}, [](Tensor x) { return reshape(permute(x, {1, 0, 2}), {4, 15}); }),
    view("permute_reshape_apart", {4, 6}, [](Tensor x) { return reshape(permute(x, {1, 0}), {3, 8}); }),
    view("reshape_permute_reshape", {4, 6},
         [](Tensor x) { return reshape(permute(reshape(x, {4, 2, 3}), {1, 0, 2}), {8, 3}); }),
    view("twice_stored", {4, 6},
         [](Tensor x) { return reshape(permute(reshape(permute(x, {1, 0}), {8, 3}), {1, 0}), {6, 4}); }),
    view("expand", {3, 1, 5}, [](Tensor x) { return expand(x, {2, 3, 4, 5}); }),
    view("expand_scalar", {}, [](Tensor x) { return expand(x, {3, 4}); }),
    view("expand_reshape", {3, 1}, [](Tensor x) { return reshape(expand(x, {3, 4}), {2, 6}); }),
    view("slice", {5, 6}, [](Tensor x) { return slice(slice(x, 0, 1, 4), 1, 2, 6); }),
    view("slice_first_and_last", {5, 6}, [](Tensor x) { return slice(x, 0, 0, 1) + slice(x, 0, 4, 5); }),
    view(
        "slice_step", {7, 6}, [](Tensor x) { return slice(x, 0, 1, 7, 2); }, false),
    view(
        "slice_reverse", {7, 6}, [](Tensor x) { return slice(x, 1, 5, -1, -1); }, false),
    view(
        "slice_back_by_two", {7, 6}, [](Tensor x) { return slice(x, 0, 6, 0, -2); }, false),
    view(
        "slice_reverse_reshape", {4, 6}, [](Tensor x) { return reshape(slice(x, 1, 5, -1, -1), {8, 3}); }, false),
    view("pad", {3, 4}, [](Tensor x) { return pad(pad(x, 0, 1, 2), 1, 2, 0); }),
    view("pad_of_pad", {4}, [](Tensor x) { return pad(pad(x, 0, 1, 1), 0, 2, 3); }),
    view("pad_slice", {4, 3}, [](Tensor x) { return slice(pad(x, 0, 2, 2), 0, 1, 6); }),
    view("slice_away_all_but_padding", {4, 3}, [](Tensor x) { return slice(pad(x, 0, 3, 0), 0, 0, 2) + slice(x, 0, 0, 2); }),
    view("pad_reshape", {4, 3}, [](Tensor x) { return reshape(pad(x, 1, 1, 0), {16}); }),
    view("pad_reshape_apart", {4, 3}, [](Tensor x) { return reshape(pad(x, 1, 1, 0), {2, 2, 4}); }),
    view("pad_flat_reshape", {6}, [](Tensor x) { return reshape(pad(x, 0, 1, 1), {2, 4}); }),
    view("pad_permute_reshape", {3, 4}, [](Tensor x) { return reshape(permute(pad(x, 0, 1, 1), {1, 0}), {10, 2}); }),
    view(
        "pad_reverse", {4, 3}, [](Tensor x) { return slice(pad(x, 0, 1, 2), 0, 6, -1, -1); }, false),
    view("pad_of_computed", {4, 3}, [](Tensor x) { return pad(exp(x), 0, 1, 2) + 1.0; }),
    view("concat_rows", {4, 3}, [](Tensor x) { return concat({x, x * 2.0, slice(x, 0, 1, 2)}, 0); }),
    view("concat_columns", {4, 3}, [](Tensor x) { return concat({x, tanh(x), x}, 1); }),
    view("concat_of_one", {4, 3}, [](Tensor x) { return concat({x}, 1); }),
    view("concat_many", {20, 3},
         [](Tensor x) {
           std::vector<Tensor> rows;
           for (std::int64_t i = 20; i-- > 0;) rows.push_back(slice(x, 0, i, i + 1) * static_cast<double>(i));
           return concat(rows, 0);
         }),
    view("split_and_mix", {4, 6}, [](Tensor x) { return slice(x, 1, 0, 3) * sigmoid(slice(x, 1, 3, 6)); }),
    view("of_iota", {4, 6},
         [](Tensor x) { return x * permute(iota(*x.graph, {6, 4}, 0), {1, 0}) + pad(iota(*x.graph, {6}, 0), 0, 0, 0); }),
    view("of_padded_iota", {4, 6}, [](Tensor x) { return x * pad(iota(*x.graph, {4}, 0) + 1.0, 0, 1, 1); }),
    view("input_is_output", {4, 6}, [](Tensor x) { return x; }),
    view("of_constant", {4, 6}, [](Tensor x) { return x + pad(constant(*x.graph, 3.0, {2, 6}), 0, 1, 1); }),
    // Two views of one value meet in one kernel.
    view("with_its_transpose", {6, 6}, [](Tensor x) { return exp(x) * permute(exp(x), {1, 0}); }),
    view("long", {3, 1000}, [](Tensor x) { return reshape(permute(x, {1, 0}), {1000, 3, 1}) * 2.0; }),
});

}  // namespace
}  // namespace tabgrad::optest
