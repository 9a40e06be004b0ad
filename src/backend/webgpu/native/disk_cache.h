// What a WebGPU library keeps of compiled shaders and pipelines from one process to the next: a folder of one file a key.
//
// It may lose anything at any time: a missing, damaged or foreign file is as if nothing had been stored, and what cannot be written
// is not kept. Bounded: opening it removes the files that were used longest ago until at most half of `max_bytes` is left, once
// they are more than `max_bytes`. Safe from several threads and processes: a file appears whole, by rename, or not at all.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <vector>

namespace tabgrad::webgpu {

class DiskCache {
 public:
  // An empty folder: keeps nothing.
  DiskCache(std::filesystem::path folder, std::uint64_t max_bytes);
  // In TABGRAD_CACHE, else in the user's cache folder.
  static DiskCache of_user();

  using Bytes = std::span<const std::uint8_t>;
  // Empty when it is not there.
  std::vector<std::uint8_t> load(Bytes key) const;
  void store(Bytes key, Bytes value) const;

 private:
  std::filesystem::path file_of(Bytes key) const;

  std::filesystem::path folder_;
};

}  // namespace tabgrad::webgpu
