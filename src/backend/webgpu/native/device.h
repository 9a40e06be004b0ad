// Adapters and devices. A device is opened once a process and shared by all that run on it.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "backend/webgpu/native/adapters.h"
#include "backend/webgpu/native/api.h"
#include "backend/webgpu/native/disk_cache.h"
#include "backend/webgpu/webgpu_caps.h"

namespace tabgrad::webgpu {

class Device {
 public:
  // Throws Error with the reason when there is no adapter.
  static std::shared_ptr<Device> open(const std::string& library);

  Device(const Api& api, WGPUInstance instance, WGPUAdapter adapter);
  ~Device();
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;

  const Api& api() const { return api_; }
  WGPUDevice get() const { return device_; }
  WGPUQueue queue() const { return queue_; }
  const AdapterFacts& facts() const { return facts_; }
  bool has_timestamps() const { return timestamps_; }
  const WebgpuFeatures& features() const { return features_; }

  // Lets callbacks run until `done`; sleeps little at first, so that short work is noticed at once.
  void wait(const bool* done) const;
  // Throws Error with the device's first error, if there was one.
  void check() const;
  void report(std::string error);

 private:
  const Api& api_;
  WGPUInstance instance_;
  WGPUDevice device_ = nullptr;
  WGPUQueue queue_ = nullptr;
  AdapterFacts facts_;
  DiskCache cache_ = DiskCache::of_user();
  bool timestamps_ = false;
  WebgpuFeatures features_;
  std::string error_;
};

}  // namespace tabgrad::webgpu
