// How many times this program has called operator new. Counts in every thread.
#pragma once

#include <cstdint>

namespace tabgrad::testing {

std::int64_t allocation_count();

}  // namespace tabgrad::testing
