#include "train/optimizer_fields.h"

#include "base/error.h"

namespace tabgrad {

OptimizerConfig::Kind optimizer_kind_from(const std::string& word) {
  using Kind = OptimizerConfig::Kind;
  for (Kind kind : {Kind::kSgd, Kind::kAdam, Kind::kAdamW}) {
    if (word == optimizer_kind_name(kind)) return kind;
  }
  fail("optimizer '", word, "' is not known. Choose sgd, adam or adamw.");
}

const char* optimizer_kind_name(OptimizerConfig::Kind kind) {
  switch (kind) {
    case OptimizerConfig::Kind::kSgd: return "sgd";
    case OptimizerConfig::Kind::kAdam: return "adam";
    case OptimizerConfig::Kind::kAdamW: return "adamw";
  }
  TG_CHECK(false);
}

}  // namespace tabgrad
