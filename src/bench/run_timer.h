// Times runs of one entry point of a session, on devices that run behind the host too.
#pragma once

#include <string>
#include <vector>

#include "engine/engine.h"

namespace tabgrad::bench {

// Seconds of each run, for about `seconds` after as much to warm up; only one, after one to warm up, where it takes five times
// that. `output`: a scalar by which the end of a run is noticed.
std::vector<double> time_runs(Session& session, const std::string& entry, const std::string& output, double seconds);

// Gives every f32 input that has none a value: fixed numbers in [-0.5, 0.5).
void write_some_inputs(Session& session);

}  // namespace tabgrad::bench
