// Compositions that are always fused, never claimed: activations, dropout, linear, conv1d and elementwise losses.
#include "graph/compose/compose.h"

namespace tabgrad {

Tensor relu(Tensor x) { return maximum(x, constant(*x.graph, 0.0)); }
Tensor gelu(Tensor x) { return scalar_op(ScalarOp::kGelu, {x}); }
Tensor silu(Tensor x) { return x * sigmoid(x); }

Tensor dropout(Tensor x, double rate, std::uint32_t stream) {
  if (rate == 0.0) return x;
  if (rate < 0.0 || rate >= 1.0) fail("[dropout] the rate must be in [0,1), got ", rate);
  // Kept where the uniform, a multiple of 2^-24, is at least the rate: an exact comparison, the same on every target.
  const Tensor drop = less(random_uniform(*x.graph, x.dims(), stream), constant(*x.graph, static_cast<float>(rate)));
  return select(drop, constant(*x.graph, 0.0), x * (1.0 / (1.0 - rate)));
}

Tensor linear(Tensor x, Tensor w, Tensor b) {
  const Tensor y = matmul(x, w);
  return b.graph ? y + b : y;
}

Tensor conv1d(Tensor x, Tensor w, Tensor b, std::int64_t before, std::int64_t after) {
  const std::int64_t taps = w.dim(0);
  if (x.rank() != 3 || w.rank() != 3 || x.dim(2) != w.dim(1))
    fail("[conv1d] x ", to_string(x.dims()), " and w ", to_string(w.dims()), ": need (B,T,C) and (K,C,F) with equal C");
  const std::int64_t steps = x.dim(1) + before + after - taps + 1;
  if (steps < 1) fail("[conv1d] ", x.dim(1), " steps are shorter than the kernel of ", taps);
  // The taps side by side, (B,T',K·C), then one matrix product.
  const Tensor padded = pad(x, 1, before, after);
  std::vector<Tensor> columns;
  for (std::int64_t k = 0; k < taps; ++k) columns.push_back(slice(padded, 1, k, k + steps));
  const Tensor y = matmul(concat(columns, 2), reshape(w, {taps * w.dim(1), w.dim(2)}));
  return b.graph ? y + b : y;
}

Tensor mse_loss(Tensor y, Tensor target) {
  const Tensor e = y - target;
  return e * e;
}
Tensor mae_loss(Tensor y, Tensor target) { return abs(y - target); }

// Huber (1964): e²/2 for |e| ≤ δ, δ·(|e| − δ/2) beyond.
Tensor huber_loss(Tensor y, Tensor target, double delta) {
  const Tensor e = abs(y - target);
  const Tensor inner = minimum(e, constant(*e.graph, delta));
  return inner * (e - inner * 0.5);
}

// Pinball loss, Koenker & Bassett (1978): max(q·e, (q−1)·e) with e = target − y.
Tensor quantile_loss(Tensor y, Tensor target, double q) {
  const Tensor e = target - y;
  return maximum(e * q, e * (q - 1.0));
}

}  // namespace tabgrad
