// Runs steps on a device that may run behind the host, and takes their results while later ones are under way; and
// times them.
//
// A GPU that must be waited for after every step idles meanwhile, for 60 µs natively and some milliseconds in a browser. On the CPU a
// burst is one step. All steps of a burst are settled when it returns, so whoever calls sees a state without loose ends.
#pragma once

#include <chrono>
#include <cstdint>

#include "engine/engine.h"

namespace tabgrad {

// issue(i): writes inputs and runs one entry once, for step i of the burst. settle(i, runs_ago): takes the results of step i by
// Session::read_scalar_earlier; false ends the burst, and what was issued after it is of no interest. At most `most` steps, and
// kMaxBurst, and none begun after 20 ms, so that whoever drives keeps control. Gives the number of steps settled.
inline constexpr std::int64_t kMaxBurst = 256;
template <typename Issue, typename Settle>
std::int64_t run_burst(const Session& session, std::int64_t most, Issue issue, Settle settle) {
  constexpr auto kLongest = std::chrono::milliseconds(20);
  const std::int64_t depth = session.runs_in_flight();
  const auto start = std::chrono::steady_clock::now();
  std::int64_t issued = 0, settled = 0;
  const auto settle_next = [&] { return settle(settled, static_cast<int>(issued - settled - 1)) ? ++settled > 0 : false; };
  do {
    issue(issued++);
    if (issued - settled == depth && !settle_next()) return settled;
  } while (depth > 1 && issued < most && issued < kMaxBurst && std::chrono::steady_clock::now() - start < kLongest);
  while (settled < issued)
    if (!settle_next()) return settled;
  return settled;
}

// How long steps take, the first of a process left out: it warms caches.
class StepTimer {
 public:
  bool before_first() const { return steps_ < 0; }
  // Of the first call only that it was there is kept; so it should be about one step.
  void add(std::int64_t steps, double seconds) {
    if (before_first()) {
      steps_ = 0;
    } else {
      steps_ += steps;
      seconds_ += seconds;
    }
  }
  std::int64_t steps() const { return before_first() ? 0 : steps_; }
  double seconds() const { return seconds_; }
  double ms_per_step() const { return steps() > 0 ? 1e3 * seconds_ / static_cast<double>(steps_) : 0; }  // 0: not known yet

 private:
  std::int64_t steps_ = -1;
  double seconds_ = 0;
};

}  // namespace tabgrad
