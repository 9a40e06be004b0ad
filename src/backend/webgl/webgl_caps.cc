#include "backend/webgl/webgl_caps.h"

#include <algorithm>

namespace tabgrad {

Caps webgl_caps(const WebGlLimits& limits) {
  Caps caps;
  caps.shaders = true;
  // The rest is decomposed.
  for (Composite c : {Composite::kLstm, Composite::kGru}) {
    caps.claims.set(static_cast<std::size_t>(c));
    caps.claims_grad.set(static_cast<std::size_t>(c));
  }
  caps.gru_reset_before = false;
  caps.recurrent_multiple = 4;
  caps.in_place = false;
  caps.update_in_place = false;
  // No more than nearly every device has today, so that a Program rarely is for one device alone.
  caps.max_inputs = std::min(limits.texture_units, 16);
  caps.max_outputs = std::min(limits.draw_buffers, 8);
  caps.max_args = caps.max_inputs + caps.max_outputs;
  caps.max_texture_dim = std::min(limits.texture_size, 16384);
  caps.alignment = 4;  // whole texels
  return caps;
}

}  // namespace tabgrad
