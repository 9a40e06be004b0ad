// How long training will take on this device, before it begins: a calibration of a few seconds, and what the cost model makes of it.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "cost/cost_model.h"
#include "engine/engine.h"

namespace tabgrad::bench {

// Measures a large product, memory, and train steps of the smallest presets, and fits the cost model to them. At most about
// `seconds`, compiling included, unless the device is so slow that one step of each takes longer. `seconds` ≤ 5 is enough.
CostModel calibrate(const SessionOptions& options, double seconds);

struct Foretold {
  std::string preset, device;
  double ms = 0;  // of a train step
};
// Each GPT preset on each device of which the cost model is given, by name ("cpu", "webgpu", "webgl"). Compiles; runs nothing.
std::vector<Foretold> foretell(const std::map<std::string, CostModel>& devices, const std::vector<std::string>& presets);

struct Recommended {
  std::string preset, device;  // "": not even the smallest is done in time
  double seconds = 0;  // of all steps
};
// The largest preset (by place in the list) whose `steps` are done within `seconds` on its fastest device.
Recommended recommend(const std::vector<Foretold>& list, double steps, double seconds);

}  // namespace tabgrad::bench
