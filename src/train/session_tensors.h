// A set of a session's f32 buffers, kept on the host: best weights, checkpoints.
//
// Does: reads them from the session and writes them back, and goes through NamedTensors and back. Allocates in the constructor
// only. Does not: know what they are for.
#pragma once

#include <string>
#include <vector>

#include "engine/engine.h"

namespace tabgrad {

class SessionTensors {
 public:
  SessionTensors() = default;
  // All zero until captured or filled. Throws Error when the session has no such buffer.
  SessionTensors(const Session& session, const std::vector<std::string>& names);

  void capture(Session& session);
  void put(Session& session) const;
  // Appends each as "<prefix><name>".
  void append_to(NamedTensors& tensors, const std::string& prefix) const;
  // Throws Error naming the tensor that lacks or does not fit.
  void fill(const NamedTensors& tensors, const std::string& prefix);

 private:
  struct Slot {
    std::string name;
    Dims dims;
    std::vector<float> values;
  };
  std::vector<Slot> slots_;
};

}  // namespace tabgrad
