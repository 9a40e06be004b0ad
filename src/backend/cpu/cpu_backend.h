// The CPU target: its Caps and its runner.
#pragma once

#include <memory>

#include "backend/backend.h"
#include "base/threads.h"

namespace tabgrad {

Caps cpu_caps();
// Allocates the Program's buffers (zeroed) and resolves every launch. `pool` must outlive the backend.
std::unique_ptr<Backend> make_cpu_backend(Program program, ThreadPool& pool);

}  // namespace tabgrad
