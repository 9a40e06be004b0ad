#include "train/session_tensors.h"

#include <algorithm>

#include "base/error.h"

namespace tabgrad {

SessionTensors::SessionTensors(const Session& session, const std::vector<std::string>& names) {
  const std::vector<Buffer>& buffers = session.program().buffers;
  for (const std::string& name : names) {
    const auto found = std::find_if(buffers.begin(), buffers.end(),
                                    [&](const Buffer& b) { return b.name == name && b.role != BufferRole::kActivation; });
    if (found == buffers.end()) fail("the session has no buffer '", name, "'");
    slots_.push_back({name, found->dims, std::vector<float>(static_cast<std::size_t>(num_elements(found->dims)))});
  }
}

void SessionTensors::capture(Session& session) {
  for (Slot& s : slots_) session.read(s.name, s.values.data(), static_cast<std::int64_t>(s.values.size()));
}

void SessionTensors::put(Session& session) const {
  for (const Slot& s : slots_) session.write(s.name, s.values.data(), static_cast<std::int64_t>(s.values.size()));
}

void SessionTensors::append_to(NamedTensors& tensors, const std::string& prefix) const {
  for (const Slot& s : slots_) tensors.emplace_back(prefix + s.name, HostTensor::of(s.dims, s.values));
}

void SessionTensors::fill(const NamedTensors& tensors, const std::string& prefix) {
  for (Slot& s : slots_) {
    const auto found = std::find_if(tensors.begin(), tensors.end(), [&](const auto& t) { return t.first == prefix + s.name; });
    if (found == tensors.end()) fail("the checkpoint lacks tensor '", prefix, s.name, "': it is of another model");
    const HostTensor& t = found->second;
    if (t.dims != s.dims || t.dtype != DType::kF32) {
      fail("the checkpoint's tensor '", prefix, s.name, "' is ", to_string(t.dims), ", and the model needs ",
           to_string(s.dims));
    }
    s.values = t.f32;
  }
}

}  // namespace tabgrad
