#include "data/tokenizer/tokenizer.h"

#include "base/error.h"
#include "data/tokenizer/byte_alphabet.h"
#include "data/tokenizer/model.h"
#include "data/tokenizer/stream.h"

namespace tabgrad {

Tokenizer::Tokenizer(TokenizerParts parts) : model_(std::make_shared<const TokenizerModel>(std::move(parts))) {}

Tokenizer Tokenizer::bytes() {
  TokenizerParts parts;
  for (unsigned byte = 0; byte < 256; ++byte) parts.texts.emplace_back(alphabet_char(static_cast<std::uint8_t>(byte)));
  return Tokenizer(std::move(parts));
}

std::int64_t Tokenizer::vocabulary() const { return static_cast<std::int64_t>(model_->bpe.pieces().size()); }

std::vector<std::int32_t> Tokenizer::encode(std::string_view text) const {
  std::vector<std::int32_t> ids;
  Encoder encoder(*this);
  encoder.feed(text, &ids);
  encoder.finish(&ids);
  return ids;
}

std::string Tokenizer::decode(std::span<const std::int32_t> ids) const {
  std::string text;
  for (const std::int32_t id : ids) text += piece(id);
  return text;
}

const std::string& Tokenizer::piece(std::int32_t id) const {
  if (id < 0 || id >= vocabulary())
    fail("token id ", id, " is none of this tokenizer's ", vocabulary(), " (0 to ", vocabulary() - 1, ")");
  return model_->bpe.pieces()[static_cast<std::size_t>(id)];
}

std::optional<std::int32_t> Tokenizer::added_token(std::string_view content) const {
  for (const AddedToken& token : model_->bpe.parts().added) {
    if (token.content == content) return token.id;
  }
  return std::nullopt;
}

}  // namespace tabgrad
