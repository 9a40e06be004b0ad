// Between the engine's settings and a page's: a seed has 64 bits, more than a number of JavaScript, so the page sees digits.
#pragma once

#include <cmath>
#include <string>

#include "base/clock.h"
#include "cost/cost_json.h"
#include "train/json_fields.h"
#include "train/trainer.h"

namespace tabgrad::wasm {

inline std::uint64_t seed_from(const std::string& digits) {
  if (digits.empty() || digits.size() > 20 || digits.find_first_not_of("0123456789") != std::string::npos ||
      (digits.size() == 20 && digits > "18446744073709551615")) {
    fail("seed '", digits, "' is not possible: give a whole number from 0 to 18446744073709551615.");
  }
  return std::stoull(digits);
}

// The settings' own JSON, with digits in the place of the seed; and back.
inline Json with_digits(const std::string& settings) {
  Json json = Json::parse(settings);
  Json& seed = json["training"]["seed"];
  seed = std::to_string(seed.get<std::uint64_t>());
  return json;
}
inline void read_digits(Json& settings) {
  if (!settings.contains("training") || !settings["training"].contains("seed")) return;
  Json& seed = settings["training"]["seed"];
  if (seed.is_string()) seed = seed_from(seed.get<std::string>());
}

inline Json finite_or_null(double value) { return std::isfinite(value) ? Json(value) : Json(nullptr); }

inline const char* end_word(EndReason end) {
  switch (end) {
    case EndReason::kEpochs: return "epochs";
    case EndReason::kPatience: return "patience";
    case EndReason::kDiverged: return "diverged";
    case EndReason::kNone:
    case EndReason::kStopped:
    case EndReason::kTimeLimit: return "stopped";
  }
  TG_CHECK(false);
}

}  // namespace tabgrad::wasm
