// Tokenizers in memory: any bytes survive, text in pieces, added tokens, refusals. tests/golden compares with Hugging Face's.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include "data/tokenizer/bpe_trainer.h"
#include "data/tokenizer/byte_alphabet.h"
#include "data/tokenizer/stream.h"
#include "data/tokenizer/tokenizer.h"
#include "data/tokenizer/words.h"
#include "unit/data/error_of.h"

namespace tabgrad {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using Ids = std::vector<std::int32_t>;

std::vector<std::string> words(std::string_view text) {
  std::vector<std::string> all;
  while (!text.empty()) {
    all.emplace_back(text.substr(0, first_word(text, true)));
    text.remove_prefix(all.back().size());
  }
  return all;
}

Tokenizer trained(std::string_view text, std::int64_t vocabulary, std::vector<std::string> special_tokens = {}) {
  BpeTrainer trainer;
  trainer.feed(text);
  return trainer.train({.vocabulary = vocabulary, .special_tokens = std::move(special_tokens)});
}

// A tokenizer.json with all bytes, the merges h+e and he+y, and changes: (what to replace, with what).
std::string file_with(const std::string& from = "", const std::string& to = "") {
  std::string vocab;
  for (const std::uint8_t byte : alphabet_order()) {
    const std::string text(alphabet_char(byte));
    vocab +=
        str('"', text == "\"" || text == "\\" ? "\\" : "", text, "\":", std::count(vocab.begin(), vocab.end(), '\n'), ",\n");
  }
  std::string json = R"({"added_tokens":[{"id":258,"content":"<end>","lstrip":false,"rstrip":false,"single_word":false,
"normalized":false,"special":true}],"normalizer":null,"pre_tokenizer":{"type":"ByteLevel","add_prefix_space":false},
"decoder":{"type":"ByteLevel"},"model":{"type":"BPE","dropout":null,"vocab":{)" +
                     vocab + R"("he":256,"hey":257},"merges":["h e",["he","y"]]}})";
  if (const std::size_t at = json.find(from); !from.empty()) {
    EXPECT_NE(at, std::string::npos) << from;
    json.replace(at, from.size(), to);
  }
  return json;
}

std::string refusal(const std::string& json) {
  return error_of([&] { Tokenizer::from_json(json, "t.json"); });
}

TEST(Words, FollowThePattern) {
  EXPECT_THAT(words("I'll  say: it's\n\n  5x!"),
              ElementsAre("I", "'ll", " ", " say", ":", " it", "'s", "\n\n ", " 5", "x", "!"));
  EXPECT_THAT(words("don't 'S ' "), ElementsAre("don", "'t", " '", "S", " '", " "));
  EXPECT_THAT(words("中文。 １２ \xF0\x9F\x98\x80\xF0\x9F\x98\x80"),
              ElementsAre("中文", "。", " １２", " \xF0\x9F\x98\x80\xF0\x9F\x98\x80"));
  EXPECT_THAT(words("a\xC2\xA0\xC2\xA0"
                    "b\xE3\x80\x80"),
              ElementsAre("a", "\xC2\xA0", "\xC2\xA0", "b", "\xE3\x80\x80"));
}

TEST(Words, BrokenBytesArePunctuation) {
  EXPECT_THAT(words("a\xFF\xE4\xB8!b \x80"), ElementsAre("a", "\xFF\xE4\xB8!", "b", " \x80"));
}

TEST(Words, WaitForWhatMayChangeThem) {
  for (const char* open : {"a", " ", "'", "'r", "  ", "!", "a\xE4\xB8", "\xE4", "9"})
    EXPECT_EQ(first_word(open, false), 0u) << open;
  EXPECT_EQ(first_word("a ", false), 1u);
  EXPECT_EQ(first_word("'rx", false), 1u);
  EXPECT_EQ(first_word("'re", false), 3u);
  EXPECT_EQ(first_word("  x", false), 1u);
  EXPECT_EQ(first_word("\n\xE3\x80\x80", false), 0u);
}

TEST(Tokenizer, Bytes) {
  const Tokenizer t = Tokenizer::bytes();
  EXPECT_EQ(t.vocabulary(), 256);
  std::string all;
  for (int byte = 0; byte < 256; ++byte) all += static_cast<char>(byte);
  const Ids ids = t.encode(all);
  for (int byte = 0; byte < 256; ++byte) EXPECT_EQ(ids[static_cast<std::size_t>(byte)], byte);
  EXPECT_EQ(t.decode(ids), all);
  EXPECT_EQ(Tokenizer::from_json(t.to_json(), "t").encode(all), ids);
  EXPECT_TRUE(t.encode("").empty());
}

TEST(Tokenizer, AnyBytesSurviveInAnyPieces) {
  const Tokenizer t = trained("the theme of then: they, them\n and théâtre 的的 \xFF\xFF \xFF\xFF", 290, {kEndOfText});
  std::mt19937 random(1);
  const std::vector<std::string> parts = {"the",      "them", " ", "\n", "é", "\xC3",  "\xA9",     "的",
                                          "\xE7\x9A", "\xFF", "'", "re", "7", "<|end", "oftext|>", "!"};
  for (int round = 0; round < 300; ++round) {
    std::string text;
    for (unsigned n = random() % 40; n > 0; --n) text += parts[random() % parts.size()];
    const Ids ids = t.encode(text);
    EXPECT_EQ(t.decode(ids), text);
    Encoder encoder(t);
    Ids streamed;
    for (std::size_t at = 0; at < text.size();) {
      const std::size_t bytes = 1 + random() % 12;
      encoder.feed(std::string_view(text).substr(at, bytes), &streamed);
      at += bytes;
    }
    encoder.finish(&streamed);
    EXPECT_EQ(streamed, ids);
  }
}

TEST(Tokenizer, LongWordsTakeNoQuadraticTime) {
  const Tokenizer t = trained("aaaaaaaaaaaaaaaa aaaaaaaa", 262);
  const std::string text(200'000, 'a');
  EXPECT_EQ(t.decode(t.encode(text)), text);
  Encoder encoder(t);
  Ids ids;
  for (std::size_t i = 0; i < text.size(); i += 100) encoder.feed(std::string_view(text).substr(i, 100), &ids);
  encoder.finish(&ids);
  EXPECT_EQ(ids, t.encode(text));
}

TEST(Tokenizer, RepeatedEncodingForgetsWordsAndStaysTheSame) {
  const Tokenizer t = trained("word words wordy 12 123 1234", 270);
  Encoder encoder(t);
  for (int round = 0; round < 3; ++round) {  // more words than are remembered
    std::string text;
    for (int i = 0; i < 60'000; ++i) text += str(" word", i * 3 + round);
    Ids ids;
    encoder.feed(text, &ids);
    encoder.finish(&ids);
    EXPECT_EQ(t.decode(ids), text);
    EXPECT_EQ(t.encode(text), ids);
  }
}

TEST(BpeTrainer, MergesTheCommonestAndOfEqualsTheLowerIds) {
  const Tokenizer t = trained("ab ab cd cd", 256 + 4);
  // " a" and " c" come once each less than "ab" and "cd" at first; the text's first word has no space.
  EXPECT_EQ(t.piece(256), "ab");
  EXPECT_EQ(t.piece(257), "cd");
  EXPECT_EQ(t.piece(258), " cd");
  EXPECT_EQ(t.piece(259), " ab");
  EXPECT_EQ(trained("ab ab cd cd", 300).vocabulary(), 260);  // nothing is left to merge
}

TEST(BpeTrainer, CountsAndOptions) {
  BpeTrainer trainer;
  trainer.feed("ab ab ");
  trainer.feed("xy");
  std::vector<std::int64_t> made;
  const Tokenizer t = trainer.train({.vocabulary = 300, .min_count = 2, .special_tokens = {"<s>", kEndOfText}},
                                    [&](std::int64_t done, std::int64_t) { made.push_back(done); });
  EXPECT_EQ(t.vocabulary(), 256 + 2 + 1);  // "ab" alone comes twice
  EXPECT_EQ(t.piece(0), "<s>");
  EXPECT_EQ(t.added_token(kEndOfText), 1);
  EXPECT_EQ(t.added_token("ab"), std::nullopt);
  EXPECT_EQ(made.back(), 259);
  EXPECT_EQ(t.encode("<s>ab<|endoftext|>"), (Ids{0, 258, 1}));
  EXPECT_EQ(Tokenizer::from_json(t.to_json(), "t").to_json(), t.to_json());
}

TEST(BpeTrainer, Refusals) {
  const auto train = [](BpeOptions options) { return error_of([&] { BpeTrainer().train(options); }); };
  EXPECT_THAT(train({.vocabulary = 256, .special_tokens = {"a"}}), HasSubstr("ask for 257"));
  EXPECT_THAT(train({.vocabulary = std::int64_t{1} << 40}), HasSubstr("is not possible"));
  EXPECT_THAT(train({.special_tokens = {"a", "a"}}), HasSubstr("'a' is given twice"));
  EXPECT_THAT(train({.special_tokens = {"\xFF"}}), HasSubstr("not UTF-8"));
  EXPECT_THAT(train({.special_tokens = {""}}), HasSubstr("is empty"));
  EXPECT_EQ(BpeTrainer().train({}).vocabulary(), 256);  // of no text
}

TEST(TokenizerJson, ReadsMergesOfBothForms) {
  const Tokenizer t = Tokenizer::from_json(file_with(), "t.json");
  EXPECT_EQ(t.vocabulary(), 259);
  EXPECT_EQ(t.encode("hey<end>he"), (Ids{257, 258, 256}));
  EXPECT_EQ(t.piece(257), "hey");
  EXPECT_THAT(error_of([&] { t.piece(259); }), HasSubstr("token id 259 is none of this tokenizer's 259"));
  EXPECT_THAT(error_of([&] { t.decode(Ids{-1}); }), HasSubstr("token id -1"));
  EXPECT_EQ(Tokenizer::from_json(t.to_json(), "t").to_json(), t.to_json());
}

TEST(TokenizerJson, IgnoreMergesTakesWholeWords) {
  const std::string merges = R"("merges":["h e",["he","y"]])";
  const Tokenizer follows = Tokenizer::from_json(file_with(merges, R"("merges":["h e"])"), "t");
  const Tokenizer ignores = Tokenizer::from_json(file_with(merges, R"("ignore_merges":true,"merges":["h e"])"), "t");
  const std::int32_t y = follows.encode("y")[0];
  EXPECT_EQ(follows.encode("hey heyhey"), (Ids{256, y, follows.encode(" ")[0], 256, y, 256, y}));
  EXPECT_EQ(ignores.encode("hey"), Ids{257});
  EXPECT_EQ(ignores.encode("heyhey"), (Ids{256, y, 256, y}));
  EXPECT_EQ(Tokenizer::from_json(ignores.to_json(), "t").encode("hey"), Ids{257});
}

TEST(TokenizerJson, SaysWhatIsUnsupported) {
  EXPECT_THAT(refusal(file_with(R"("normalizer":null)", R"("normalizer":{"type":"NFC"})")),
              HasSubstr("t.json: the normalizer 'NFC' is not supported"));
  EXPECT_THAT(refusal(file_with(R"("type":"BPE")", R"("type":"Unigram")")), HasSubstr("'Unigram'"));
  EXPECT_THAT(refusal(file_with(R"({"type":"ByteLevel",)", R"({"type":"Whitespace",)")),
              HasSubstr("pre-tokenizer 'Whitespace'"));
  EXPECT_THAT(refusal(file_with(R"("add_prefix_space":false)", R"("add_prefix_space":true)")), HasSubstr("add_prefix_space"));
  EXPECT_THAT(refusal(file_with(R"("add_prefix_space":false)", R"("add_prefix_space":false,"use_regex":false)")),
              HasSubstr("use_regex"));
  EXPECT_THAT(refusal(file_with(R"("decoder":{"type":"ByteLevel"})", R"("decoder":{"type":"WordPiece"})")),
              HasSubstr("decoder 'WordPiece'"));
  EXPECT_THAT(refusal(file_with(R"("dropout":null)", R"("dropout":0.1)")), HasSubstr("dropout"));
  EXPECT_THAT(refusal(file_with(R"("dropout":null)", R"("end_of_word_suffix":"</w>")")), HasSubstr("end_of_word_suffix"));
  EXPECT_THAT(refusal(file_with(R"("lstrip":false)", R"("lstrip":true)")), HasSubstr("lstrip of the added token '<end>'"));
  EXPECT_THAT(refusal(file_with(R"("id":258)", R"("id":1000)")), HasSubstr("holes"));
}

TEST(TokenizerJson, RefusesDamage) {
  EXPECT_THAT(refusal(""), HasSubstr("t.json: the tokenizer is no valid JSON object"));
  EXPECT_THAT(refusal("[]"), HasSubstr("no valid JSON object"));
  EXPECT_THAT(refusal(std::string(100, '[')), HasSubstr("nested too deeply"));
  EXPECT_THAT(refusal(file_with(R"("type":"BPE")", R"("type":"BPE","type":"BPE")")), HasSubstr("comes twice"));
  EXPECT_THAT(refusal(file_with("\"!\":0,", "")), HasSubstr("holes"));
  EXPECT_THAT(refusal(file_with("\"!\":0,", "\"Ġ!\":0,")), HasSubstr("t.json: the vocabulary has no token for byte 33 ('!')"));
  EXPECT_THAT(refusal(file_with("\"he\":256", "\"he\":255")), HasSubstr("two tokens have the id 255"));
  EXPECT_THAT(refusal(file_with("\"he\":256", "\"he\":-1")), HasSubstr("the id of token 'he' is not a whole number"));
  EXPECT_THAT(refusal(file_with("\"h e\"", "\"h z\"")), HasSubstr("merge 1 speaks of token 'hz'"));
  EXPECT_THAT(refusal(file_with("\"h e\"", "\"he\"")), HasSubstr("merge 'he' is not two tokens"));
  EXPECT_THAT(refusal(file_with("\"h e\"", "\"h  e\"")), HasSubstr("is not two tokens"));
  EXPECT_THAT(refusal(file_with("\"h e\"", "7")), HasSubstr("a merge is no text"));
  EXPECT_THAT(refusal(file_with("\"h e\"", "\" he\"")), HasSubstr("merge 1 speaks of token ''"));
  EXPECT_THAT(refusal(file_with("\"merges\"", "\"marges\"")), HasSubstr("'merges' is missing"));
  EXPECT_THAT(refusal(file_with("<end>", "he")), HasSubstr("the added token 'he' has two ids"));
  EXPECT_THAT(refusal(file_with("<end>", "")), HasSubstr("an added token is empty"));
}

TEST(Utf8Decoder, YieldsWholeCharactersOnly) {
  Utf8Decoder decoder(Tokenizer::bytes());
  std::vector<std::string> yields;
  for (const char c : std::string("a\xF0\x9F\x98\x80\xE4\xB8z\xFF"))
    yields.push_back(decoder.feed(static_cast<unsigned char>(c)));
  EXPECT_THAT(yields, ElementsAre("a", "", "", "", "\xF0\x9F\x98\x80", "", "", "\xEF\xBF\xBDz", "\xEF\xBF\xBD"));
  EXPECT_EQ(decoder.finish(), "");
  EXPECT_EQ(decoder.feed(0xE4), "");
  EXPECT_EQ(decoder.finish(), "\xEF\xBF\xBD");
  EXPECT_EQ(decoder.finish(), "");
}

}  // namespace
}  // namespace tabgrad
