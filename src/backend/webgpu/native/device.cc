#include "backend/webgpu/native/device.h"

#include <algorithm>
#include <chrono>
#include <map>
#include <thread>

#include "base/error.h"

namespace tabgrad::webgpu {
namespace {

const char* backend_name(WGPUBackendType type) {
  switch (type) {
    case WGPUBackendType_Null: return "null";
    case WGPUBackendType_WebGPU: return "WebGPU";
    case WGPUBackendType_D3D11: return "D3D11";
    case WGPUBackendType_D3D12: return "D3D12";
    case WGPUBackendType_Metal: return "Metal";
    case WGPUBackendType_Vulkan: return "Vulkan";
    case WGPUBackendType_OpenGL: return "OpenGL";
    case WGPUBackendType_OpenGLES: return "OpenGL ES";
    case WGPUBackendType_Undefined:
    case WGPUBackendType_Force32: break;
  }
  return "unknown";
}

const std::pair<WGPUFeatureName, const char*> kFeatures[] = {{WGPUFeatureName_TimestampQuery, "timestamp-query"},
                                                             {WGPUFeatureName_ShaderF16, "shader-f16"},
                                                             {WGPUFeatureName_Subgroups, "subgroups"}};

// Dawn hides shader-f16 on NVIDIA's drivers for failures of some conformance tests; engine/self_test.h looks whether it computes rightly.
const char* const kHalfOnNvidia = "vulkan_enable_f16_on_nvidia";

WGPUInstance instance_of(const Api& api) {
  static std::map<const Api*, WGPUInstance> instances;
  WGPUInstance& instance = instances[&api];
  if (!instance) instance = api.CreateInstance(nullptr);
  if (!instance) fail("[webgpu] ", api.library, " could not be started");
  return instance;
}

AdapterFacts facts_of(const Api& api, WGPUAdapter adapter) {
  AdapterFacts f;
  f.library = api.library;
  WGPUAdapterInfo info{};
  api.AdapterGetInfo(adapter, &info);
  f.name = text(info.device);
  f.vendor = text(info.vendor);
  f.architecture = text(info.architecture);
  f.driver = text(info.description);
  f.backend = backend_name(info.backendType);
  f.software = info.adapterType == WGPUAdapterType_CPU;
  if (api.AdapterHasFeature(adapter, WGPUFeatureName_Subgroups)) {
    f.subgroup_min = info.subgroupMinSize;
    f.subgroup_max = info.subgroupMaxSize;
  }
  api.AdapterInfoFreeMembers(info);
  for (const auto& [feature, name] : kFeatures)
    if (api.AdapterHasFeature(adapter, feature)) f.features.emplace_back(name);
  WGPULimits limits{};
  api.AdapterGetLimits(adapter, &limits);
  f.max_buffer_bytes = limits.maxBufferSize;
  f.max_binding_bytes = limits.maxStorageBufferBindingSize;
  f.max_storage_buffers = limits.maxStorageBuffersPerShaderStage;
  f.workgroup_bytes = limits.maxComputeWorkgroupStorageSize;
  f.workgroup_size = limits.maxComputeInvocationsPerWorkgroup;
  return f;
}

struct AdapterAnswer {
  bool done = false;
  WGPUAdapter adapter = nullptr;
  std::string message;
};

AdapterAnswer request_adapter(const Api& api, bool software) {
  AdapterAnswer answer;
  WGPURequestAdapterOptions options{};
  options.featureLevel = WGPUFeatureLevel_Core;
  options.powerPreference = WGPUPowerPreference_HighPerformance;
  options.forceFallbackAdapter = software;
  WGPUDawnTogglesDescriptor toggles{};
  toggles.chain.sType = WGPUSType_DawnTogglesDescriptor;
  toggles.enabledToggleCount = 1;
  toggles.enabledToggles = &kHalfOnNvidia;
  if (api.dawn) options.nextInChain = &toggles.chain;
  WGPURequestAdapterCallbackInfo callback{};
  callback.mode = WGPUCallbackMode_AllowProcessEvents;
  callback.userdata1 = &answer;
  callback.callback = [](WGPURequestAdapterStatus, WGPUAdapter adapter, WGPUStringView message, void* to, void*) {
    auto& a = *static_cast<AdapterAnswer*>(to);
    a.done = true;
    a.adapter = adapter;
    a.message = text(message);
  };
  WGPUInstance instance = instance_of(api);
  api.InstanceRequestAdapter(instance, &options, callback);
  while (!answer.done) api.InstanceProcessEvents(instance);
  if (answer.adapter && facts_of(api, answer.adapter).backend == "null") {  // Dawn's stand-in, which computes nothing
    api.AdapterRelease(answer.adapter);
    answer.adapter = nullptr;
    answer.message = "there is no graphics driver (Vulkan)";
  }
  return answer;
}

// Dawn asks for the size first, without a place for the value.
std::size_t load_cached(std::size_t key_bytes, const std::uint8_t* key, std::size_t value_bytes, std::uint8_t* value,
                        void* cache, void*) {
  const std::vector<std::uint8_t> found = static_cast<const DiskCache*>(cache)->load({key, key_bytes});
  if (value && found.size() != value_bytes) return 0;
  if (value) std::ranges::copy(found, value);
  return found.size();
}
void store_cached(std::size_t key_bytes, const std::uint8_t* key, std::size_t value_bytes, const std::uint8_t* value,
                  void* cache, void*) {
  static_cast<const DiskCache*>(cache)->store({key, key_bytes}, {value, value_bytes});
}

// A GPU, else a software adapter.
AdapterAnswer best_adapter(const Api& api) {
  AdapterAnswer answer = request_adapter(api, false);
  return answer.adapter ? answer : request_adapter(api, true);
}

}  // namespace

std::shared_ptr<Device> Device::open(const std::string& library) {
  static std::map<const Api*, std::shared_ptr<Device>> devices;  // kept: opening one takes long
  const Api& api = open_api(library);
  std::shared_ptr<Device>& device = devices[&api];
  if (device && device->error_.empty()) return device;
  AdapterAnswer answer = best_adapter(api);
  if (!answer.adapter) fail("[webgpu] ", api.library, " finds no adapter: ", answer.message);
  device = std::make_shared<Device>(api, instance_of(api), answer.adapter);
  return device;
}

Device::Device(const Api& api, WGPUInstance instance, WGPUAdapter adapter)
    : api_(api), instance_(instance), facts_(facts_of(api, adapter)) {
  struct Answer {
    bool done = false;
    WGPUDevice device = nullptr;
    std::string message;
  } answer;
  // All that the adapter has in size; shaders stay within the defaults.
  WGPULimits limits{};
  api_.AdapterGetLimits(adapter, &limits);
  limits.nextInChain = nullptr;
  timestamps_ = api_.AdapterHasFeature(adapter, WGPUFeatureName_TimestampQuery);
  std::vector<WGPUFeatureName> wanted;
  if (timestamps_) wanted.push_back(WGPUFeatureName_TimestampQuery);
  if (api_.dawn && facts_.subgroup_min > 0) {  // with wgpu-native neither this nor f16 has been tried
    wanted.push_back(WGPUFeatureName_Subgroups);
    features_.subgroups = static_cast<int>(facts_.subgroup_min);
  }
  features_.f16 = api_.dawn && api_.AdapterHasFeature(adapter, WGPUFeatureName_ShaderF16);
  if (features_.f16) wanted.push_back(WGPUFeatureName_ShaderF16);
  const char* coarse = "timestamp_quantization";  // to 100 µs: longer than most launches
  WGPUDawnTogglesDescriptor toggles{};
  toggles.chain.sType = WGPUSType_DawnTogglesDescriptor;
  toggles.disabledToggleCount = 1;
  toggles.disabledToggles = &coarse;
  toggles.enabledToggleCount = 1;
  toggles.enabledToggles = &kHalfOnNvidia;
  WGPUDawnCacheDeviceDescriptor keep{};
  keep.chain.sType = WGPUSType_DawnCacheDeviceDescriptor;
  keep.dawnLoadCacheDataCallbackInfo.userdata1 = &cache_;
  keep.dawnLoadCacheDataCallbackInfo.callback = load_cached;
  keep.dawnStoreCacheDataCallbackInfo.userdata1 = &cache_;
  keep.dawnStoreCacheDataCallbackInfo.callback = store_cached;
  toggles.chain.next = &keep.chain;
  WGPUDeviceDescriptor descriptor{};
  if (api_.dawn) descriptor.nextInChain = &toggles.chain;
  descriptor.requiredLimits = &limits;
  descriptor.requiredFeatureCount = wanted.size();
  descriptor.requiredFeatures = wanted.data();
  descriptor.deviceLostCallbackInfo.mode = WGPUCallbackMode_AllowSpontaneous;
  descriptor.deviceLostCallbackInfo.userdata1 = this;
  descriptor.deviceLostCallbackInfo.callback = [](WGPUDevice const*, WGPUDeviceLostReason reason, WGPUStringView message,
                                                  void* self, void*) {
    if (reason != WGPUDeviceLostReason_Destroyed && self)
      static_cast<Device*>(self)->report("the device was lost: " + text(message));
  };
  descriptor.uncapturedErrorCallbackInfo.userdata1 = this;
  descriptor.uncapturedErrorCallbackInfo.callback = [](WGPUDevice const*, WGPUErrorType, WGPUStringView message, void* self,
                                                       void*) { static_cast<Device*>(self)->report(text(message)); };
  WGPURequestDeviceCallbackInfo callback{};
  callback.mode = WGPUCallbackMode_AllowProcessEvents;
  callback.userdata1 = &answer;
  callback.callback = [](WGPURequestDeviceStatus, WGPUDevice device, WGPUStringView message, void* to, void*) {
    auto& a = *static_cast<Answer*>(to);
    a.done = true;
    a.device = device;
    a.message = text(message);
  };
  api_.AdapterRequestDevice(adapter, &descriptor, callback);
  wait(&answer.done);
  if (!answer.device) fail("[webgpu] ", facts_.name, " gives no device: ", answer.message);
  device_ = answer.device;
  queue_ = api_.DeviceGetQueue(device_);
}

// Devices live to the end of the process, whose exit frees them; a library's own threads may still be at work.
Device::~Device() = default;

void Device::wait(const bool* done) const {
  const auto start = std::chrono::steady_clock::now();
  for (int spins = 0; !*done; ++spins) {
    if (api_.DevicePoll && device_) {
      api_.DevicePoll(device_, true, nullptr);
    } else {
      api_.InstanceProcessEvents(instance_);
    }
    if (*done || spins % 16 != 15) continue;
    const auto waited = std::chrono::steady_clock::now() - start;
    if (waited > std::chrono::milliseconds(2)) std::this_thread::sleep_for(waited / 64);
  }
}

void Device::check() const {
  if (!error_.empty()) fail("[webgpu] ", facts_.name, ": ", error_);
}

void Device::report(std::string error) {
  if (error_.empty()) error_ = std::move(error);
}

std::vector<AdapterFacts> list_adapters(const std::string& library) {
  const Api& api = open_api(library);
  std::vector<AdapterFacts> result;
  for (bool software : {false, true}) {
    const AdapterAnswer answer = request_adapter(api, software);
    if (!answer.adapter) continue;
    AdapterFacts f = facts_of(api, answer.adapter);
    if (result.empty() || result[0].name != f.name) result.push_back(std::move(f));
    api.AdapterRelease(answer.adapter);
  }
  return result;
}

}  // namespace tabgrad::webgpu
