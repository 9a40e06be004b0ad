// The GPT presets: parameter counts of the published table, names in order, which parameters decay, and messages.
#include "models/gpt.h"

#include <gtest/gtest.h>

#include <cmath>
#include <map>

#include "graph/evaluate.h"
#include "nn/parameters.h"

namespace tabgrad {
namespace {

TEST(Gpt, ParameterCountsOfThePresets) {
  const std::map<std::string, std::int64_t> expected{{"tiny", 70464},       {"small", 366432}, {"medium", 838400},
                                                     {"large", 2743296},    {"xl", 6416896},   {"huge", 9608704},
                                                     {"massive", 25039872}, {"mega", 25138176}};
  ASSERT_EQ(gpt_presets().size(), expected.size());
  for (const GptConfig& c : gpt_presets()) {
    EXPECT_EQ(parameter_count(build_gpt(c).parameters), expected.at(c.name)) << c.name;
    EXPECT_EQ(gpt_parameter_count(c), expected.at(c.name)) << c.name;
  }
}

TEST(Gpt, ParameterList) {
  const GptConfig& c = gpt_preset("small");
  const std::vector<ParameterSpec> p = build_gpt(c).parameters;
  const char* names[] = {"tok_emb.w",     "pos_emb.w",      "h0.ln1.g",       "h0.ln1.b",     "h0.attn.qkv.w",
                         "h0.attn.qkv.b", "h0.attn.proj.w", "h0.attn.proj.b", "h0.ln2.g",     "h0.ln2.b",
                         "h0.mlp.fc.w",   "h0.mlp.fc.b",    "h0.mlp.out.w",   "h0.mlp.out.b", "h1.ln1.g"};
  for (std::size_t i = 0; i < std::size(names); ++i) EXPECT_EQ(p[i].name, names[i]);
  EXPECT_EQ(p.back().name, "ln_f.b");
  for (const ParameterSpec& spec : p) EXPECT_EQ(spec.decay, spec.dims.size() >= 2) << spec.name;
  EXPECT_EQ(p[6].init, Init::normal(0.02 / std::sqrt(6.0)));
  EXPECT_EQ(p[10].init, Init::normal(0.02));
  EXPECT_EQ(build_gpt_gradients(c).parameters, p);
}

// With small random weights the model knows nothing: the loss is ln 256, and the head's gradient is not zero.
TEST(Gpt, FirstLossIsThatOfGuessing) {
  GptConfig c = gpt_preset("tiny");
  c.batch = 2;
  c.context = 8;
  const BuiltModel model = build_gpt(c);
  EvaluateInputs in;
  for (std::size_t p = 0; p < model.parameters.size(); ++p) {
    const HostTensor v = initial_value(model.parameters[p], p, 1);
    in.values[model.parameters[p].name].assign(v.f32.begin(), v.f32.end());
  }
  for (int i = 0; i < 16; ++i) {
    in.values["eval.tokens"].push_back(17 * i % 256);
    in.values["eval.targets"].push_back(17 * (i + 1) % 256);
  }
  const std::map<std::string, std::vector<double>> outputs = evaluate(model.entries[1].graph, in).outputs;
  for (const double nll : outputs.at("eval.nll")) EXPECT_NEAR(nll, std::log(256.0), 0.1);
}

TEST(Gpt, UnknownPresetListsTheKnown) {
  try {
    gpt_preset("gigantic");
    FAIL();
  } catch (const Error& e) {
    for (const char* word : {"gigantic", "tiny", "medium", "mega"})
      EXPECT_NE(std::string(e.what()).find(word), std::string::npos);
  }
}

}  // namespace
}  // namespace tabgrad
