// Writes text with a session that has the entries prefill and decode (models/gpt.h).
//
// Does: reads a prompt, then gives a token at a time from the key/value cache. Does not: own the session, turn ids into text.
//
// A context that is full keeps its later half: the text goes on, and the model forgets the rest. The result is that of
// recomputing the kept text at every token.
#pragma once

#include <vector>

#include "engine/engine.h"
#include "lm/sampler.h"

namespace tabgrad {

class Generator {
 public:
  // Keeps a reference. The session may train in between two calls of next() only if start() follows.
  Generator(Session& session, std::int64_t context, std::int64_t vocabulary, const SamplingOptions& options);

  // Throws Error on an empty prompt or an id that is none. Of a prompt longer than the context, the end counts.
  void start(std::vector<std::int32_t> prompt);
  std::int32_t next();
  Sampler& sampler() { return sampler_; }
  // The model's logits that the last next() drew from, unless it drew on the device.
  std::span<const float> logits() const { return logits_; }

 private:
  void prefill();

  Session& session_;
  std::int64_t context_, vocabulary_;
  Sampler sampler_;
  std::vector<std::int32_t> text_;  // what the cache holds, and what comes next to it
  std::vector<std::int32_t> window_;
  std::vector<float> logits_;
  std::int64_t draws_ = 0;
  bool cached_ = false;  // all of text_ but its last token is in the cache
};

}  // namespace tabgrad
