// Caps of WebGPU: what the planner may rely on.
#pragma once

#include "kernel/caps.h"

namespace tabgrad {

// What a device grants beyond the standard.
struct WebgpuFeatures {
  int subgroups = 0;  // the least size of a subgroup; 0 without the feature
  bool f16 = false;   // shader-f16
};

// Within WebGPU's default limits, which every implementation grants, and the features.
Caps webgpu_caps(const WebgpuFeatures& features);

}  // namespace tabgrad
