// Time spent, for progress lines and limits.
#pragma once

#include <chrono>

namespace tabgrad {

inline double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

}  // namespace tabgrad
