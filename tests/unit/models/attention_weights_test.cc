// Attention's weights written out: they are what the attention composite mixes values with, in every kind of GPT.
#include <gtest/gtest.h>

#include "engine/engine.h"
#include "graph/compose/compose.h"
#include "models/gpt.h"
#include "nn/attention.h"
#include "tensor/philox.h"

namespace tabgrad {
namespace {

HostTensor noise(Dims dims) {
  HostTensor t = HostTensor::zeros(std::move(dims));
  for (std::size_t i = 0; i < t.f32.size(); ++i) t.f32[i] = 2 * uniform01(3, 5, i) - 1;
  return t;
}

TEST(AttentionWeights, MixValuesAsTheCompositeDoes) {
  constexpr std::int64_t kTokens = 9, kWidth = 8;
  const Heads heads{.query = 4, .key = 2};
  Graph g;
  const Tensor qkv = input(g, "qkv", {1, kTokens, (heads.query + 2 * heads.key) * kWidth});
  const Tensor weights = attention_weights(qkv, heads, false);  // (1,H,T,T)
  Tensor v = permute(split_heads(qkv, heads).v, {0, 2, 1, 3});
  v = reshape(expand(reshape(v, {1, 2, 1, kTokens, kWidth}), {1, 2, 2, kTokens, kWidth}), {4, kTokens, kWidth});
  const Tensor mixed = matmul(reshape(weights, {4, kTokens, kTokens}), v);
  g.outputs.push_back({"mixed", reshape(permute(mixed, {1, 0, 2}), {1, kTokens, 4 * kWidth}).value});
  g.outputs.push_back({"attention", attention(qkv, {.heads = 4, .kv_heads = 2, .causal = true}).value});
  Session session = make_session({{"both", std::move(g)}}, {.threads = 1});
  session.write("qkv", noise({1, kTokens, (heads.query + 2 * heads.key) * kWidth}));
  session.run("both");
  const HostTensor got = session.read("mixed"), want = session.read("attention");
  for (std::size_t i = 0; i < want.f32.size(); ++i) ASSERT_NEAR(got.f32[i], want.f32[i], 1e-6) << i;
}

class GptAttention : public testing::TestWithParam<PositionKind> {};

TEST_P(GptAttention, RowsAreDistributionsOverWhatCameBefore) {
  GptConfig c{.name = "test", .layers = 2, .width = 24, .heads = 3, .context = 16, .batch = 1, .vocabulary = 37};
  c.positions = GetParam();
  for (std::int64_t layer = 0; layer < c.layers; ++layer) {
    const BuiltModel model = build_gpt_attention(c, layer);
    Session session = make_session(model.entries, {.threads = 1});
    const NamedTensors values = initial_values(gpt_parameters(c), 1);
    for (const std::string& name : session.names(BufferRole::kParameter))
      for (const auto& [known, value] : values)
        if (known == name) session.write(name, value);
    std::vector<std::int32_t> tokens;
    for (std::int32_t i = 0; i < 16; ++i) tokens.push_back(i * 7 % 37);
    session.write("attention.tokens", tokens.data(), 16);
    session.run("attention");
    const HostTensor weights = session.read("attention.weights");
    ASSERT_EQ(weights.f32.size(), 3u * 16 * 16);
    for (std::size_t row = 0; row < 3 * 16; ++row) {
      double sum = 0;
      for (std::size_t to = 0; to < 16; ++to) {
        const float weight = weights.f32[row * 16 + to];
        sum += static_cast<double>(weight);
        if (to > row % 16) EXPECT_EQ(weight, 0) << "row " << row << " looks ahead to " << to;
      }
      EXPECT_NEAR(sum, 1, 1e-5) << "row " << row;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Positions, GptAttention,
                         testing::Values(PositionKind::kLearned, PositionKind::kRope, PositionKind::kAlibi),
                         [](const auto& info) { return std::string(position_kind_name(info.param)); });

}  // namespace
}  // namespace tabgrad
