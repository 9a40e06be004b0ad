// Writes text with a session that has the entries prefill and decode (models/language_model.h).
//
// Does: reads a prompt, then gives a token at a time from the key/value cache or the recurrent state. Does not: own the session, turn ids into text.
//
// A GPT's context that is full keeps its later half: the text goes on, and the model forgets the rest. A recurrent model goes on
// without end. The result is that of recomputing the kept text (all of it) at every token.
#pragma once

#include <vector>

#include "engine/engine.h"
#include "lm/sampler.h"
#include "models/language_model.h"

namespace tabgrad {

class Generator {
 public:
  // Keeps a reference. The session may train in between two calls of next() only if start() follows.
  Generator(Session& session, const LmConfig& model, const SamplingOptions& options);

  // Throws Error on an empty prompt or an id that is none. Of a prompt longer than a GPT's context, the end counts.
  void start(std::vector<std::int32_t> prompt);
  std::int32_t next();
  Sampler& sampler() { return sampler_; }
  // The model's logits that the last next() drew from, unless it drew on the device.
  std::span<const float> logits() const { return logits_; }

 private:
  void prefill(std::size_t count);
  void decode(std::size_t at);
  std::int32_t draw_on_device();

  Session& session_;
  std::size_t context_;
  std::int64_t vocabulary_;
  bool recurrent_;
  SamplingOptions options_;
  Sampler sampler_;
  std::vector<std::int32_t> text_;  // of a GPT, what its context holds
  std::vector<std::int32_t> window_;
  std::vector<float> logits_;
  std::int64_t draws_ = 0;
  std::size_t read_ = 0;  // so many tokens of text_ are in the cache or the state
};

}  // namespace tabgrad
