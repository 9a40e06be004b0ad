// What fusing and hand-tuned kernels are worth: a GPT's train step and decode step with nothing of it, with each part alone, with all.
//
// Does: also times replay, what a launch costs in a Program whose kernels do next to nothing. Does not: time single API calls
// (cli/bench/dispatch.cc natively, packages/tabgrad/src/bench/dispatch.ts in a page).
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "engine/engine.h"
#include "models/gpt_config.h"

namespace tabgrad::bench {

struct AblationRow {
  std::string entry;  // "train_step", "decode"
  std::string variant;  // "nothing", "merging alone", "attention alone", "all kernels alone", "everything"
  std::int64_t launches = 0;
  double ms = 0;  // median of a run
};
// Each variant is compiled and run for about `seconds`. Weights are the initial ones. quick: merging alone and everything, for software
// GPUs in browsers, which take a minute to compile what is not merged.
std::vector<AblationRow> run_ablation(const GptConfig& config, const SessionOptions& options, double seconds,
                                      bool quick = false);
nlohmann::ordered_json ablation_json(const std::vector<AblationRow>& rows);

struct Replay {
  std::int64_t launches = 0;
  double us_median = 0, us_p10 = 0, us_p90 = 0;  // of a launch
};
// A chain of launches on 256 numbers, each of which reads what the one before wrote; three buffers read and one written by each.
Replay time_replay(const SessionOptions& options, double seconds);
nlohmann::ordered_json replay_json(const Replay& replay);

}  // namespace tabgrad::bench
