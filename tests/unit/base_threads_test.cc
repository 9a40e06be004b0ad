// ThreadPool: every task once, many small loops, more threads than cores, workers named within range.
#include "base/threads.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <vector>

namespace tabgrad {
namespace {

TEST(ThreadPool, RunsEveryTaskOnce) {
  for (const int threads : {1, 2, 3, 7}) {
    ThreadPool pool(threads);
    EXPECT_EQ(pool.threads(), threads);
    for (const std::int64_t tasks : {0, 1, 2, 3, 64, 1000}) {
      std::vector<std::atomic<int>> count(static_cast<std::size_t>(tasks));
      pool.run(tasks, [&](std::int64_t task, int worker) {
        EXPECT_TRUE(worker >= 0 && worker < threads);
        count[static_cast<std::size_t>(task)].fetch_add(1);
      });
      for (const auto& c : count) EXPECT_EQ(c.load(), 1);
    }
  }
}

TEST(ThreadPool, ManySmallLoopsSeeTheirOwnContext) {
  ThreadPool pool(4);
  for (int loop = 0; loop < 5000; ++loop) {
    std::atomic<std::int64_t> sum{0};
    pool.run(3, [&](std::int64_t task, int) { sum.fetch_add(task + loop); });
    ASSERT_EQ(sum.load(), 3 + 3 * loop);
  }
}

TEST(ThreadPool, TakesItsSizeFromTheEnvironment) {
  const char* before = std::getenv("TABGRAD_THREADS");
  const std::string saved = before == nullptr ? "" : before;
  setenv("TABGRAD_THREADS", "3", 1);
  EXPECT_EQ(ThreadPool().threads(), 3);
  setenv("TABGRAD_THREADS", "nonsense", 1);
  EXPECT_GE(ThreadPool().threads(), 1);
  EXPECT_EQ(ThreadPool(2).threads(), 2);
  if (before == nullptr) {
    unsetenv("TABGRAD_THREADS");
  } else {
    setenv("TABGRAD_THREADS", saved.c_str(), 1);
  }
}

}  // namespace
}  // namespace tabgrad
