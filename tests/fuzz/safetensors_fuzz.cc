// Any bytes as a safetensors file: tensors that survive a round trip, or tabgrad::Error.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "base/error.h"
#include "data/safetensors.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace tabgrad;
  try {
    const Safetensors file = read_safetensors({reinterpret_cast<const char*>(data), size}, "fuzz");
    const Safetensors again = read_safetensors(write_safetensors(file.tensors, file.metadata), "again");
    if (again.metadata != file.metadata || again.tensors.size() != file.tensors.size()) std::abort();
  } catch (const Error&) {
  }
  return 0;
}
