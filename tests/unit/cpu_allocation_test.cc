// No kernel call allocates: every family once, on two threads, with operator new counted.
#include "unit/allocation_counter.h"
#include "unit/cpu_test_util.h"

namespace tabgrad::cpu::testing {
namespace {

TEST(CpuAllocation, NoKernelAllocates) {
  ThreadPool& pool = pool_of(2);
  constexpr int64_t kN = 64;
  const Floats x = random_floats(40000, 1);
  Floats a(40000), b(40000), c(40000), d(40000), e(40000), f(40000);
  TestScratch scratch(1 << 20);
  const std::vector<std::int32_t> ids(64, 3);
  std::vector<std::int32_t> order(64), offsets(65);
  Gemm g{.m = kN, .n = kN, .k = kN, .batch = 2, .a = x.data(), .a_m = kN, .a_k = 1, .b = x.data(), .b_k = 1, .b_n = kN};
  g.c = a.data();
  g.c_m = kN;
  g.c_batch = kN * kN;
  Gemm single = g;
  single.m = single.n = single.k = 190;
  single.batch = 1;
  single.a_m = single.b_n = single.c_m = 190;
  const Lstm lstm{.t = 4, .b = 20, .h = 32, .xw = x.data(), .wh = x.data(), .h0 = x.data(), .c0 = x.data()};
  const Gru gru{.t = 4, .b = 20, .h = 32, .xw = x.data(), .wh = x.data(), .bh = x.data(), .h0 = x.data()};
  const Attention attention{.b = 2, .t = 33, .heads = 4, .kv_heads = 2, .d = 16, .qkv = x.data()};
  const Norm norm{.rows = 300, .cols = 100, .x = x.data(), .gamma = x.data(), .beta = x.data()};
  const Segment segment{a.data(), x.data(), b.data(), c.data(), 40000, 0.1f};
  const Optimizer optimizer{.segments = &segment, .count = 1};
  const ConstSpan span{x.data(), 40000};

  const int64_t before = tabgrad::testing::allocation_count();
  gemm(g, pool, scratch.get());
  gemm(single, pool, scratch.get());
  lstm_forward(lstm, a.data(), b.data(), c.data(), pool, scratch.get());
  lstm_backward(lstm, a.data(), b.data(), c.data(), x.data(), d.data(), e.data(), f.data(), nullptr, pool, scratch.get());
  for (const bool after : {true, false}) {
    Gru mine = gru;
    mine.reset_after = after;
    gru_forward(mine, a.data(), b.data(), c.data(), pool, scratch.get());
    gru_backward(mine, a.data(), b.data(), c.data(), x.data(), d.data(), e.data(), f.data(), nullptr, pool, scratch.get());
  }
  attention_forward(attention, a.data(), b.data(), pool, scratch.get());
  attention_backward(attention, a.data(), b.data(), x.data(), c.data(), pool, scratch.get());
  norm_forward(norm, a.data(), b.data(), c.data(), pool);
  norm_backward(norm, b.data(), c.data(), x.data(), d.data(), e.data(), f.data(), pool, scratch.get());
  softmax_forward(300, 100, x.data(), a.data(), pool);
  softmax_backward(300, 100, a.data(), x.data(), b.data(), pool);
  cross_entropy_forward(64, 100, x.data(), ids.data(), a.data(), b.data(), pool);
  cross_entropy_backward(64, 100, x.data(), ids.data(), b.data(), x.data(), c.data(), pool);
  gather_rows(64, 100, 64, x.data(), ids.data(), a.data(), pool);
  sort_ids(64, 64, ids.data(), order.data(), offsets.data());
  segment_sum(64, 100, x.data(), order.data(), offsets.data(), b.data(), pool);
  optimizer_step(optimizer, pool);
  sum_squares(&span, 1, a.data(), pool, scratch.get());
  block_random(1, 2, 3, 4, a.data(), 1000);
  EXPECT_EQ(tabgrad::testing::allocation_count(), before);
}

}  // namespace
}  // namespace tabgrad::cpu::testing
