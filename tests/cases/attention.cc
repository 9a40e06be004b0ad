// Attention over packed projections: causal and not, grouped heads, one step, odd lengths and widths, large scores.
#include "graph/compose/compose.h"
#include "optest/optest.h"

namespace tabgrad::optest {
namespace {

struct Sizes {
  std::int64_t b, t;
  int heads, kv_heads;
  std::int64_t d;
};

std::vector<Case> sized_cases() {
  std::vector<Case> cases;
  const Sizes sizes[] = {{1, 1, 1, 1, 1},  {2, 1, 2, 2, 8},  {2, 7, 2, 2, 5},   {3, 7, 4, 2, 16},
                         {1, 33, 4, 1, 8}, {2, 33, 3, 3, 7}, {1, 130, 2, 1, 64}};
  for (const Sizes& s : sizes) {
    for (bool causal : {true, false}) {
      cases.push_back(
          {.name = str("attention_", s.b, "x", s.t, "_", s.heads, "by", s.kv_heads, "x", s.d, causal ? "_causal" : "_full"),
           .inputs = {{"qkv", {s.b, s.t, (s.heads + 2 * s.kv_heads) * s.d}, -2, 2}},
           .build =
               [s, causal](Graph&, const std::vector<Tensor>& in) {
                 return std::vector<Tensor>{attention(in[0], {.heads = s.heads, .kv_heads = s.kv_heads, .causal = causal})};
               },
           .differences = s.t < 100,
           .large = s.t > 100});
    }
  }
  return cases;
}

const bool kAdded =
    add_cases(sized_cases()) && add_cases({
                                    {.name = "attention_block",
                                     .inputs = {{"x", {2, 9, 12}}, {"w", {12, 36}}, {"b", {36}}, {"o", {12, 12}}},
                                     .build =
                                         [](Graph&, const std::vector<Tensor>& in) {
                                           const Tensor a = attention(linear(in[0], in[1], in[2]), {.heads = 3, .kv_heads = 3});
                                           return std::vector<Tensor>{in[0] + matmul(a, in[3])};
                                         }},
                                    // Scores of ±4e4: one key takes all, and nothing overflows.
                                    {.name = "attention_large_scores",
                                     .inputs = {{"qkv", {1, 9, 24}, -200, 200}},
                                     .build =
                                         [](Graph&, const std::vector<Tensor>& in) {
                                           return std::vector<Tensor>{attention(in[0], {.heads = 2, .kv_heads = 2})};
                                         },
                                     .forward = {1e-3, 1e-3},
                                     .gradients = false},
                                });

}  // namespace
}  // namespace tabgrad::optest
