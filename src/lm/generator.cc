#include "lm/generator.h"

#include <algorithm>

#include "base/error.h"

namespace tabgrad {

Generator::Generator(Session& session, const LmConfig& model, const SamplingOptions& options)
    : session_(session),
      context_(static_cast<std::size_t>(model.context)),
      vocabulary_(model.vocabulary),
      recurrent_(model.recurrent()),
      options_(options),
      sampler_(options),
      window_(context_),
      logits_(static_cast<std::size_t>(model.vocabulary)) {}

void Generator::start(std::vector<std::int32_t> prompt) {
  if (prompt.empty()) fail("The prompt is empty: give at least one character to go on from.");
  for (const std::int32_t id : prompt)
    if (id < 0 || id >= vocabulary_) fail("The prompt has token ", id, ", and the model knows ", vocabulary_, " tokens.");
  text_ = std::move(prompt);
  if (!recurrent_ && text_.size() > context_) text_.erase(text_.begin(), text_.end() - static_cast<std::ptrdiff_t>(context_));
  read_ = 0;
  draws_ = 0;
}

// The first `count` tokens, into an empty cache.
void Generator::prefill(std::size_t count) {
  std::fill(window_.begin(), window_.end(), 0);
  std::copy_n(text_.begin(), count, window_.begin());
  const auto last = static_cast<std::int32_t>(count - 1);
  session_.write("prefill.tokens", window_.data(), static_cast<std::int64_t>(context_));
  session_.write("prefill.last", &last, 1);
  session_.run("prefill");
  if (!options_.on_device) session_.read("prefill.logits", logits_.data(), vocabulary_);
}

void Generator::decode(std::size_t at) {
  session_.write("decode.token", &text_[at], 1);
  const auto position = static_cast<std::int32_t>(at);
  if (!recurrent_) session_.write("decode.position", &position, 1);
  session_.run("decode");
  if (!options_.on_device) session_.read("decode.logits", logits_.data(), vocabulary_);
}

std::int32_t Generator::next() {
  TG_CHECK(!text_.empty());
  if (!recurrent_ && text_.size() > context_) {
    text_.erase(text_.begin(), text_.end() - static_cast<std::ptrdiff_t>(std::max<std::size_t>(1, context_ / 2)));
    read_ = 0;
  }
  if (read_ == 0) prefill(read_ = std::min(text_.size(), context_));
  for (; read_ < text_.size(); ++read_) decode(read_);
  const auto recent = std::span(text_).last(std::min(text_.size(), context_));
  const std::int32_t token = options_.on_device ? draw_on_device() : sampler_.pick(logits_, recent, draws_);
  ++draws_;
  text_.push_back(token);
  return token;
}

std::int32_t Generator::draw_on_device() {
  const std::int64_t k = options_.top_k > 0 ? std::min(options_.top_k, vocabulary_) : vocabulary_;
  session_.set_uniform("sample.temperature", static_cast<float>(options_.temperature));
  session_.set_uniform("sample.top_k", static_cast<float>(k));
  session_.set_uniform("sample.top_p", static_cast<float>(options_.top_p));
  session_.set_random(options_.seed, static_cast<std::uint32_t>(draws_));
  session_.run("sample");
  const float token = session_.read_scalar("sample.token");
  if (!(token >= 0 && token < static_cast<float>(vocabulary_)))
    fail("the model's output is not a finite number: its weights are damaged or its training diverged");
  return static_cast<std::int32_t>(token);
}

}  // namespace tabgrad
