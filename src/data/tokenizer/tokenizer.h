// Text to token ids and back: byte-level BPE as GPT-2 has it, and plain bytes as its case without merges.
//
// Does: encodes any bytes, valid UTF-8 or not, and gives them back exactly; reads and writes Hugging Face's tokenizer.json
// (BPE, ByteLevel, GPT-2's pattern). Does not: touch files, learn merges (bpe_trainer.h), stream (stream.h), normalise text.
//
// Invariants: immutable, so that threads may share one; copies are cheap and share. decode(encode(x)) == x for every x, if
// no added token hides in x under another name. Ids are 0 … vocabulary()−1 without holes. All 256 bytes have a token.
// Ids are Hugging Face's of encode(text, add_special_tokens=False): added tokens in the text become their ids.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tabgrad {

struct TokenizerModel;  // model.h
struct TokenizerParts;  // bpe.h

class Tokenizer {
 public:
  // 256 ids, each its byte.
  static Tokenizer bytes();
  // `file` is the file's name, for messages. Throws Error naming what is damaged or cannot be had here. Truncation, padding
  // and the post-processor, which act on whole sequences, are not read.
  static Tokenizer from_json(std::string_view json, const std::string& file);
  explicit Tokenizer(TokenizerParts parts);

  std::string to_json() const;

  std::int64_t vocabulary() const;
  std::vector<std::int32_t> encode(std::string_view text) const;
  std::string decode(std::span<const std::int32_t> ids) const;  // Error for an id that is none
  const std::string& piece(std::int32_t id) const;              // the bytes of one token; Error likewise
  // The id of a token that was added whole, as "<|endoftext|>".
  std::optional<std::int32_t> added_token(std::string_view content) const;

  const TokenizerModel& model() const { return *model_; }

 private:
  std::shared_ptr<const TokenizerModel> model_;
};

}  // namespace tabgrad
