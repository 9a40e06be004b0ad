// Model folders of Hugging Face's GPT-2 kind: one that transformers saved is read and computes its logits; what we write for it is
// the same files again, so transformers reads ours.
#include <gtest/gtest.h>

#include <filesystem>

#include "data/atomic_file.h"
#include "data/safetensors.h"
#include "golden/golden.h"
#include "lm/generator.h"
#include "lm/lm_job.h"
#include "lm/model_format.h"
#include "models/gpt.h"
#include "train/json_fields.h"

namespace tabgrad {
namespace {

class Gpt2 : public testing::TestWithParam<const char*> {
 protected:
  std::string path(const char* file) const { return str("tests/golden/gpt2/", GetParam(), "/", file); }
  LmConfig config() const { return model_config_from_json(read_file(path("config.json")), path("config.json")); }
  NamedTensors file_tensors() const {
    return read_safetensors(read_file(path("model.safetensors")), path("model.safetensors")).tensors;
  }
  Session session(const NamedTensors& weights) const {
    Session s = make_session(build_gpt_generation(config()).entries, {.threads = 2});
    for (const auto& [name, value] : weights) s.write(name, value);
    return s;
  }
};

TEST_P(Gpt2, LogitsAreThoseOfTransformers) {
  const LmConfig c = config();
  Session s = session(from_file_names(c, file_tensors(), "model.safetensors"));
  const Safetensors expected = golden::read(str("gpt2/", GetParam(), "/expected"));
  s.write("prefill.tokens", golden::tensor(expected, "tokens").i32.data(), c.context);
  const std::vector<float>& logits = golden::tensor(expected, "logits").f32;
  for (std::int64_t t = 0; t < c.context; ++t) {
    const auto last = static_cast<std::int32_t>(t);
    s.write("prefill.last", &last, 1);
    s.run("prefill");
    const std::vector<float> got = s.read("prefill.logits").f32;
    const std::vector<float> want(logits.begin() + t * c.vocabulary, logits.begin() + (t + 1) * c.vocabulary);
    EXPECT_LE(golden::distance(got, want), 2e-6 * golden::norm(want)) << "after token " << t;
  }
}

TEST_P(Gpt2, GreedyTextIsThatOfTransformers) {
  const LmConfig c = config();
  Session s = session(from_file_names(c, file_tensors(), "model.safetensors"));
  const Safetensors expected = golden::read(str("gpt2/", GetParam(), "/expected"));
  std::vector<std::int32_t> text = golden::tensor(expected, "greedy").i32;
  Generator generator(s, c, {.temperature = 0});
  generator.start({text.begin(), text.begin() + 4});
  for (std::size_t i = 4; i < text.size(); ++i) EXPECT_EQ(generator.next(), text[i]) << i;
}

TEST_P(Gpt2, WhatWeWriteIsTheSameModel) {
  const LmConfig c = config();
  const NamedTensors theirs = file_tensors();
  const NamedTensors ours = to_file_names(c, from_file_names(c, theirs, "model.safetensors"));
  EXPECT_EQ(ours.size(), theirs.size());
  for (const auto& [name, tensor] : ours) {
    const auto found = std::find_if(theirs.begin(), theirs.end(), [&](const auto& t) { return t.first == name; });
    ASSERT_NE(found, theirs.end()) << name;
    EXPECT_EQ(found->second.dims, tensor.dims) << name;
    EXPECT_EQ(found->second.f32, tensor.f32) << name;
  }
  const Json written = parse_json(model_config_json(c, -1), "ours"),
             read = parse_json(read_file(path("config.json")), "theirs");
  for (const char* key : {"model_type", "architectures", "activation_function", "vocab_size", "n_positions", "n_embd",
                          "n_layer", "n_head", "layer_norm_epsilon", "tie_word_embeddings"})
    EXPECT_EQ(written.at(key), read.at(key)) << key;
}

INSTANTIATE_TEST_SUITE_P(Golden, Gpt2, testing::Values("tied_gelu_new", "untied_gelu"),
                         [](const auto& info) { return std::string(info.param); });

}  // namespace
}  // namespace tabgrad
