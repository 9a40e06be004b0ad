// The functions of webgpu.h, taken from a library that is opened at run time: Dawn or wgpu-native.
//
// Both have the header's first stable revision: structures and enums that are used here are the same in both, extensions apart.
// Invariant: what comes from wgpu-native has a version for which that was checked (kWgpuVersions in api.cc).
#pragma once

#include <webgpu/webgpu.h>

#include <cstdint>
#include <string>

namespace tabgrad::webgpu {

// TG_WGPU(Name): wgpuName, of type WGPUProcName.
#define TG_WGPU_FUNCTIONS(TG_WGPU)              \
  TG_WGPU(AdapterGetFeatures)                   \
  TG_WGPU(AdapterGetInfo)                       \
  TG_WGPU(AdapterGetLimits)                     \
  TG_WGPU(AdapterHasFeature)                    \
  TG_WGPU(AdapterInfoFreeMembers)               \
  TG_WGPU(AdapterRelease)                       \
  TG_WGPU(AdapterRequestDevice)                 \
  TG_WGPU(BindGroupLayoutRelease)               \
  TG_WGPU(BindGroupRelease)                     \
  TG_WGPU(BufferGetConstMappedRange)            \
  TG_WGPU(BufferMapAsync)                       \
  TG_WGPU(BufferRelease)                        \
  TG_WGPU(BufferUnmap)                          \
  TG_WGPU(CommandBufferRelease)                 \
  TG_WGPU(CommandEncoderBeginComputePass)       \
  TG_WGPU(CommandEncoderCopyBufferToBuffer)     \
  TG_WGPU(CommandEncoderFinish)                 \
  TG_WGPU(CommandEncoderRelease)                \
  TG_WGPU(CommandEncoderResolveQuerySet)        \
  TG_WGPU(ComputePassEncoderDispatchWorkgroups) \
  TG_WGPU(ComputePassEncoderEnd)                \
  TG_WGPU(ComputePassEncoderRelease)            \
  TG_WGPU(ComputePassEncoderSetBindGroup)       \
  TG_WGPU(ComputePassEncoderSetPipeline)        \
  TG_WGPU(ComputePipelineGetBindGroupLayout)    \
  TG_WGPU(ComputePipelineRelease)               \
  TG_WGPU(CreateInstance)                       \
  TG_WGPU(DeviceCreateBindGroup)                \
  TG_WGPU(DeviceCreateBuffer)                   \
  TG_WGPU(DeviceCreateCommandEncoder)           \
  TG_WGPU(DeviceCreateComputePipeline)          \
  TG_WGPU(DeviceCreateComputePipelineAsync)     \
  TG_WGPU(DeviceCreateQuerySet)                 \
  TG_WGPU(DeviceCreateShaderModule)             \
  TG_WGPU(DeviceDestroy)                        \
  TG_WGPU(DeviceGetQueue)                       \
  TG_WGPU(DevicePopErrorScope)                  \
  TG_WGPU(DevicePushErrorScope)                 \
  TG_WGPU(InstanceProcessEvents)                \
  TG_WGPU(InstanceRequestAdapter)               \
  TG_WGPU(QuerySetRelease)                      \
  TG_WGPU(QueueOnSubmittedWorkDone)             \
  TG_WGPU(QueueSubmit)                          \
  TG_WGPU(QueueWriteBuffer)                     \
  TG_WGPU(ShaderModuleRelease)                  \
  TG_WGPU(SupportedFeaturesFreeMembers)

struct Api {
#define TG_WGPU(Name) WGPUProc##Name Name = nullptr;
  TG_WGPU_FUNCTIONS(TG_WGPU)
#undef TG_WGPU
  // wgpu-native alone: waits for the device's work, or asks after it.
  WGPUBool (*DevicePoll)(WGPUDevice device, WGPUBool wait, std::uint64_t const* submission) = nullptr;
  bool dawn = false;
  std::string library;  // for people: "Dawn (libwebgpu_dawn.so.0)", "wgpu-native 29.0.1.1 (/opt/libwgpu_native.so)"
};

// "dawn", "wgpu", a path, or "" for TABGRAD_WEBGPU's or the first of them that is found. Throws Error naming what was tried, and for a
// library whose structures may differ from the header that this was compiled with.
const Api& open_api(const std::string& library);

inline WGPUStringView view(const std::string& text) { return {text.data(), text.size()}; }
inline std::string text(WGPUStringView v) {
  if (!v.data) return {};
  return v.length == WGPU_STRLEN ? std::string(v.data) : std::string(v.data, v.length);
}

}  // namespace tabgrad::webgpu
