// 10,000 steps keep nothing: memory of the process, which on a software adapter holds the GPU's buffers too, is flat.
#ifndef __EMSCRIPTEN__
#include <gtest/gtest.h>
#include <malloc.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <memory>

#include "engine/engine.h"
#include "models/forecaster.h"
#include "nn/train_step.h"
#include "tensor/philox.h"

namespace tabgrad {
namespace {

// Bytes that malloc gave out and has not got back, in all libraries of the process.
std::int64_t live_bytes() {
  const struct mallinfo2 all = mallinfo2();
  return static_cast<std::int64_t>(all.uordblks + all.hblkhd);
}
// Bytes of the process's memory that are in use, also those that a driver maps by itself.
std::int64_t resident_bytes() {
  std::int64_t pages = 0, resident = 0;
  std::ifstream("/proc/self/statm") >> pages >> resident;
  return resident * sysconf(_SC_PAGESIZE);
}

TEST(Steady, TenThousandStepsKeepNothing) {
  ForecasterConfig c = default_forecaster(ForecasterKind::kLstm);
  c.window = 6;
  c.units = 8;
  const OptimizerConfig optimizer;
  const BuiltModel model = build_forecaster(c, 8, 8, optimizer, 1.0);
  std::unique_ptr<Session> session;
  try {
    session = std::make_unique<Session>(make_session(model.entries, {.device = "webgpu"}));
  } catch (const Error& e) {
    GTEST_SKIP() << e.what();
  }
  write_initial_values(*session, model.parameters, 1);
  std::vector<float> x(static_cast<std::size_t>(8 * c.window)), target(8), weight(8, 1.0f);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = normal(1, 1, i);
  for (std::size_t i = 0; i < target.size(); ++i) target[i] = normal(1, 2, i);
  const int behind = session->runs_in_flight() - 1;
  const auto steps = [&](int first, int last) {
    for (int step = first; step <= last; ++step) {
      session->write("x", x.data(), std::ssize(x));
      session->write("target", target.data(), std::ssize(target));
      session->write("weight", weight.data(), std::ssize(weight));
      set_step_uniforms(*session, optimizer, 1e-3, step);
      session->set_random(1, static_cast<std::uint32_t>(step));
      session->run("train_step");
      session->read_scalar_earlier("loss", step > behind ? behind : 0);
      if (step % 500 == 0) session->read(model.parameters[1].name);
    }
  };
  // The least of many looks, since what is under way comes and goes: some 17 KB.
  struct Use {
    std::int64_t live, resident;
  };
  const auto least_over = [&](int first, int last) {
    Use least{live_bytes(), resident_bytes()};
    for (int step = first; step <= last; step += 100) {
      steps(step, step + 99);
      least = {std::min(least.live, live_bytes()), std::min(least.resident, resident_bytes())};
    }
    return least;
  };
  steps(1, 1000);
  const Use before = least_over(1001, 4000);
  steps(4001, 7000);
  const Use after = least_over(7001, 10000);
  std::printf("%+lld bytes live of %lld, %+lld resident of %lld\n", static_cast<long long>(after.live - before.live),
              static_cast<long long>(before.live), static_cast<long long>(after.resident - before.resident),
              static_cast<long long>(before.resident));
  EXPECT_LT(after.live - before.live, 6000);  // less than a byte a step
  EXPECT_LT(after.resident - before.resident, 1 << 20);
  EXPECT_TRUE(std::isfinite(session->read_scalar("loss")));
}

}  // namespace
}  // namespace tabgrad
#endif
