// tabgrad bench kernels, the recurrent ones: forward and backward of the LSTM and GRU sequences, and a whole layer's step around them
// (input projection, its gradients, no optimizer). Whole train steps are timed by `tabgrad bench lstm`.
#include "backend/cpu/kernels.h"
#include "cli/bench/timing.h"

namespace tabgrad::bench {
namespace {

using std::int64_t;
using namespace tabgrad::cpu;

struct Shape {
  int64_t units, steps, features, batch;
};

Gemm product(int64_t m, int64_t n, int64_t k, const float* a, int64_t a_m, int64_t a_k, const float* b, float* c) {
  Gemm g;
  g.m = m;
  g.n = n;
  g.k = k;
  g.a = a;
  g.a_m = a_m;
  g.a_k = a_k;
  g.b = b;
  g.b_k = n;
  g.b_n = 1;
  g.c = c;
  g.c_m = n;
  return g;
}

void sequences(const Shape& z, KernelBench& c) {
  ThreadPool& pool = c.pool;
  const int64_t h = z.units, rows = z.steps * z.batch;
  const Buffer x = buffer(rows * z.features, 1), wx = buffer(z.features * 4 * h, 2, 0.2f), wh = buffer(h * 4 * h, 3, 0.2f);
  const Buffer bias = buffer(4 * h, 4), xw = buffer(rows * 4 * h, 5), dh = buffer(rows * h, 6);
  const Buffer out = buffer(rows * h), gates = buffer(rows * 4 * h), cells = buffer(rows * h), dxw = buffer(rows * 4 * h);
  const Buffer dwh = buffer(h * 4 * h), dwx = buffer(z.features * 4 * h), dbias = buffer(4 * h);
  Lstm lstm;
  lstm.t = z.steps;
  lstm.b = z.batch;
  lstm.h = h;
  lstm.xw = xw.get();
  lstm.wh = wh.get();
  Gru gru;
  gru.t = z.steps;
  gru.b = z.batch;
  gru.h = h;
  gru.xw = xw.get();
  gru.wh = wh.get();
  gru.bh = bias.get();
  const Gemm forward = product(rows, 4 * h, z.features, x.get(), z.features, 1, wx.get(), xw.get());
  const Gemm backward = product(z.features, 4 * h, rows, x.get(), 1, z.features, dxw.get(), dwx.get());
  const int threads = pool.threads();
  const int64_t floats = std::max({lstm_scratch_floats(lstm, threads), gru_scratch_floats(gru, threads),
                                   gemm_scratch_floats(forward, threads), gemm_scratch_floats(backward, threads)});
  const Buffer memory = buffer(floats);
  const Scratch scratch{memory.get(), floats};

  const auto row = [&](const std::string& what, double products, const std::function<void()>& run) {
    const double gflop = products * 2e-9 * static_cast<double>(rows) * static_cast<double>(h) * static_cast<double>(h);
    const std::string name = what + " " + std::to_string(h) + "/" + std::to_string(z.steps) + "/" + std::to_string(z.features) +
                             "/" + std::to_string(z.batch);
    if (!c.report.wanted(name)) return;
    const Timing t = alternate({run}, 25)[0];
    c.report.add({name, rows, h, z.features, threads, t, gflop / (t.median * 1e-3)});
  };
  const auto lstm_f = [&] { lstm_forward(lstm, out.get(), gates.get(), cells.get(), pool, scratch); };
  const auto lstm_b = [&] {
    lstm_backward(lstm, out.get(), gates.get(), cells.get(), dh.get(), dxw.get(), dwh.get(), nullptr, nullptr, pool, scratch);
  };
  row("lstm forward", 4, lstm_f);
  row("lstm backward", 8, lstm_b);
  row("lstm layer", 12, [&] {
    gemm(forward, pool, scratch);
    lstm_f();
    lstm_b();
    gemm(backward, pool, scratch);
  });
  const auto gru_f = [&] { gru_forward(gru, out.get(), gates.get(), cells.get(), pool, scratch); };
  row("gru forward", 3, gru_f);
  gru_f();
  row("gru backward", 6, [&] {
    gru_backward(gru, out.get(), gates.get(), cells.get(), dh.get(), dxw.get(), dwh.get(), dbias.get(), nullptr, pool, scratch);
  });
}

}  // namespace

void recurrent_rows(KernelBench& c) {
  c.report.say("units/steps/features/batch");
  for (const Shape& z : {Shape{32, 24, 1, 32}, Shape{64, 48, 8, 64}, Shape{128, 48, 8, 64}}) sequences(z, c);
}

}  // namespace tabgrad::bench
