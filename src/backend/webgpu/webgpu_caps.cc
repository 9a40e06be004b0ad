#include "backend/webgpu/webgpu_caps.h"

namespace tabgrad {

Caps webgpu_caps() {
  Caps caps;
  caps.shaders = true;
  // One place must not be bound twice in a launch that writes it.
  caps.in_place = false;
  caps.max_args = 8;  // maxStorageBuffersPerShaderStage
  caps.max_inputs = 7;
  caps.max_outputs = 4;
  caps.alignment = 64;  // minStorageBufferOffsetAlignment is 256 bytes
  return caps;
}

}  // namespace tabgrad
