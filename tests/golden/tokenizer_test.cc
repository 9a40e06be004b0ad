// Tokenizers against Hugging Face's: the same merges from the same text, the same ids, the same text of broken bytes.
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "data/tokenizer/bpe_trainer.h"
#include "data/tokenizer/stream.h"
#include "data/tokenizer/tokenizer.h"

namespace tabgrad {
namespace {

using nlohmann::json;

std::string read_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  EXPECT_TRUE(file) << path;
  return std::string(std::istreambuf_iterator<char>(file), {});
}

const json& cases() {
  static const json parsed = json::parse(read_file("tests/golden/tokenizer_cases.json"));
  return parsed;
}

Tokenizer moby() { return Tokenizer::from_json(read_file("tests/golden/tokenizer_moby.json"), "tokenizer_moby.json"); }

// As texts both sides have in common: theirs, read and written again.
std::string canonical(const std::string& file) { return Tokenizer::from_json(file, "golden").to_json(); }

TEST(TokenizerGolden, TrainsTheSameMergesOnMobyDick) {
  BpeTrainer trainer;
  trainer.feed(read_file("examples/data/moby-dick.txt"));
  const Tokenizer trained = trainer.train({.vocabulary = 4096, .special_tokens = {kEndOfText}});
  EXPECT_EQ(trained.vocabulary(), 4096);
  EXPECT_TRUE(trained.to_json() == moby().to_json());
}

TEST(TokenizerGolden, TrainsTheSameMergesOnOtherTexts) {
  for (const json& c : cases()["trained"]) {
    BpeTrainer trainer;
    const std::string text = c["text"];
    for (std::size_t i = 0; i < text.size(); i += 7) trainer.feed(std::string_view(text).substr(i, 7));
    const Tokenizer trained = trainer.train({.vocabulary = c["vocabulary"],
                                             .min_count = c["min_count"],
                                             .special_tokens = c["special_tokens"].get<std::vector<std::string>>()});
    EXPECT_EQ(trained.to_json(), canonical(c["json"])) << c["name"];
  }
}

TEST(TokenizerGolden, EncodesToTheSameIds) {
  std::map<std::string, Tokenizer> tokenizers{{"moby", moby()},
                                              {"added", Tokenizer::from_json(cases()["added"].get<std::string>(), "added")}};
  for (const json& c : cases()["trained"])
    tokenizers.emplace(c["name"], Tokenizer::from_json(c["json"].get<std::string>(), c["name"]));
  for (const json& c : cases()["encoded"]) {
    const Tokenizer& tokenizer = tokenizers.at(c["tokenizer"]);
    const std::string text = c["text"];
    const auto ids = c["ids"].get<std::vector<std::int32_t>>();
    EXPECT_EQ(tokenizer.encode(text), ids) << c["tokenizer"] << ": " << c["text"];
    EXPECT_EQ(tokenizer.decode(ids), text);
    // In pieces of every small size.
    for (std::size_t piece = 1; piece <= 9; ++piece) {
      Encoder encoder(tokenizer);
      std::vector<std::int32_t> streamed;
      for (std::size_t i = 0; i < text.size(); i += piece) encoder.feed(std::string_view(text).substr(i, piece), &streamed);
      encoder.finish(&streamed);
      EXPECT_EQ(streamed, ids) << "pieces of " << piece << ": " << c["text"];
    }
  }
}

TEST(TokenizerGolden, ReplacesBrokenBytesTheSameWay) {
  const json& scripts = cases()["trained"][0];
  Utf8Decoder decoder(Tokenizer::from_json(scripts["json"].get<std::string>(), "scripts"));
  for (const json& c : cases()["decoded"]) {
    std::string text;
    for (const std::int32_t id : c["ids"].get<std::vector<std::int32_t>>()) text += decoder.feed(id);
    text += decoder.finish();
    EXPECT_EQ(text, c["text"].get<std::string>());
  }
}

}  // namespace
}  // namespace tabgrad
