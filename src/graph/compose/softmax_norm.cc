// Softmax, layer norm (Ba et al. 2016), RMS norm (Zhang & Sennrich 2019), cross-entropy over class ids.
#include "graph/compose/composite_rules.h"

namespace tabgrad {

Tensor add_composite(Composite composite, const std::vector<Tensor>& inputs, const CompositeAttrs& attrs) {
  Node node;
  node.op = Op::kComposite;
  node.composite = composite;
  node.attrs = attrs;
  for (const Tensor& t : inputs) node.inputs.push_back(t.value);
  return {inputs[0].graph, inputs[0].graph->add(std::move(node))};
}

Tensor softmax(Tensor x) { return reshape(add_composite(Composite::kSoftmax, {reshape(x, {-1, x.dim(-1)})}), x.dims()); }

Tensor layer_norm(Tensor x, Tensor gamma, Tensor beta, double eps) {
  CompositeAttrs attrs;
  attrs.eps = static_cast<float>(eps);
  return reshape(add_composite(Composite::kLayerNorm, {reshape(x, {-1, x.dim(-1)}), gamma, beta}, attrs), x.dims());
}

Tensor rms_norm(Tensor x, Tensor gamma, double eps) {
  CompositeAttrs attrs;
  attrs.eps = static_cast<float>(eps);
  return reshape(add_composite(Composite::kRmsNorm, {reshape(x, {-1, x.dim(-1)}), gamma}, attrs), x.dims());
}

Tensor cross_entropy(Tensor logits, Tensor targets) {
  const Dims rows(logits.dims().begin(), logits.dims().end() - 1);
  return reshape(add_composite(Composite::kCrossEntropy, {reshape(logits, {-1, logits.dim(-1)}), reshape(targets, {-1})}),
                 rows);
}

std::vector<Tensor> decompose_softmax(const Node&, const std::vector<Tensor>& in) {
  const Tensor e = exp(in[0] - max(in[0], {-1}, true));
  return {e / sum(e, {-1}, true)};
}

std::vector<Tensor> decompose_norm(const Node& node, const std::vector<Tensor>& in) {
  const Tensor x = in[0];
  const Dims rows{x.dim(0)};
  if (node.composite == Composite::kRmsNorm) {
    const Tensor rstd = rsqrt(mean(x * x, {1}, true) + static_cast<double>(node.attrs.eps));
    return {x * rstd * in[1], reshape(rstd, rows)};
  }
  const Tensor mu = mean(x, {1}, true);
  const Tensor centred = x - mu;
  const Tensor rstd = rsqrt(mean(centred * centred, {1}, true) + static_cast<double>(node.attrs.eps));
  return {centred * rstd * in[1] + in[2], reshape(mu, rows), reshape(rstd, rows)};
}

std::vector<Tensor> decompose_cross_entropy(const Node&, const std::vector<Tensor>& in) {
  const Tensor x = in[0];
  const Tensor top = max(x, {1}, true);
  const Tensor lse = log(sum(exp(x - top), {1})) + reshape(top, {x.dim(0)});
  // One-hot by comparison: pull form, the same on every target. An id out of range matches no column: nll 0, gradient 0.
  const Tensor hot = equal(iota(*x.graph, x.dims(), 1), reshape(cast_f32(in[1]), {x.dim(0), 1}));
  return {sum(hot * (reshape(lse, {x.dim(0), 1}) - x), {1}), lse};
}

}  // namespace tabgrad
