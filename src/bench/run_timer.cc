#include "bench/run_timer.h"

#include "base/clock.h"
#include "train/burst.h"

namespace tabgrad::bench {

std::vector<double> time_runs(Session& session, const std::string& entry, const std::string& output, double seconds) {
  const auto settle = [&](std::int64_t, int runs_ago) {
    session.read_scalar_earlier(output, runs_ago);
    return true;
  };
  const auto burst = [&] {
    const auto start = std::chrono::steady_clock::now();
    const std::int64_t runs = run_burst(session, kMaxBurst, [&](std::int64_t) { session.run(entry); }, settle);
    return seconds_since(start) / static_cast<double>(runs);
  };
  const auto once = [&] {
    const auto start = std::chrono::steady_clock::now();
    session.run(entry);
    session.read_scalar(output);
    return seconds_since(start);
  };
  const auto start = std::chrono::steady_clock::now();
  once();  // page faults, pipelines
  if (const double alone = once(); alone > 5 * seconds) return {alone};
  while (seconds_since(start) < seconds) burst();
  std::vector<double> times;
  const auto begin = std::chrono::steady_clock::now();
  do times.push_back(burst());
  while (seconds_since(begin) < seconds);
  return times;
}

void write_some_inputs(Session& session) {
  for (const Buffer& b : session.program().buffers) {
    if (b.role != BufferRole::kInput || b.dtype != DType::kF32) continue;
    HostTensor t = HostTensor::zeros(b.dims);
    for (std::size_t i = 0; i < t.f32.size(); ++i) t.f32[i] = static_cast<float>(i * 7919 % 1000) * 1e-3f - 0.5f;
    session.write(b.name, t);
  }
}

}  // namespace tabgrad::bench
