// Composite ops: one builder function each, and the rule table that says how each decomposes into primitives.
#pragma once

#include <vector>

#include "graph/build.h"

namespace tabgrad {

// ---- builders (nodes that a target may claim) ----
Tensor softmax(Tensor x);  // over the last dimension
Tensor layer_norm(Tensor x, Tensor gamma, Tensor beta, double eps = 1e-5);
Tensor rms_norm(Tensor x, Tensor gamma, double eps = 1e-5);
Tensor cross_entropy(Tensor logits, Tensor targets);  // (…,C), ids (…) → nll of each row (…)
struct AttentionOptions {
  int heads = 1, kv_heads = 1;
  bool causal = true;
};
// qkv (B,T,(H+2·KV)·D): query heads, then key heads, then value heads; scale 1/sqrt(D) → (B,T,H·D)
Tensor attention(Tensor qkv, AttentionOptions options);
// See kernel/composite.h for shapes. h0, c0 may be invalid (zeros). Returns h (T,B,H).
Tensor lstm_sequence(Tensor xw, Tensor wh, Tensor h0 = {}, Tensor c0 = {});
Tensor lstm_cells(Tensor h);  // c (T,B,H), of what lstm_sequence returned; no gradient goes through it
Tensor gru_sequence(Tensor xw, Tensor wh, Tensor bh, bool reset_after, Tensor h0 = {});
Tensor sum_squares(const std::vector<Tensor>& xs);
struct OptimizerConfig {
  // kLion: beta1 0.9, beta2 0.99 and a rate some ten times lower than AdamW's suit it. kMuon: AdamW for all but hidden matrices.
  enum class Kind : unsigned char { kSgd, kAdam, kAdamW, kLion, kMuon } kind = Kind::kAdamW;
  double beta1 = 0.9, beta2 = 0.999, eps = 1e-8, weight_decay = 0.01, momentum = 0.0;
  bool nesterov = false;
};
// One parameter's step: adds the updates of p and of its state to the graph. scale multiplies the gradient (clipping).
// Uniforms read: "lr"; Adam also "bias1" = 1 − beta1^step, "bias2" = 1 − beta2^step.
// hidden: a matrix between hidden values, which Muon orthogonalises the steps of.
void optimizer_update(Tensor p, Tensor g, Tensor scale, const OptimizerConfig& config, double weight_decay,
                      bool hidden = false);

// ---- plain compositions of primitives (always fused, never claimed) ----
Tensor relu(Tensor x);
Tensor gelu(Tensor x);  // exact: x·Φ(x)
Tensor silu(Tensor x);
Tensor dropout(Tensor x, double rate, std::uint32_t stream);
Tensor linear(Tensor x, Tensor w, Tensor b = {});  // x·W + b, W (in,out)
// x (B,T,C), w (K,C,F), b (F); `before`/`after` zeros of padding in time (causal: K−1, 0). → (B,T+before+after−K+1,F)
Tensor conv1d(Tensor x, Tensor w, Tensor b, std::int64_t before, std::int64_t after);
Tensor mse_loss(Tensor y, Tensor target);  // elementwise, as the next three
Tensor mae_loss(Tensor y, Tensor target);
Tensor huber_loss(Tensor y, Tensor target, double delta = 1.0);
Tensor quantile_loss(Tensor y, Tensor target, double q);

// ---- decomposition ----
int composite_outputs(Composite composite);
// Which inputs receive a gradient.
std::vector<bool> composite_differentiable(Composite composite, std::size_t inputs);
void infer_composite(const Graph& graph, Node& node);
// Adds the primitives that compute `node` (whose inputs are `inputs` in graph g) and returns its outputs.
std::vector<Tensor> decompose(Graph& g, const Node& node, const std::vector<Tensor>& inputs);

}  // namespace tabgrad
