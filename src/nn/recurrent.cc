#include "nn/recurrent.h"

#include "graph/compose/compose.h"

namespace tabgrad {

RecurrentState recurrent_layer(Builder& b, const std::string& name, Tensor x, const RecurrentOptions& o,
                               const RecurrentState& start) {
  const Layer layer(b, name);
  const std::int64_t u = o.units;
  if (o.cell == CellKind::kLstm) {
    const Tensor wx = b.param(name + ".wx", {x.dim(2), 4 * u}, Init::glorot_uniform(), true);
    const Tensor wh = b.param(name + ".wh", {u, 4 * u}, Init::orthogonal(1.0, 4), true);
    // The forget gate starts open (Jozefowicz et al. 2015).
    const Tensor bias = b.param(name + ".b", {4 * u}, Init::segment(1.0, u, 2 * u), false);
    const Tensor h = lstm_sequence(linear(x, wx, bias), wh, start.h, start.c);
    return {h, lstm_cells(h)};
  }
  const Tensor wx = b.param(name + ".wx", {x.dim(2), 3 * u}, Init::glorot_uniform(), true);
  const Tensor wh = b.param(name + ".wh", {u, 3 * u}, Init::orthogonal(1.0, 3), true);
  const Tensor bias = b.param(name + ".b", {3 * u}, Init::zeros(), false);
  const Tensor bh = b.param(name + ".bh", {3 * u}, Init::zeros(), false);
  return {gru_sequence(linear(x, wx, bias), wh, bh, o.gru_reset_after, start.h)};
}

}  // namespace tabgrad
