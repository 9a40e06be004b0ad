#include "backend/webgpu/webgpu_caps.h"

namespace tabgrad {

Caps webgpu_caps() {
  Caps caps;
  caps.shaders = true;
  caps.claims.set();
  caps.claims_grad.set();
  caps.epilogues = true;
  caps.gru_reset_before = false;
  caps.max_recurrent_units = 512;  // whose states and gates fit into workgroup memory
  // One place must not be bound twice in a launch that writes it.
  caps.in_place = false;
  caps.max_args = 8;  // maxStorageBuffersPerShaderStage
  caps.max_inputs = 7;
  caps.max_outputs = 4;
  caps.alignment = 64;  // minStorageBufferOffsetAlignment is 256 bytes
  return caps;
}

}  // namespace tabgrad
