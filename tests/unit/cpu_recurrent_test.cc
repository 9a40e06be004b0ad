// LSTM and GRU sequences: forward against doubles, gradients against finite differences of the double forward.
#include <algorithm>

#include "unit/cpu_test_util.h"

namespace tabgrad::cpu::testing {
namespace {

double sigmoid(double x) { return 1.0 / (1.0 + std::exp(-x)); }

struct Sizes {
  int64_t t, b, h;
  bool initial;
};
const Sizes kSizes[] = {{1, 1, 1, false},  {1, 3, 7, true},   {5, 7, 1, true},    {4, 1, 33, false}, {3, 9, 7, true},
                        {6, 33, 5, false}, {3, 17, 33, true}, {2, 130, 16, true}, {4, 5, 130, true}};

std::size_t at(int64_t i) { return static_cast<std::size_t>(i); }

// h, c (T,B,H) from xw (T,B,4H), wh (H,4H), h0, c0 (B,H).
void lstm_reference(const Sizes& z, const Doubles& xw, const Doubles& wh, const Doubles& h0, const Doubles& c0, Doubles& h,
                    Doubles& c, Doubles& gates) {
  h.assign(at(z.t * z.b * z.h), 0.0);
  c = h;
  gates.assign(at(z.t * z.b * 4 * z.h), 0.0);
  for (int64_t row = 0; row < z.t * z.b; ++row) {
    const auto before = [&](const Doubles& all, const Doubles& first, int64_t j) {
      return row >= z.b ? all[at((row - z.b) * z.h + j)] : first[at(row * z.h + j)];
    };
    Doubles a(at(4 * z.h));
    for (int64_t n = 0; n < 4 * z.h; ++n) {
      a[at(n)] = xw[at(row * 4 * z.h + n)];
      for (int64_t j = 0; j < z.h; ++j) a[at(n)] += before(h, h0, j) * wh[at(j * 4 * z.h + n)];
      a[at(n)] = n / z.h == 2 ? std::tanh(a[at(n)]) : sigmoid(a[at(n)]);
      gates[at(row * 4 * z.h + n)] = a[at(n)];
    }
    for (int64_t j = 0; j < z.h; ++j) {
      const double cell = a[at(z.h + j)] * before(c, c0, j) + a[at(j)] * a[at(2 * z.h + j)];
      c[at(row * z.h + j)] = cell;
      h[at(row * z.h + j)] = a[at(3 * z.h + j)] * std::tanh(cell);
    }
  }
}

TG_CPU_TEST(CpuLstm, ForwardAndBackward) {
  for (const Sizes& z : kSizes) {
    SCOPED_TRACE(str("t ", z.t, " b ", z.b, " h ", z.h));
    const int64_t n = z.t * z.b * z.h;
    const Floats xw = random_floats(4 * n, 1, -3, 3), wh = random_floats(4 * z.h * z.h, 2, -0.5f, 0.5f);
    const float size = z.initial ? 1.0f : 0.0f;
    const Floats h0 = random_floats(z.b * z.h, 3, -size, size), c0 = random_floats(z.b * z.h, 4, -size, size);
    const Floats dh = random_floats(n, 5);
    Lstm s;
    s.t = z.t;
    s.b = z.b;
    s.h = z.h;
    s.xw = xw.data();
    s.wh = wh.data();
    s.h0 = z.initial ? h0.data() : nullptr;
    s.c0 = z.initial ? c0.data() : nullptr;
    const Outputs out = run_on_threads([&](ThreadPool& pool) {
      Floats h(at(n)), gates(at(4 * n)), c(at(n)), dxw(at(4 * n)), dwh(wh.size()), dh0(h0.size()), dc0(h0.size());
      TestScratch scratch(lstm_scratch_floats(s, pool.threads()));
      lstm_forward(s, h.data(), gates.data(), c.data(), pool, scratch.get());
      lstm_backward(s, h.data(), gates.data(), c.data(), dh.data(), dxw.data(), dwh.data(), dh0.data(), dc0.data(), pool,
                    scratch.get());
      return Outputs{h, gates, c, dxw, dwh, dh0, dc0};
    });
    Doubles h, c, gates;
    const Doubles dxw = to_double(xw), dwh = to_double(wh), dh0 = to_double(h0), dc0 = to_double(c0);
    lstm_reference(z, dxw, dwh, dh0, dc0, h, c, gates);
    expect_close(out[0], h, 3e-6, "h");
    expect_close(out[1], gates, 3e-6, "gates");
    expect_close(out[2], c, 3e-6, "c");
    const auto loss = [&](const Doubles& x, const Doubles& w, const Doubles& first_h, const Doubles& first_c) {
      Doubles y, cells, g;
      lstm_reference(z, x, w, first_h, first_c, y, cells, g);
      return weigh(y, dh);
    };
    expect_gradient(xw, out[3], [&](const Doubles& x) { return loss(x, dwh, dh0, dc0); }, "dxw");
    expect_gradient(wh, out[4], [&](const Doubles& w) { return loss(dxw, w, dh0, dc0); }, "dwh");
    expect_gradient(h0, out[5], [&](const Doubles& x) { return loss(dxw, dwh, x, dc0); }, "dh0");
    expect_gradient(c0, out[6], [&](const Doubles& x) { return loss(dxw, dwh, dh0, x); }, "dc0");
  }
}

TG_CPU_TEST(CpuLstm, LargeInputsSaturateWithoutNan) {
  Lstm s;
  s.t = 3;
  s.b = 9;
  s.h = 33;
  const Floats xw = random_floats(3 * 9 * 4 * 33, 1, -1e4f, 1e4f), wh = random_floats(33 * 4 * 33, 2);
  const Floats dh(at(3 * 9 * 33), 1.0f);
  s.xw = xw.data();
  s.wh = wh.data();
  Floats h(at(3 * 9 * 33)), gates(at(3 * 9 * 132)), c(h.size()), dxw(gates.size()), dwh(wh.size());
  TestScratch scratch(lstm_scratch_floats(s, 1));
  lstm_forward(s, h.data(), gates.data(), c.data(), pool_of(1), scratch.get());
  lstm_backward(s, h.data(), gates.data(), c.data(), dh.data(), dxw.data(), dwh.data(), nullptr, nullptr, pool_of(1),
                scratch.get());
  for (const Floats& x : {h, gates, c, dxw, dwh}) {
    for (const float v : x) ASSERT_TRUE(std::isfinite(v));
  }
}

// h (T,B,H); xw (T,B,3H), wh (H,3H), bh (3H), h0 (B,H).
Doubles gru_reference(const Sizes& z, bool after, const Doubles& xw, const Doubles& wh, const Doubles& bh, const Doubles& h0) {
  Doubles h(at(z.t * z.b * z.h), 0.0);
  const int64_t n3 = 3 * z.h;
  for (int64_t row = 0; row < z.t * z.b; ++row) {
    const auto before = [&](int64_t j) { return row >= z.b ? h[at((row - z.b) * z.h + j)] : h0[at(row * z.h + j)]; };
    Doubles gate(at(2 * z.h)), next(at(z.h));
    for (int64_t n = 0; n < 2 * z.h; ++n) {
      double a = xw[at(row * n3 + n)] + bh[at(n)];
      for (int64_t j = 0; j < z.h; ++j) a += before(j) * wh[at(j * n3 + n)];
      gate[at(n)] = sigmoid(a);
    }
    for (int64_t n = 0; n < z.h; ++n) {
      double recurrent = 0.0;
      for (int64_t j = 0; j < z.h; ++j) recurrent += (after ? 1.0 : gate[at(j)]) * before(j) * wh[at(j * n3 + 2 * z.h + n)];
      recurrent += bh[at(2 * z.h + n)];
      if (after) recurrent *= gate[at(n)];
      next[at(n)] = std::tanh(xw[at(row * n3 + 2 * z.h + n)] + recurrent);
    }
    for (int64_t n = 0; n < z.h; ++n) {
      const double update = gate[at(z.h + n)];
      h[at(row * z.h + n)] = (1.0 - update) * next[at(n)] + update * before(n);
    }
  }
  return h;
}

TG_CPU_TEST(CpuGru, ForwardAndBackwardInBothVariants) {
  for (const bool after : {true, false}) {
    for (const Sizes& z : kSizes) {
      SCOPED_TRACE(str("reset_after ", after, " t ", z.t, " b ", z.b, " h ", z.h));
      const int64_t n = z.t * z.b * z.h;
      const Floats xw = random_floats(3 * n, 1, -3, 3), wh = random_floats(3 * z.h * z.h, 2, -0.5f, 0.5f);
      const Floats bh = random_floats(3 * z.h, 6);
      const float size = z.initial ? 1.0f : 0.0f;
      const Floats h0 = random_floats(z.b * z.h, 3, -size, size), dh = random_floats(n, 5);
      Gru s;
      s.t = z.t;
      s.b = z.b;
      s.h = z.h;
      s.reset_after = after;
      s.xw = xw.data();
      s.wh = wh.data();
      s.bh = bh.data();
      s.h0 = z.initial ? h0.data() : nullptr;
      const Outputs out = run_on_threads([&](ThreadPool& pool) {
        Floats h(at(n)), gates(at(3 * n)), hn(at(n)), dxw(at(3 * n)), dwh(wh.size()), dbh(bh.size()), dh0(h0.size());
        TestScratch scratch(gru_scratch_floats(s, pool.threads()));
        gru_forward(s, h.data(), gates.data(), hn.data(), pool, scratch.get());
        gru_backward(s, h.data(), gates.data(), hn.data(), dh.data(), dxw.data(), dwh.data(), dbh.data(), dh0.data(), pool,
                     scratch.get());
        return Outputs{h, dxw, dwh, dbh, dh0};
      });
      const Doubles x0 = to_double(xw), w0 = to_double(wh), b0 = to_double(bh), start = to_double(h0);
      expect_close(out[0], gru_reference(z, after, x0, w0, b0, start), 3e-6, "h");
      const auto loss = [&](const Doubles& x, const Doubles& w, const Doubles& b, const Doubles& first) {
        return weigh(gru_reference(z, after, x, w, b, first), dh);
      };
      expect_gradient(xw, out[1], [&](const Doubles& x) { return loss(x, w0, b0, start); }, "dxw");
      expect_gradient(wh, out[2], [&](const Doubles& w) { return loss(x0, w, b0, start); }, "dwh");
      expect_gradient(bh, out[3], [&](const Doubles& b) { return loss(x0, w0, b, start); }, "dbh");
      expect_gradient(h0, out[4], [&](const Doubles& first) { return loss(x0, w0, b0, first); }, "dh0");
    }
  }
}

}  // namespace
}  // namespace tabgrad::cpu::testing
