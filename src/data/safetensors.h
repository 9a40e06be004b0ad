// The safetensors format (an 8-byte little-endian header length, a JSON header, raw little-endian data), in memory.
//
// Does: writes F32 and I32; reads those, and F64, F16, BF16 as f32. Does not: touch files, map memory, read other types
// (refused by name).
//
// Invariant: a file from anywhere gives tensors or an Error naming file and tensor, never a crash, an over-read or an
// allocation larger than the file justifies. Data must be covered by tensors exactly: no overlap, no holes.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "tensor/host_tensor.h"

namespace tabgrad {

struct Safetensors {
  NamedTensors tensors;  // in the order of their data
  std::map<std::string, std::string> metadata;
};

// The file's bytes. Data begins at a multiple of 8. Throws Error on a repeated or reserved name.
std::string write_safetensors(const NamedTensors& tensors, const std::map<std::string, std::string>& metadata = {});

// `name` is the file's name, for messages.
Safetensors read_safetensors(std::string_view bytes, const std::string& name);

}  // namespace tabgrad
