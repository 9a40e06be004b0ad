// Caps of WebGPU: what the planner may rely on.
#pragma once

#include "kernel/caps.h"

namespace tabgrad {

// Within WebGPU's default limits, which every implementation grants.
Caps webgpu_caps();

}  // namespace tabgrad
