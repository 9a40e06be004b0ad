// A recurrent layer with its parameters, which the forecasters and the language models share.
#pragma once

#include <string>

#include "nn/module.h"

namespace tabgrad {

enum class CellKind : unsigned char { kLstm, kGru };

struct RecurrentOptions {
  CellKind cell = CellKind::kLstm;
  std::int64_t units = 64;
  bool gru_reset_after = true;  // false: the reset gate acts before the matrix product, as in Cho et al. 2014
};

// Of every step (T,B,U), or of one (B,U). c is the LSTM's alone.
struct RecurrentState {
  Tensor h, c{};
};

// One layer over time-major x (T,B,C) → its states after every step. start (B,U): from zero if invalid. The input's share of the
// gates is one product over all steps.
// Parameters "<name>.wx" (C,G·U), ".wh" (U,G·U), ".b" (G·U) with gates i, f, g, o, and of a GRU r, z, n and also ".bh" (G·U).
RecurrentState recurrent_layer(Builder& builder, const std::string& name, Tensor x, const RecurrentOptions& options,
                               const RecurrentState& start = {});

}  // namespace tabgrad
