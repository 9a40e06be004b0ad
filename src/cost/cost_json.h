// The cost model as JSON, of result files and of pages: times in µs and ms, rates in GFLOP/s and GB/s (bench/README.md).
#pragma once

#include <nlohmann/json.hpp>

#include "cost/cost_model.h"

namespace tabgrad {

// Launches of a step as [[how many, FLOPs, bytes], …].
nlohmann::ordered_json work_json(const StepWork& work);
nlohmann::ordered_json cost_json(const CostModel& model);
// With what it makes of each step.
nlohmann::ordered_json cost_json(const CostFit& fit);

}  // namespace tabgrad
