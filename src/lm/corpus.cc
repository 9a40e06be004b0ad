#include "lm/corpus.h"

#include <cmath>

#include "base/error.h"
#include "base/fnv.h"
#include "data/tokenizer/bpe_trainer.h"
#include "tensor/philox.h"

namespace tabgrad {
namespace {

constexpr std::uint32_t kWindowStream = 0x57494E44;  // no parameter's, nor dropout's
constexpr std::int64_t kMaxVocabulary = 1 << 16;

}  // namespace

Corpus::Corpus(std::vector<std::uint16_t> tokens, std::int64_t bytes, double validation)
    : tokens_(std::move(tokens)), bytes_(bytes) {
  if (!(validation >= 0 && validation <= 0.5))
    fail("--validation ", validation, " is not possible: give a part from 0 to 0.5.");
  training_ = size() - std::llround(validation * static_cast<double>(size()));
}

std::uint64_t Corpus::hash() const {
  Fnv1a hash;
  for (const std::uint16_t id : tokens_) hash.number(id, 16);
  return hash.value();
}

void Corpus::check_context(std::int64_t context) const {
  const auto need = [&](const char* part, std::int64_t tokens) {
    if (tokens > context) return;
    fail("The text is too short: its ", part, " part has ", tokens, " tokens, and a context of ", context, " needs at least ",
         context + 1, ". Give more text or a smaller --context.");
  };
  need("training", training_);
  if (validation_tokens() > 0) need("validation", validation_tokens());
}

void Corpus::training_window(std::uint64_t seed, std::int64_t number, std::span<std::int32_t> tokens,
                             std::span<std::int32_t> targets) const {
  const std::uint64_t places = static_cast<std::uint64_t>(training_) - tokens.size();
  // Two words, so that texts of more than 2³² tokens are reached too: ⌊x·places/2⁶⁴⌋ by halves.
  const auto n = static_cast<std::uint64_t>(number);
  const std::uint64_t high = philox_u32(seed, kWindowStream, 2 * n), low = philox_u32(seed, kWindowStream, 2 * n + 1);
  const std::uint64_t start = (high * places + ((low * places) >> 32)) >> 32;
  window(static_cast<std::int64_t>(start), tokens, targets);
}

std::int64_t Corpus::validation_windows(std::int64_t context) const {
  return validation_tokens() > context ? (validation_tokens() - 1) / context : 0;
}

void Corpus::validation_window(std::int64_t number, std::span<std::int32_t> tokens, std::span<std::int32_t> targets) const {
  window(training_ + number * static_cast<std::int64_t>(tokens.size()), tokens, targets);
}

void Corpus::window(std::int64_t start, std::span<std::int32_t> tokens, std::span<std::int32_t> targets) const {
  TG_CHECK(start >= 0 && start + static_cast<std::int64_t>(tokens.size()) < size());
  const std::uint16_t* from = tokens_.data() + start;
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    tokens[i] = from[i];
    targets[i] = from[i + 1];
  }
}

CorpusBuilder::CorpusBuilder(const Tokenizer& tokenizer) : encoder_(tokenizer) {
  if (tokenizer.vocabulary() > kMaxVocabulary)
    fail("The tokenizer has ", tokenizer.vocabulary(), " tokens; training takes at most ", kMaxVocabulary, ".");
  separator_ = tokenizer.added_token(kEndOfText).value_or(-1);
}

void CorpusBuilder::feed(std::string_view text) {
  bytes_ += static_cast<std::int64_t>(text.size());
  encoder_.feed(text, &fresh_);
  take();
}

void CorpusBuilder::end_text() {
  encoder_.finish(&fresh_);
  if (separator_ >= 0) fresh_.push_back(separator_);
  take();
}

Corpus CorpusBuilder::finish(double validation) {
  if (tokens_.empty()) fail("The text is empty: there is nothing to learn from.");
  return {std::move(tokens_), bytes_, validation};
}

void CorpusBuilder::take() {
  for (const std::int32_t id : fresh_) tokens_.push_back(static_cast<std::uint16_t>(id));
  fresh_.clear();
}

}  // namespace tabgrad
