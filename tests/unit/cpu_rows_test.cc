// Norms, softmax, cross-entropy, embedding, optimizers and the sum of squares against double-precision references.
#include <algorithm>
#include <numeric>

#include "unit/cpu_test_util.h"

namespace tabgrad::cpu::testing {
namespace {

std::size_t at(int64_t i) { return static_cast<std::size_t>(i); }

const int64_t kDims[] = {1, 7, 33, 130};

Doubles norm_reference(const Norm& s, const Doubles& x, const Doubles& gamma, const Doubles& beta) {
  Doubles y(x.size());
  for (int64_t r = 0; r < s.rows; ++r) {
    double mean = 0.0, square = 0.0;
    for (int64_t c = 0; c < s.cols; ++c) mean += s.rms ? 0.0 : x[at(r * s.cols + c)];
    mean /= static_cast<double>(s.cols);
    for (int64_t c = 0; c < s.cols; ++c) square += (x[at(r * s.cols + c)] - mean) * (x[at(r * s.cols + c)] - mean);
    const double rstd = 1.0 / std::sqrt(square / static_cast<double>(s.cols) + static_cast<double>(s.eps));
    for (int64_t c = 0; c < s.cols; ++c) {
      y[at(r * s.cols + c)] = (x[at(r * s.cols + c)] - mean) * rstd * gamma[at(c)] + (s.rms ? 0.0 : beta[at(c)]);
    }
  }
  return y;
}

Outputs run_norm(Norm s, const Floats& x, const Floats& gamma, const Floats& beta, const Floats& dy) {
  s.x = x.data();
  s.gamma = gamma.data();
  s.beta = s.rms ? nullptr : beta.data();
  return run_on_threads([&](ThreadPool& pool) {
    Floats y(x.size()), mean(at(s.rows)), rstd(at(s.rows)), dx(x.size()), dgamma(gamma.size()), dbeta(beta.size());
    TestScratch scratch(norm_scratch_floats(s, pool.threads()));
    norm_forward(s, y.data(), mean.data(), rstd.data(), pool);
    norm_backward(s, mean.data(), rstd.data(), dy.data(), dx.data(), dgamma.data(), s.rms ? nullptr : dbeta.data(), pool,
                  scratch.get());
    return Outputs{y, dx, dgamma, dbeta};
  });
}

TG_CPU_TEST(CpuNorm, ForwardAndBackward) {
  for (const bool rms : {false, true}) {
    for (const int64_t rows : kDims) {
      for (const int64_t cols : kDims) {
        SCOPED_TRACE(str("rms ", rms, " rows ", rows, " cols ", cols));
        const Norm s{.rows = rows, .cols = cols, .rms = rms};
        const Floats x = random_floats(rows * cols, 1, 9, 12), gamma = random_floats(cols, 2, 0.5f, 2),
                     beta = random_floats(cols, 3);
        const Floats dy = random_floats(rows * cols, 4);
        const Outputs out = run_norm(s, x, gamma, beta, dy);
        const Doubles x0 = to_double(x), g0 = to_double(gamma), b0 = to_double(beta);
        expect_close(out[0], norm_reference(s, x0, g0, b0), 2e-5, "y");
        if (cols > 1 || rms) {  // a row of one has no variance: its gradient is 0 divided by √eps
          expect_gradient(x, out[1], [&](const Doubles& v) { return weigh(norm_reference(s, v, g0, b0), dy); }, "dx", 1e-4);
        }
        expect_gradient(gamma, out[2], [&](const Doubles& v) { return weigh(norm_reference(s, x0, v, b0), dy); }, "dgamma");
        if (!rms)
          expect_gradient(beta, out[3], [&](const Doubles& v) { return weigh(norm_reference(s, x0, g0, v), dy); }, "dbeta");
      }
    }
  }
}

TG_CPU_TEST(CpuNorm, RowsWithoutVarianceAndLargeRows) {
  const Norm s{.rows = 2, .cols = 33};
  Floats x(66, 3.0f);
  for (std::size_t i = 33; i < 66; ++i) x[i] = i % 2 == 0 ? 1e15f : -1e15f;
  const Floats gamma(33, 2.0f), beta(33, 0.5f), dy = random_floats(66, 1);
  const Outputs out = run_norm(s, x, gamma, beta, dy);
  for (std::size_t i = 0; i < 33; ++i) EXPECT_EQ(out[0][i], 0.5f);
  for (const Floats& o : out) {
    for (const float v : o) EXPECT_TRUE(std::isfinite(v));
  }
}

Doubles softmax_reference(int64_t rows, int64_t cols, const Doubles& x) {
  Doubles y(x.size());
  for (int64_t r = 0; r < rows; ++r) {
    const double max = *std::max_element(x.begin() + r * cols, x.begin() + (r + 1) * cols);
    double sum = 0.0;
    for (int64_t c = 0; c < cols; ++c) sum += std::exp(x[at(r * cols + c)] - max);
    for (int64_t c = 0; c < cols; ++c) y[at(r * cols + c)] = std::exp(x[at(r * cols + c)] - max) / sum;
  }
  return y;
}

TG_CPU_TEST(CpuSoftmax, ForwardAndBackward) {
  for (const float range : {3.0f, 1e4f, 0.0f}) {
    for (const int64_t rows : kDims) {
      for (const int64_t cols : kDims) {
        SCOPED_TRACE(str("range ", range, " rows ", rows, " cols ", cols));
        const Floats x = random_floats(rows * cols, 1, -range, range), dy = random_floats(rows * cols, 2);
        const Outputs out = run_on_threads([&](ThreadPool& pool) {
          Floats y(x.size()), dx(x.size());
          softmax_forward(rows, cols, x.data(), y.data(), pool);
          softmax_backward(rows, cols, y.data(), dy.data(), dx.data(), pool);
          return Outputs{y, dx};
        });
        expect_close(out[0], softmax_reference(rows, cols, to_double(x)), 1e-6, "y");
        if (range < 10) {
          expect_gradient(x, out[1], [&](const Doubles& v) { return weigh(softmax_reference(rows, cols, v), dy); }, "dx");
        }
      }
    }
  }
}

TG_CPU_TEST(CpuSoftmax, NanStaysInItsRow) {
  Floats x = random_floats(3 * 40, 1);
  x[45] = NAN;
  Floats y(x.size());
  softmax_forward(3, 40, x.data(), y.data(), pool_of(2));
  for (std::size_t i = 0; i < y.size(); ++i) EXPECT_EQ(std::isnan(y[i]), i / 40 == 1);
}

TG_CPU_TEST(CpuCrossEntropy, ForwardAndBackward) {
  for (const float range : {3.0f, 1e4f, 0.0f}) {
    for (const int64_t rows : kDims) {
      for (const int64_t cols : kDims) {
        SCOPED_TRACE(str("range ", range, " rows ", rows, " cols ", cols));
        const Floats x = random_floats(rows * cols, 1, -range, range), dnll = random_floats(rows, 2);
        std::vector<std::int32_t> targets(at(rows));
        for (int64_t r = 0; r < rows; ++r) {
          targets[at(r)] = static_cast<std::int32_t>(philox_u32(3, 0, at(r)) % static_cast<std::uint32_t>(cols));
          if (r % 5 == 3) targets[at(r)] = r % 2 == 0 ? -1 : static_cast<std::int32_t>(cols);
        }
        const Outputs out = run_on_threads([&](ThreadPool& pool) {
          Floats nll(at(rows)), lse(at(rows)), dx(x.size());
          cross_entropy_forward(rows, cols, x.data(), targets.data(), nll.data(), lse.data(), pool);
          cross_entropy_backward(rows, cols, x.data(), targets.data(), lse.data(), dnll.data(), dx.data(), pool);
          return Outputs{nll, lse, dx};
        });
        const Doubles x0 = to_double(x), p = softmax_reference(rows, cols, x0);
        Doubles nll(at(rows)), lse(at(rows)), dx(x.size());
        for (int64_t r = 0; r < rows; ++r) {
          const double max = *std::max_element(x0.begin() + r * cols, x0.begin() + (r + 1) * cols);
          double sum = 0.0;
          for (int64_t c = 0; c < cols; ++c) sum += std::exp(x0[at(r * cols + c)] - max);
          lse[at(r)] = max + std::log(sum);
          const std::int32_t target = targets[at(r)];
          const bool valid = target >= 0 && target < cols;
          nll[at(r)] = valid ? lse[at(r)] - x0[at(r * cols + target)] : 0.0;
          for (int64_t c = 0; c < cols; ++c) {
            dx[at(r * cols + c)] =
                valid ? (p[at(r * cols + c)] - (c == target ? 1.0 : 0.0)) * static_cast<double>(dnll[at(r)]) : 0.0;
          }
        }
        expect_close(out[0], nll, 1e-6, "nll");
        expect_close(out[1], lse, 1e-6, "lse");
        expect_close(out[2], dx, range > 10 ? 1e-3 : 3e-6, "dx");  // float holds an lse of 1e4 to 5e-4
      }
    }
  }
}

TG_CPU_TEST(CpuEmbedding, GatherAndItsGradient) {
  for (const int64_t cols : kDims) {
    for (const int64_t vocabulary : {1, 7, 300}) {
      for (const int64_t n : {1, 33, 1000}) {
        const Floats table = random_floats(vocabulary * cols, 1), drows = random_floats(n * cols, 2);
        std::vector<std::int32_t> ids(at(n));
        for (std::size_t i = 0; i < ids.size(); ++i) {
          ids[i] = static_cast<std::int32_t>(philox_u32(3, 0, i) % static_cast<std::uint32_t>(vocabulary));
          if (i % 11 == 5) ids[i] = i % 2 == 0 ? -3 : static_cast<std::int32_t>(vocabulary);
        }
        std::vector<std::int32_t> order(at(n), -1), offsets(at(vocabulary + 1));
        sort_ids(n, vocabulary, ids.data(), order.data(), offsets.data());
        const Outputs out = run_on_threads([&](ThreadPool& pool) {
          Floats rows(at(n * cols), 5.0f), dtable(table.size(), 5.0f);
          gather_rows(n, cols, vocabulary, table.data(), ids.data(), rows.data(), pool);
          segment_sum(vocabulary, cols, drows.data(), order.data(), offsets.data(), dtable.data(), pool);
          return Outputs{rows, dtable};
        });
        Doubles rows(at(n * cols), 0.0), dtable(table.size(), 0.0);
        for (int64_t i = 0; i < n; ++i) {
          const int64_t id = ids[at(i)];
          if (id < 0 || id >= vocabulary) continue;
          for (int64_t c = 0; c < cols; ++c) {
            rows[at(i * cols + c)] = static_cast<double>(table[at(id * cols + c)]);
            dtable[at(id * cols + c)] += static_cast<double>(drows[at(i * cols + c)]);
          }
        }
        expect_close(out[0], rows, 0.0, "rows");
        expect_close(out[1], dtable, 1e-6, "dtable");
      }
    }
  }
}

TG_CPU_TEST(CpuOptimizer, EveryKindOverManySegments) {
  const int64_t sizes[] = {1, 7, 33, 130, 40000, 16384, 3};
  for (const OptimizerKind kind : {OptimizerKind::kSgd, OptimizerKind::kAdam, OptimizerKind::kAdamW}) {
    for (const bool variant : {false, true}) {  // nesterov, clip, weight decay
      Optimizer s;
      s.kind = kind;
      s.lr = 0.01f;
      s.momentum = 0.9f;
      s.nesterov = variant;
      s.bias1 = 0.1f;
      s.bias2 = 0.001f;
      const float clip = 0.3f;
      s.clip_scale = variant ? &clip : nullptr;
      const int64_t total = std::accumulate(std::begin(sizes), std::end(sizes), int64_t{0});
      const Floats p = random_floats(total, 1), g = random_floats(total, 2), m = random_floats(total, 3);
      const Floats v = random_floats(total, 4, 0, 1);
      const float decay = variant ? 0.1f : 0.0f;
      const Outputs out = run_on_threads([&](ThreadPool& pool) {
        Floats p1 = p, m1 = m, v1 = v;
        std::vector<Segment> segments;
        int64_t first = 0;
        for (const int64_t n : sizes) {
          segments.push_back({p1.data() + first, g.data() + first, m1.data() + first, v1.data() + first, n, decay});
          first += n;
        }
        Optimizer mine = s;
        mine.segments = segments.data();
        mine.count = static_cast<int64_t>(segments.size());
        optimizer_step(mine, pool);
        return Outputs{p1, m1, v1};
      });
      Doubles want_p = to_double(p), want_m = to_double(m), want_v = to_double(v);
      for (std::size_t i = 0; i < want_p.size(); ++i) {
        double grad = static_cast<double>(g[i]) * (variant ? static_cast<double>(clip) : 1.0);
        const double lr = static_cast<double>(s.lr), wd = static_cast<double>(decay);
        if (kind != OptimizerKind::kAdamW) grad += wd * want_p[i];
        if (kind == OptimizerKind::kSgd) {
          want_v[i] = static_cast<double>(s.momentum) * want_v[i] + grad;
          want_p[i] -= lr * (s.nesterov ? grad + static_cast<double>(s.momentum) * want_v[i] : want_v[i]);
          continue;
        }
        if (kind == OptimizerKind::kAdamW) want_p[i] -= lr * wd * want_p[i];
        const double b1 = static_cast<double>(s.beta1), b2 = static_cast<double>(s.beta2);
        want_m[i] = b1 * want_m[i] + (1 - b1) * grad;
        want_v[i] = b2 * want_v[i] + (1 - b2) * grad * grad;
        want_p[i] -= lr / static_cast<double>(s.bias1) * want_m[i] /
                     (std::sqrt(want_v[i]) / std::sqrt(static_cast<double>(s.bias2)) + static_cast<double>(s.eps));
      }
      expect_close(out[0], want_p, 1e-6, "p");
      expect_close(out[1], want_m, 1e-6, "m");
      expect_close(out[2], want_v, 1e-6, "v");
    }
  }
}

TG_CPU_TEST(CpuSumSquares, ManyArrays) {
  const Floats a = random_floats(50001, 1), b = random_floats(3, 2), c = random_floats(16384, 3, -1e3f, 1e3f);
  const ConstSpan arrays[] = {{a.data(), 50001}, {b.data(), 3}, {nullptr, 0}, {c.data(), 16384}};
  double want = 0.0;
  for (const Floats& x : {a, b, c}) {
    for (const float v : x) want += static_cast<double>(v) * static_cast<double>(v);
  }
  const Outputs out = run_on_threads([&](ThreadPool& pool) {
    Floats sum(1);
    TestScratch scratch(sum_squares_scratch_floats(arrays, 4));
    sum_squares(arrays, 4, sum.data(), pool, scratch.get());
    return Outputs{sum};
  });
  EXPECT_NEAR(static_cast<double>(out[0][0]), want, 1e-7 * want);
}

}  // namespace
}  // namespace tabgrad::cpu::testing
