// Learning-rate schedules: constant, linear, cosine, step, each with a linear warm-up.
//
// Does: gives the rate of a step, in closed form. Does not: keep state, so that a resumed run needs only its step number.
//
// Invariant: steps count from 1; the rate is peak · f with f in [0, 1].
#pragma once

#include <cstdint>
#include <string>

namespace tabgrad {

enum class ScheduleKind { kConstant, kLinear, kCosine, kStep };
// "constant", "linear", "cosine", "step". Throws Error on another word.
ScheduleKind schedule_kind_from(const std::string& word);
const char* schedule_kind_name(ScheduleKind kind);

struct Schedule {
  ScheduleKind kind = ScheduleKind::kCosine;
  double peak = 3e-3;
  std::int64_t warmup_steps = 0;  // below this step the rate is peak · step / warmup_steps
  std::int64_t total_steps = 1;   // kLinear, kCosine: where the rate reaches its floor
  double floor = 0;               // kLinear, kCosine: the floor as a part of the peak, in [0, 1]
  std::int64_t drop_every = 1;    // kStep: steps after the warm-up between drops
  double drop_factor = 0.1;       // kStep: what each drop multiplies the rate by
};

// Over total_steps, of which the part `warmup` warms up. kStep drops to a tenth at each third of the rest.
Schedule make_schedule(ScheduleKind kind, double peak, double warmup, std::int64_t total_steps, double floor = 0);

// With p = (step − warm-up) / (total − warm-up), at most 1:
// kLinear: peak · (floor + (1 − floor) · (1 − p)).
// kCosine: peak · (floor + (1 − floor) · (1 + cos(π·p)) / 2) (Loshchilov & Hutter 2017, no restarts).
// kStep: peak · drop_factor^⌊(step − warm-up) / drop_every⌋.
double learning_rate(const Schedule& schedule, std::int64_t step);

}  // namespace tabgrad
