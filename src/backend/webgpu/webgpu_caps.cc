#include "backend/webgpu/webgpu_caps.h"

#include <bit>

namespace tabgrad {

Caps webgpu_caps(const WebgpuFeatures& features) {
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
  // Others would not divide workgroups. Below four a butterfly spares nothing.
  if (features.subgroups >= 4 && features.subgroups <= 128 && std::has_single_bit(static_cast<unsigned>(features.subgroups)))
    caps.subgroups = features.subgroups;
  caps.f16 = features.f16;
  return caps;
}

}  // namespace tabgrad
