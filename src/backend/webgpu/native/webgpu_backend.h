// The native runner of Programs for WebGPU: everything is made at load; a step only encodes and submits.
#pragma once

#include <memory>
#include <string>

#include "backend/backend.h"
#include "backend/webgpu/webgpu_caps.h"

namespace tabgrad {

// `library` as --webgpu takes it: "dawn", "wgpu", a path, or "" for what is found. Throws Error where there is no adapter or the
// Program does not fit the device.
WebgpuFeatures webgpu_features(const std::string& library);
std::unique_ptr<Backend> make_webgpu_backend(Program program, const std::string& library);

}  // namespace tabgrad
