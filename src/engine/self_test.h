// Whether a device computes as the CPU does: drivers and browsers have made kernels whose results were wrong, and a model that
// trains on one just seems to learn slowly.
#pragma once

#include <string>

#include "engine/engine.h"

namespace tabgrad {

// Why the options' device must not store activations as f16: it cannot, or its results are not those of f16. Empty: it may.
std::string f16_refusal(const SessionOptions& options);

// Runs a small train step's forward and backward parts on the options' device and on the CPU. Empty, or what differs.
std::string self_test(const SessionOptions& options);

}  // namespace tabgrad
