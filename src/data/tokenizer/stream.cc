#include "data/tokenizer/stream.h"

#include "base/utf8.h"
#include "data/tokenizer/model.h"
#include "data/tokenizer/pending_text.h"
#include "data/tokenizer/words.h"

namespace tabgrad {
namespace {

// Words are a Zipf-like crowd: nearly all of a text is a few thousand of them. Past these limits a word is rare by nature.
constexpr std::size_t kLongestRemembered = 64;         // bytes
constexpr std::size_t kMostRemembered = std::size_t{1} << 16;  // words; then all are forgotten

// Encodes words, each different one only once.
class WordEncoder {
 public:
  explicit WordEncoder(const Bpe& bpe) : bpe_(bpe) {}

  void encode(std::string_view word, std::vector<std::int32_t>* ids) {
    if (word.size() == 1) {
      ids->push_back(bpe_.byte_id(static_cast<std::uint8_t>(word[0])));
      return;
    }
    if (word.size() > kLongestRemembered) {
      bpe_.encode(word, &scratch_, ids);
      return;
    }
    auto found = words_.find(word);
    if (found == words_.end()) {
      if (words_.size() == kMostRemembered) {
        words_.clear();
        tokens_.clear();
      }
      const std::size_t begin = tokens_.size();
      bpe_.encode(word, &scratch_, &tokens_);
      found = words_.emplace(word, Span{begin, tokens_.size()}).first;
    }
    const Span span = found->second;
    for (std::size_t i = span.begin; i < span.end; ++i) ids->push_back(tokens_[i]);
  }

 private:
  struct Span {
    std::size_t begin, end;  // in tokens_
  };

  const Bpe& bpe_;
  Bpe::Scratch scratch_;
  WordMap<Span> words_;
  std::vector<std::int32_t> tokens_;
};

}  // namespace

struct Encoder::State {
  explicit State(Tokenizer t) : tokenizer(std::move(t)), words(tokenizer.model().bpe) {}

  // Encodes what is certain of `text`, all of it if it ends here, and returns how many bytes that was. level: 0 and 1 look
  // for added tokens, each between the finds of the one before; 2 is the words between those.
  std::size_t encode(std::size_t level, std::string_view text, bool last, std::vector<std::int32_t>* ids) {
    std::size_t at = 0;
    if (level == 2) {
      while (at < text.size()) {
        const std::size_t bytes = first_word(text.substr(at), last);
        if (bytes == 0) break;
        words.encode(text.substr(at, bytes), ids);
        at += bytes;
      }
      return at;
    }
    while (true) {
      const AddedTokenFinder::Match match = tokenizer.model().added[level].find(text, at, last);
      const bool found = match.id >= 0;
      at += encode(level + 1, text.substr(at, match.begin - at), last || found, ids);
      if (!found) return at;
      ids->push_back(match.id);
      at = match.end;
    }
  }

  std::size_t encode(std::string_view text, bool last, std::vector<std::int32_t>* ids) {
    const Bpe& bpe = tokenizer.model().bpe;
    if (!bpe.only_bytes() || !bpe.parts().added.empty()) return encode(0, text, last, ids);
    for (const char c : text) ids->push_back(bpe.byte_id(static_cast<std::uint8_t>(c)));
    return text.size();
  }

  Tokenizer tokenizer;
  WordEncoder words;
  PendingText pending;
};

Encoder::Encoder(Tokenizer tokenizer) : state_(std::make_unique<State>(std::move(tokenizer))) {}
Encoder::~Encoder() = default;
Encoder::Encoder(Encoder&&) noexcept = default;
Encoder& Encoder::operator=(Encoder&&) noexcept = default;

void Encoder::feed(std::string_view text, std::vector<std::int32_t>* ids) {
  state_->pending.feed(text, [&](std::string_view t, bool last) { return state_->encode(t, last, ids); });
}

void Encoder::finish(std::vector<std::int32_t>* ids) {
  state_->pending.finish([&](std::string_view t, bool last) { return state_->encode(t, last, ids); });
}

std::string Utf8Decoder::feed(std::int32_t id) {
  pending_ += tokenizer_.piece(id);
  std::string text;
  std::string_view rest = pending_;
  while (!rest.empty()) {
    const Utf8Char c = first_char(rest);
    if (c.kind == Utf8Char::kCut) break;
    text += c.kind == Utf8Char::kValid ? rest.substr(0, c.bytes) : kReplacementCharacter;
    rest.remove_prefix(c.bytes);
  }
  pending_ = std::string(rest);
  return text;
}

std::string Utf8Decoder::finish() {
  const bool broken = !pending_.empty();
  pending_.clear();
  return broken ? kReplacementCharacter : "";
}

}  // namespace tabgrad
