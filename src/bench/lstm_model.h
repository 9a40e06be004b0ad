// The LSTM whose train step the benchmarks time, natively (step.cc) and in browsers (web/engine/module.cc).
#pragma once

#include <cstdint>

#include "models/built_model.h"
#include "nn/module.h"
#include "nn/train_step.h"

namespace tabgrad {

struct LstmShape {
  std::int64_t units, steps, features, batch;
};

// x (B,T,F) → LSTM → last hidden state (B,U) → linear (B,1), mean squared error against y (B,1).
inline BuiltModel build_lstm(const LstmShape& s, const OptimizerConfig& optimizer, double clip_norm) {
  Graph g;
  Builder b(g, true);
  const Tensor x = permute(input(g, "x", {s.batch, s.steps, s.features}), {1, 0, 2});
  const Tensor wx = b.param("wx", {s.features, 4 * s.units}, Init::glorot_uniform(), true);
  const Tensor wh = b.param("wh", {s.units, 4 * s.units}, Init::orthogonal(1.0, 4), true);
  const Tensor bias = b.param("b", {4 * s.units}, Init::segment(1.0, s.units, 2 * s.units), false);
  const Tensor h = lstm_sequence(linear(x, wx, bias), wh);
  const Tensor last = reshape(slice(h, 0, s.steps - 1, s.steps), {s.batch, s.units});
  const Tensor y = b.linear("head", last, 1, Init::glorot_uniform());
  const Tensor loss = mean(mse_loss(y, input(g, "y", {s.batch, 1})), {0, 1});
  g.outputs.push_back({"loss", loss.value});
  BuiltModel model;
  model.parameters = b.parameters();
  add_training(g, loss, model.parameters, optimizer, clip_norm);
  model.entries.push_back({"train_step", std::move(g)});
  return model;
}

}  // namespace tabgrad
