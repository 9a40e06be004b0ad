// The message of the Error that an action throws.
#pragma once

#include <string>

#include "base/error.h"

namespace tabgrad {

inline std::string error_of(const auto& action) {
  try {
    action();
  } catch (const Error& e) {
    return e.what();
  }
  return "no error";
}

}  // namespace tabgrad
