// A session on a GPU while runs are under way, and the times of its launches. Through whatever adapter the machine has.
#ifndef __EMSCRIPTEN__
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <optional>

#include "base/error.h"
#include "engine/engine.h"
#include "graph/build.h"

namespace tabgrad {
namespace {

// y = 2·x, of which `sum` is a small output: read back after every run.
std::optional<Session> doubling() {
  Graph g;
  const Tensor y = input(g, "x", {4}) * 2.0;
  g.outputs = {{"y", y.value}, {"sum", sum(y, {0}).value}};
  try {
    return make_session({{"run", g}}, {.device = "webgpu"});
  } catch (const Error&) {
    return std::nullopt;  // no adapter here
  }
}

TEST(SessionOnGpu, EndsWhileRunsAreUnderWay) {
  if (!doubling()) GTEST_SKIP() << "no adapter";
  const std::vector<float> x{1, 2, 3, 4};
  for (int i = 0; i < 20; ++i) {
    std::optional<Session> session = doubling();
    session->write("x", x.data(), 4);
    for (int run = 0; run < session->runs_in_flight(); ++run) session->run("run");
    session.reset();  // nothing was waited for
    std::vector<std::vector<char>> taken;  // of all sizes: also where the session's memory was
    for (std::size_t bytes = 16; bytes <= 1024; bytes += 16)
      for (int n = 0; n < 8; ++n) taken.emplace_back(bytes, char{7});
    session = doubling();
    session->write("x", x.data(), 4);
    session->run("run");
    EXPECT_EQ(session->read_scalar("sum"), 20);
    for (const std::vector<char>& values : taken) EXPECT_EQ(std::ranges::count(values, 7), std::ssize(values));
  }
}

TEST(SessionOnGpu, LaunchesAreTimed) {
  std::optional<Session> session = doubling();
  if (!session) GTEST_SKIP() << "no adapter";
  const std::vector<float> x{1, 2, 3, 4};
  session->write("x", x.data(), 4);
  const std::vector<double> seconds = session->run_timed("run");
  if (seconds.empty()) GTEST_SKIP() << "the adapter has no timestamp queries";
  EXPECT_EQ(seconds.size(), session->program().entries.front().launches.size());
  for (const double s : seconds) EXPECT_THAT(s, testing::AllOf(testing::Gt(0), testing::Lt(10)));
  EXPECT_EQ(session->read_scalar("sum"), 20) << "it has run as ever";
  EXPECT_EQ(session->run_timed("run", 100).size(), 1u);
}

}  // namespace
}  // namespace tabgrad
#endif
