// In a page: the Backend whose work is done by the page's runner, in TypeScript (packages/tabgrad/src/runtime/webgpu.ts).
//
// The engine's calls stay as they are, though what a page does on a GPU takes turns of its event loop: WebAssembly is
// suspended meanwhile (JavaScript Promise Integration). So whoever calls into the engine must be ready for a Promise.
#pragma once

#include <memory>

#include "backend/backend.h"
#include "backend/webgl/webgl_caps.h"
#include "backend/webgpu/webgpu_caps.h"

namespace tabgrad {

// What the page's WebGPU device grants. Throws Error where there is none. Suspends.
WebgpuFeatures web_features();
// Throws Error where the browser has no GPU, or none that takes the Program.
std::unique_ptr<Backend> make_web_backend(Program program);
// Of the WebGL2 that the page has; outside a page, and without it, those that every device has.
WebGlLimits page_webgl_limits();

}  // namespace tabgrad
