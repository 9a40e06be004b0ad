// gemm against a double-precision product: every form, size and edge, batches, accumulation, the epilogue's cover.
#include <algorithm>

#include "unit/cpu_test_util.h"

namespace tabgrad::cpu::testing {
namespace {

enum class Form { kPlain, kTransposedB, kTransposedA, kBoth };

struct Case {
  int64_t m, n, k, batch = 1;
  Form form = Form::kPlain;
  bool accumulate = false;
  int64_t pad = 0;  // extra columns in every row of A, B and C
  bool shared_b = false;
};

void check(const Case& c) {
  SCOPED_TRACE(str("m ", c.m, " n ", c.n, " k ", c.k, " batch ", c.batch, " form ", static_cast<int>(c.form), " pad ", c.pad));
  const bool ta = c.form == Form::kTransposedA || c.form == Form::kBoth;
  const bool tb = c.form == Form::kTransposedB || c.form == Form::kBoth;
  Gemm g;
  g.m = c.m;
  g.n = c.n;
  g.k = c.k;
  g.batch = c.batch;
  const int64_t a_row = (ta ? c.m : c.k) + c.pad, b_row = (tb ? c.k : c.n) + c.pad, c_row = c.n + c.pad;
  g.a_m = ta ? 1 : a_row;
  g.a_k = ta ? a_row : 1;
  g.b_k = tb ? 1 : b_row;
  g.b_n = tb ? b_row : 1;
  g.c_m = c_row;
  g.a_batch = a_row * (ta ? c.k : c.m);
  g.b_batch = c.shared_b ? 0 : b_row * (tb ? c.n : c.k);
  g.c_batch = c_row * c.m;
  g.accumulate = c.accumulate;
  const Floats a = random_floats(g.a_batch * c.batch, 1), b = random_floats(b_row * (tb ? c.n : c.k) * c.batch, 2);
  const Floats before = random_floats(g.c_batch * c.batch, 3);
  g.a = a.data();
  g.b = b.data();

  const Outputs out = run_on_threads([&](ThreadPool& pool) {
    Floats result = before;
    Gemm mine = g;
    mine.c = result.data();
    TestScratch scratch(gemm_scratch_floats(mine, pool.threads()));
    gemm(mine, pool, scratch.get());
    return Outputs{result};
  });
  Doubles want = to_double(before);
  for (int64_t i = 0; i < c.batch; ++i) {
    for (int64_t row = 0; row < c.m; ++row) {
      for (int64_t col = 0; col < c.n; ++col) {
        double sum = 0.0;
        for (int64_t k = 0; k < c.k; ++k) {
          sum += static_cast<double>(a[static_cast<std::size_t>(i * g.a_batch + row * g.a_m + k * g.a_k)]) *
                 static_cast<double>(b[static_cast<std::size_t>(i * g.b_batch + k * g.b_k + col * g.b_n)]);
        }
        double& at = want[static_cast<std::size_t>(i * g.c_batch + row * c_row + col)];
        at = c.accumulate ? at + sum : sum;
      }
    }
  }
  expect_close(out[0], want, 1e-6 * std::sqrt(static_cast<double>(c.k) + 1.0), "c");
}

TG_CPU_TEST(CpuGemm, EverySizeAndForm) {
  const int64_t sizes[] = {1, 7, 33, 130};
  for (const int64_t m : sizes) {
    for (const int64_t n : sizes) {
      for (const int64_t k : sizes) {
        for (const Form form : {Form::kPlain, Form::kTransposedB, Form::kTransposedA, Form::kBoth}) {
          check({.m = m, .n = n, .k = k, .form = form, .accumulate = (m + n + k) % 2 == 0, .pad = k % 3});
        }
      }
    }
  }
}

TG_CPU_TEST(CpuGemm, SharpEdges) {
  for (const Form form : {Form::kPlain, Form::kTransposedB, Form::kTransposedA}) {
    check({.m = 48, .n = 144, .k = 512, .form = form});
    check({.m = 96, .n = 288, .k = 1300, .form = form, .accumulate = true});  // K in blocks
    check({.m = 2, .n = 700, .k = 65, .form = form});
    check({.m = 700, .n = 2, .k = 65, .form = form});
    check({.m = 1, .n = 257, .k = 2000, .form = form});
    check({.m = 257, .n = 1, .k = 2000, .form = form});
    check({.m = 300, .n = 300, .k = 3, .form = form});
    check({.m = 64, .n = 128, .k = 1024, .form = form});  // rows of A on the same cache sets
  }
  check({.m = 5, .n = 9, .k = 0});
  check({.m = 5, .n = 9, .k = 0, .accumulate = true});
}

TG_CPU_TEST(CpuGemm, Batches) {
  for (const Form form : {Form::kPlain, Form::kTransposedB, Form::kTransposedA}) {
    check({.m = 33, .n = 17, .k = 9, .batch = 7, .form = form});
    check({.m = 64, .n = 64, .k = 32, .batch = 5, .form = form, .accumulate = true, .pad = 3});
    check({.m = 200, .n = 250, .k = 220, .batch = 2, .form = form});
    check({.m = 200, .n = 250, .k = 220, .batch = 2, .form = form, .shared_b = true});
    check({.m = 20, .n = 33, .k = 22, .batch = 4, .form = form, .shared_b = true});
  }
}

TG_CPU_TEST(CpuGemm, EpilogueSeesEveryElementOnceAndDone) {
  for (const int64_t batch : {1, 3}) {
    Gemm g;
    g.m = 150;
    g.n = 133;
    g.k = 600;
    g.batch = batch;
    const Floats a = random_floats(g.m * g.k * batch, 1), b = random_floats(g.k * g.n, 2);
    Floats c(static_cast<std::size_t>(g.m * g.n * batch)), copy(c.size(), 0.0f);
    g.a = a.data();
    g.a_m = g.k;
    g.a_k = 1;
    g.a_batch = g.m * g.k;
    g.b = b.data();
    g.b_k = g.n;
    g.b_n = 1;
    g.c = c.data();
    g.c_m = g.n;
    g.c_batch = g.m * g.n;
    struct Context {
      const Gemm& g;
      Floats& copy;
    } context{g, copy};
    g.context = &context;
    g.epilogue = [](void* raw, int64_t i, int64_t m0, int64_t m1, int64_t n0, int64_t n1, int worker) {
      EXPECT_TRUE(worker >= 0 && worker < 2);
      const auto& mine = *static_cast<Context*>(raw);
      for (int64_t row = m0; row < m1; ++row) {
        for (int64_t col = n0; col < n1; ++col) {
          const auto at = static_cast<std::size_t>(i * mine.g.c_batch + row * mine.g.c_m + col);
          mine.copy[at] += mine.g.c[at];
        }
      }
    };
    TestScratch scratch(gemm_scratch_floats(g, 2));
    gemm(g, pool_of(2), scratch.get());
    EXPECT_TRUE(same_bits(c, copy));
  }
}

}  // namespace
}  // namespace tabgrad::cpu::testing
