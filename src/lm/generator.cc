#include "lm/generator.h"

#include <algorithm>

#include "base/error.h"

namespace tabgrad {

Generator::Generator(Session& session, std::int64_t context, std::int64_t vocabulary, const SamplingOptions& options)
    : session_(session),
      context_(context),
      vocabulary_(vocabulary),
      sampler_(options),
      window_(static_cast<std::size_t>(context)),
      logits_(static_cast<std::size_t>(vocabulary)) {}

void Generator::start(std::vector<std::int32_t> prompt) {
  if (prompt.empty()) fail("The prompt is empty: give at least one character to go on from.");
  for (const std::int32_t id : prompt)
    if (id < 0 || id >= vocabulary_) fail("The prompt has token ", id, ", and the model knows ", vocabulary_, " tokens.");
  text_ = std::move(prompt);
  if (static_cast<std::int64_t>(text_.size()) > context_) text_.erase(text_.begin(), text_.end() - context_);
  cached_ = false;
  draws_ = 0;
}

void Generator::prefill() {
  std::fill(window_.begin(), window_.end(), 0);
  std::copy(text_.begin(), text_.end(), window_.begin());
  const auto last = static_cast<std::int32_t>(text_.size() - 1);
  session_.write("prefill.tokens", window_.data(), context_);
  session_.write("prefill.last", &last, 1);
  session_.run("prefill");
  session_.read("prefill.logits", logits_.data(), vocabulary_);
}

std::int32_t Generator::next() {
  TG_CHECK(!text_.empty());
  if (static_cast<std::int64_t>(text_.size()) > context_) {
    text_.erase(text_.begin(), text_.end() - std::max<std::int64_t>(1, context_ / 2));
    cached_ = false;
  }
  if (cached_) {
    const auto position = static_cast<std::int32_t>(text_.size() - 1);
    session_.write("decode.token", &text_.back(), 1);
    session_.write("decode.position", &position, 1);
    session_.run("decode");
    session_.read("decode.logits", logits_.data(), vocabulary_);
  } else {
    prefill();
    cached_ = true;
  }
  const std::int32_t token = sampler_.pick(logits_, text_, draws_++);
  text_.push_back(token);
  return token;
}

}  // namespace tabgrad
