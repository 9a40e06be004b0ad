// Kept tokens: they come back as they were for the same text and tokenizer, and never otherwise.
#include "lm/token_cache.h"

#include <gtest/gtest.h>

#include "data/tokenizer/bpe_trainer.h"

namespace tabgrad {
namespace {

constexpr double kValidation = 0.1;

Tokenizer learned(const std::string& text) {
  BpeTrainer trainer;
  trainer.feed(text);
  return trainer.train({.vocabulary = 270, .special_tokens = {kEndOfText}});
}

std::string key_of(const Tokenizer& tokenizer, const std::vector<std::string>& texts) {
  CorpusKey key(tokenizer);
  for (const std::string& text : texts) {
    key.feed(text);
    key.end_text();
  }
  return key.text();
}

Corpus corpus_of(const Tokenizer& tokenizer, const std::vector<std::string>& texts) {
  CorpusBuilder builder(tokenizer);
  for (const std::string& text : texts) {
    builder.feed(text);
    builder.end_text();
  }
  return builder.finish(kValidation);
}

const std::string kText = "the whale swam by, and by and by the whale swam away.";

TEST(TokenCache, ComesBackAsItWas) {
  const Tokenizer tokenizer = learned(kText);
  for (const std::vector<std::string>& texts : {std::vector<std::string>{"x"}, {kText}, {kText, "the end"}, {"ab", "c"}}) {
    const Corpus corpus = corpus_of(tokenizer, texts);
    const std::string key = key_of(tokenizer, texts);
    const std::optional<Corpus> back = read_token_cache(write_token_cache(corpus, key), key, kValidation);
    ASSERT_TRUE(back.has_value()) << texts.size();
    EXPECT_TRUE(std::equal(back->tokens().begin(), back->tokens().end(), corpus.tokens().begin(), corpus.tokens().end()));
    EXPECT_EQ(back->bytes(), corpus.bytes());
    EXPECT_EQ(back->training_tokens(), corpus.training_tokens());
  }
}

TEST(TokenCache, TheKeyTellsTextsAndTokenizersApart) {
  const Tokenizer bytes = Tokenizer::bytes(), pieces = learned(kText);
  const std::vector<std::string> keys{key_of(bytes, {"ab"}), key_of(pieces, {"ab"}), key_of(bytes, {"a", "b"}),
                                      key_of(bytes, {"ab", ""}), key_of(bytes, {"ba"})};
  for (std::size_t i = 0; i < keys.size(); ++i)
    for (std::size_t j = 0; j < i; ++j) EXPECT_NE(keys[i], keys[j]) << i << " " << j;
  const std::string file = write_token_cache(corpus_of(bytes, {"ab"}), keys[0]);
  EXPECT_FALSE(read_token_cache(file, keys[1], kValidation).has_value());
}

TEST(TokenCache, WhatIsDamagedIsNotTaken) {
  const Tokenizer tokenizer = learned(kText);
  const std::string key = key_of(tokenizer, {kText});
  const Corpus corpus = corpus_of(tokenizer, {kText});
  const std::string file = write_token_cache(corpus, key);
  for (std::size_t length = 0; length < file.size(); length += 7)
    EXPECT_FALSE(read_token_cache(file.substr(0, length), key, kValidation).has_value()) << length;
  for (std::size_t at = 0; at < file.size(); ++at) {
    std::string damaged = file;
    damaged[at] = static_cast<char>(damaged[at] ^ 4);
    const std::optional<Corpus> back = read_token_cache(damaged, key, kValidation);
    if (!back) continue;  // nearly always; but a changed space, or half of the last pair, changes nothing
    EXPECT_EQ(back->hash(), corpus.hash()) << at;
    EXPECT_EQ(back->bytes(), corpus.bytes()) << at;
  }
}

}  // namespace
}  // namespace tabgrad
