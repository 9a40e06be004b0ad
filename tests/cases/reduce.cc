// Sum, max and mean over leading, middle, trailing, several and all axes, with work before and after them.
#include "optest/optest.h"

namespace tabgrad::optest {
namespace {

std::string digits(const Dims& axes) {
  std::string text;
  for (std::int64_t a : axes) text += std::to_string(a);
  return text;
}

std::vector<Case> axis_cases() {
  std::vector<Case> cases;
  const std::vector<Dims> patterns{{0},    {1},    {2},    {3},       {0, 1},    {0, 2},    {1, 2},
                                   {1, 3}, {2, 3}, {0, 3}, {0, 1, 2}, {1, 2, 3}, {0, 2, 3}, {0, 1, 2, 3}};
  for (const Dims& axes : patterns) {
    cases.push_back({.name = "reduce_axes_" + digits(axes),
                     .inputs = {{"x", {3, 4, 5, 6}}},
                     .build =
                         [axes](Graph&, const std::vector<Tensor>& in) {
                           const Tensor x = in[0];
                           return std::vector<Tensor>{sum(x, axes), max(x, axes), mean(x * x, axes, true) * x};
                         },
                     .h = 1e-5});
  }
  return cases;
}

Case reduce(const std::string& name, Dims dims, std::function<Tensor(Tensor)> build) {
  return {.name = "reduce_" + name, .inputs = {{"x", dims}}, .build = [build](Graph&, const std::vector<Tensor>& in) {
            return std::vector<Tensor>{build(in[0])};
          }};
}

const bool kAdded =
    add_cases(axis_cases()) &&
    add_cases({
        reduce("scalar", {}, [](Tensor x) { return sum(x, {}); }),
        reduce("one", {1}, [](Tensor x) { return sum(x, {0}); }),
        reduce("ones", {1, 5, 1}, [](Tensor x) { return sum(x, {0, 2}); }),
        reduce("row_long", {3, 5000}, [](Tensor x) { return sum(x * x, {1}); }),
        reduce("all_long", {70, 130}, [](Tensor x) { return sum(tanh(x), {0, 1}); }),
        reduce("column_long", {2000, 3}, [](Tensor x) { return sum(x * x, {0}); }),
        reduce("column_wide", {40, 700}, [](Tensor x) { return sum(exp(x), {0}); }),
        reduce("middle_wide", {3, 40, 300}, [](Tensor x) { return sum(exp(x), {1}); }),
        reduce("of_permuted", {5, 6, 7}, [](Tensor x) { return sum(permute(x, {2, 0, 1}), {0}); }),
        reduce("of_expanded", {5, 1}, [](Tensor x) { return sum(expand(x, {5, 9}) * 0.5, {1}); }),
        reduce("of_padded", {5, 6}, [](Tensor x) { return sum(pad(x, 1, 2, 1), {1}) + sum(pad(x, 1, 1, 0), {1}); }),
        reduce("max_of_padded", {5, 6}, [](Tensor x) { return max(pad(x - 3.0, 1, 1, 0), {1}); }),
        reduce("of_slice", {5, 6}, [](Tensor x) { return sum(slice(x, 0, 1, 4), {0}); }),
        reduce("of_reversed", {5, 6}, [](Tensor x) { return sum(permute(slice(permute(x, {1, 0}), 1, 0, 5), {1, 0}), {0}); }),
        reduce("of_constant", {5, 6}, [](Tensor x) { return x * sum(constant(*x.graph, 2.0, {3, 5}), {0, 1}); }),
        reduce("of_reduced", {5, 6, 7}, [](Tensor x) { return sum(exp(sum(x, {2}) * 0.1), {0}); }),
        reduce("twice_used", {5, 6}, [](Tensor x) { return x * sum(x, {1}, true) - mean(x, {0}) * max(x, {0, 1}); }),
        reduce("variance", {9, 33},
               [](Tensor x) {
                 const Tensor centred = x - mean(x, {1}, true);
                 return sqrt(mean(centred * centred, {1}));
               }),
        reduce("then_view", {4, 6, 5}, [](Tensor x) { return permute(reshape(sum(x, {2}), {2, 2, 6}), {2, 1, 0}); }),
        // Equal largest values share the gradient evenly.
        {.name = "reduce_max_ties",
         .inputs = {{.name = "x", .dims = {2, 4}, .values = {1, 3, 3, 2, -1, -1, -1, -1}}},
         .build = [](Graph&,
                     const std::vector<Tensor>& in) { return std::vector<Tensor>{max(in[0], {1}), max(in[0], {0, 1})}; },
         .differences = false},
        {.name = "reduce_max_of_low_values",
         .inputs = {{"x", {3, 1000}, -3e38, -2e38}},
         .build = [](Graph&, const std::vector<Tensor>& in) { return std::vector<Tensor>{max(in[0], {1})}; },
         .gradients = false},
    });

}  // namespace
}  // namespace tabgrad::optest
