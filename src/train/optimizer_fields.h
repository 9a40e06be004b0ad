// An optimizer's settings as words and as JSON, for every kind of run.
#pragma once

#include <string>

#include "graph/compose/compose.h"

namespace tabgrad {

// "sgd", "adam", "adamw", "lion", "muon". Throws Error on another word.
OptimizerConfig::Kind optimizer_kind_from(const std::string& word);
const char* optimizer_kind_name(OptimizerConfig::Kind kind);

// Fields: a reader or writer of train/json_fields.h.
template <typename Fields>
void fields(Fields& f, OptimizerConfig& o) {
  f.word("kind", o.kind, optimizer_kind_name, optimizer_kind_from);
  f.number("beta1", o.beta1, 0, 1);
  f.number("beta2", o.beta2, 0, 1);
  f.number("eps", o.eps, 0, 1);
  f.number("weight_decay", o.weight_decay, 0, 1e6);
  f.number("momentum", o.momentum, 0, 1);
  f.flag("nesterov", o.nesterov);
}

}  // namespace tabgrad
