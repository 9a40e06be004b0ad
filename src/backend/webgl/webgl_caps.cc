#include "backend/webgl/webgl_caps.h"

namespace tabgrad {

Caps webgl_caps() {
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
  caps.max_inputs = 16;  // MAX_TEXTURE_IMAGE_UNITS and MAX_DRAW_BUFFERS are at least these (WebGL 2, table 6.2)
  caps.max_outputs = 8;
  caps.max_args = 20;
  // WebGL grants 2048; nearly every device takes this, which is enough for tensors of 256 MiB.
  caps.max_texture_dim = 4096;
  caps.alignment = 4;  // whole texels
  return caps;
}

}  // namespace tabgrad
