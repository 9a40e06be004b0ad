// What a device can do at most, as measured through the engine's own kernels: what a step's rate is a fraction of.
#pragma once

#include <string>
#include <vector>

#include "engine/engine.h"

namespace tabgrad::bench {

// What is run for it: one launch that does so much.
struct PeakRun {
  std::string name;
  double flops = 0, bytes = 0, seconds = 0;
};
// The products, then memory; each for about `seconds` after as much to warm up, on a slow device once.
std::vector<PeakRun> peak_runs(const SessionOptions& options, double seconds);

struct Peak {
  double flops =
      0;  // FLOP/s of the fastest of the square products of 1024, 2048 and 4096; larger ones only where they are quick
  double bytes = 0;  // bytes/s read and written by y = 2·x over 64 MB
};
Peak measure_peak(const SessionOptions& options, double seconds = 0.2);

}  // namespace tabgrad::bench
