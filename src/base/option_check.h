// Checks of what people set, with a message that names the option.
#pragma once

#include "base/error.h"

namespace tabgrad {

// Throws Error "--option value is not possible: allowed." unless good.
void need_option(bool good, const char* option, const auto& value, const auto& allowed) {
  if (!good) fail("--", option, " ", value, " is not possible: ", allowed, ".");
}

}  // namespace tabgrad
