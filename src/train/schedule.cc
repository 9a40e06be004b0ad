#include "train/schedule.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "base/error.h"

namespace tabgrad {

ScheduleKind schedule_kind_from(const std::string& word) {
  for (ScheduleKind kind : {ScheduleKind::kConstant, ScheduleKind::kLinear, ScheduleKind::kCosine, ScheduleKind::kStep}) {
    if (word == schedule_kind_name(kind)) return kind;
  }
  fail("schedule '", word, "' is not known. Choose constant, linear, cosine or step.");
}

const char* schedule_kind_name(ScheduleKind kind) {
  switch (kind) {
    case ScheduleKind::kConstant: return "constant";
    case ScheduleKind::kLinear: return "linear";
    case ScheduleKind::kCosine: return "cosine";
    case ScheduleKind::kStep: return "step";
  }
  TG_CHECK(false);
}

Schedule make_schedule(ScheduleKind kind, double peak, double warmup, std::int64_t total_steps, double floor) {
  Schedule s;
  s.kind = kind;
  s.peak = peak;
  s.total_steps = total_steps;
  s.floor = floor;
  s.warmup_steps = std::llround(warmup * static_cast<double>(total_steps));
  s.drop_every = std::max<std::int64_t>(1, (total_steps - s.warmup_steps + 2) / 3);
  return s;
}

double learning_rate(const Schedule& schedule, std::int64_t step) {
  TG_CHECK(step >= 1);
  if (step < schedule.warmup_steps)
    return schedule.peak * static_cast<double>(step) / static_cast<double>(schedule.warmup_steps);
  const std::int64_t past = step - schedule.warmup_steps;
  const std::int64_t length = std::max<std::int64_t>(1, schedule.total_steps - schedule.warmup_steps);
  const double p = std::min(1.0, static_cast<double>(past) / static_cast<double>(length));
  const auto above_floor = [&](double part) { return schedule.peak * (schedule.floor + (1 - schedule.floor) * part); };
  switch (schedule.kind) {
    case ScheduleKind::kConstant: return schedule.peak;
    case ScheduleKind::kLinear: return above_floor(1 - p);
    case ScheduleKind::kCosine: return above_floor(0.5 * (1 + std::cos(std::numbers::pi * p)));
    case ScheduleKind::kStep: {
      TG_CHECK(schedule.drop_every >= 1);
      const std::int64_t drops = past / schedule.drop_every;
      return schedule.peak * std::pow(schedule.drop_factor, static_cast<double>(drops));
    }
  }
  TG_CHECK(false);
}

}  // namespace tabgrad
