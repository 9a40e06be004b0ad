// LSTM (Hochreiter & Schmidhuber 1997, with forget gate) and GRU (Cho et al. 2014) over a whole sequence, time-major.
#include "graph/compose/composite_rules.h"

namespace tabgrad {
namespace {

Tensor step_of(Tensor seq, std::int64_t t) { return reshape(slice(seq, 0, t, t + 1), {seq.dim(1), seq.dim(2)}); }

Tensor stack(const std::vector<Tensor>& steps) {
  std::vector<Tensor> parts;
  for (const Tensor& s : steps) parts.push_back(reshape(s, {1, s.dim(0), s.dim(1)}));
  return concat(parts, 0);
}

Tensor zeros_like_state(Tensor xw, Tensor wh) { return constant(*xw.graph, 0.0, {xw.dim(1), wh.dim(0)}); }

}  // namespace

Tensor lstm_sequence(Tensor xw, Tensor wh, Tensor h0, Tensor c0) {
  const Tensor h = h0.graph ? h0 : zeros_like_state(xw, wh);
  const Tensor c = c0.graph ? c0 : zeros_like_state(xw, wh);
  return add_composite(Composite::kLstm, {xw, wh, h, c});
}

Tensor lstm_cells(Tensor h) {
  TG_CHECK(h.graph->node(h.value).op == Op::kComposite && h.graph->node(h.value).composite == Composite::kLstm);
  return {h.graph, {h.value.node, 2}};
}

Tensor gru_sequence(Tensor xw, Tensor wh, Tensor bh, bool reset_after, Tensor h0) {
  CompositeAttrs attrs;
  attrs.reset_after = reset_after;
  return add_composite(Composite::kGru, {xw, wh, bh, h0.graph ? h0 : zeros_like_state(xw, wh)}, attrs);
}

std::vector<Tensor> decompose_lstm(const Node&, const std::vector<Tensor>& in) {
  const Tensor xw = in[0], wh = in[1];
  const std::int64_t n = wh.dim(0);
  Tensor h = in[2], c = in[3];
  std::vector<Tensor> hs, gates, cs;
  for (std::int64_t t = 0; t < xw.dim(0); ++t) {
    const Tensor a = step_of(xw, t) + matmul(h, wh);
    const Tensor i = sigmoid(slice(a, 1, 0, n)), f = sigmoid(slice(a, 1, n, 2 * n));
    const Tensor g = tanh(slice(a, 1, 2 * n, 3 * n)), o = sigmoid(slice(a, 1, 3 * n, 4 * n));
    c = f * c + i * g;
    h = o * tanh(c);
    hs.push_back(h);
    gates.push_back(concat({i, f, g, o}, 1));
    cs.push_back(c);
  }
  return {stack(hs), stack(gates), stack(cs)};
}

std::vector<Tensor> decompose_gru(const Node& node, const std::vector<Tensor>& in) {
  const Tensor xw = in[0], wh = in[1], bh = in[2];
  const std::int64_t n = wh.dim(0);
  Tensor h = in[3];
  std::vector<Tensor> hs, gates, hns;
  for (std::int64_t t = 0; t < xw.dim(0); ++t) {
    const Tensor x = step_of(xw, t);
    const Tensor a = matmul(h, slice(wh, 1, 0, 2 * n)) + slice(bh, 0, 0, 2 * n);
    const Tensor r = sigmoid(slice(x, 1, 0, n) + slice(a, 1, 0, n));
    const Tensor z = sigmoid(slice(x, 1, n, 2 * n) + slice(a, 1, n, 2 * n));
    const Tensor wn = slice(wh, 1, 2 * n, 3 * n), bn = slice(bh, 0, 2 * n, 3 * n), xn = slice(x, 1, 2 * n, 3 * n);
    Tensor hn, candidate;
    if (node.attrs.reset_after) {
      hn = matmul(h, wn) + bn;
      candidate = tanh(xn + r * hn);
    } else {
      hn = r * h;
      candidate = tanh(xn + matmul(hn, wn) + bn);
    }
    h = candidate + z * (h - candidate);
    hs.push_back(h);
    gates.push_back(concat({r, z, candidate}, 1));
    hns.push_back(hn);
  }
  return {stack(hs), stack(gates), stack(hns)};
}

}  // namespace tabgrad
