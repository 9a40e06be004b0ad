#include "train/optimizer_fields.h"

#include "base/error.h"

namespace tabgrad {

OptimizerConfig::Kind optimizer_kind_from(const std::string& word) {
  using Kind = OptimizerConfig::Kind;
  for (Kind kind : {Kind::kSgd, Kind::kAdam, Kind::kAdamW, Kind::kLion, Kind::kMuon}) {
    if (word == optimizer_kind_name(kind)) return kind;
  }
  fail("optimizer '", word, "' is not known. Choose sgd, adam, adamw, lion or muon.");
}

const char* optimizer_kind_name(OptimizerConfig::Kind kind) {
  switch (kind) {
    case OptimizerConfig::Kind::kSgd: return "sgd";
    case OptimizerConfig::Kind::kAdam: return "adam";
    case OptimizerConfig::Kind::kAdamW: return "adamw";
    case OptimizerConfig::Kind::kLion: return "lion";
    case OptimizerConfig::Kind::kMuon: return "muon";
  }
  TG_CHECK(false);
}

}  // namespace tabgrad
