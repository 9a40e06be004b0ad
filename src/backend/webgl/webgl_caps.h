// Caps of WebGL2: what the planner may rely on. Its runner is TypeScript (packages/tabgrad/src/runtime/webgl.ts).
#pragma once

#include "kernel/caps.h"

namespace tabgrad {

Caps webgl_caps();

}  // namespace tabgrad
