// What a WebGPU library finds on this machine.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace tabgrad::webgpu {

struct AdapterFacts {
  std::string library, name, vendor, architecture, driver, backend;
  bool software = false;
  std::vector<std::string> features;
  std::uint64_t max_buffer_bytes = 0, max_binding_bytes = 0;
  std::uint32_t max_storage_buffers = 0, workgroup_bytes = 0, workgroup_size = 0;
  std::uint32_t subgroup_min = 0, subgroup_max = 0;  // 0 without the feature
};

// `library` as --webgpu takes it. Best first; none when it finds no adapter. Throws Error when there is no library.
std::vector<AdapterFacts> list_adapters(const std::string& library);

}  // namespace tabgrad::webgpu
