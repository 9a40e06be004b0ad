// Whether a device computes as the CPU does: drivers and browsers have made kernels whose results were wrong, and a model that
// trains on one just seems to learn slowly.
#pragma once

#include <string>

#include "engine/engine.h"

namespace tabgrad {

// Runs a small train step's forward and backward parts on the options' device and on the CPU. Empty, or what differs.
std::string self_test(const SessionOptions& options);

}  // namespace tabgrad
