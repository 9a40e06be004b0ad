// Caps of WebGL2: what the planner may rely on. Its runner is TypeScript (packages/tabgrad/src/runtime/webgl.ts).
#pragma once

#include "kernel/caps.h"

namespace tabgrad {

// As a page finds them on its device. Unsaid: draw buffers and texture units that every device has (WebGL 2, table 6.2: 4 and 16), and
// a size that nearly every one has (WebGL grants 2048), which is enough for tensors of 256 MiB.
struct WebGlLimits {
  int draw_buffers = 4, texture_units = 16, texture_size = 4096;
};

Caps webgl_caps(const WebGlLimits& limits = {});

}  // namespace tabgrad
