// LSTM over a whole sequence, forward and backward. kernels.h has the equations and layouts, recurrent_inl.h the cut.
//
// The input projection (all steps at once) is the caller's matrix product; dwh is one product over all steps at the end.
#include "backend/cpu/kernels.h"
#include "backend/cpu/simd/simd_targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backend/cpu/kernels/lstm.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "backend/cpu/kernels/recurrent_inl.h"

HWY_BEFORE_NAMESPACE();
namespace tabgrad::cpu::HWY_NAMESPACE {
namespace {

using std::int64_t;

// Activates one row's gates (4H) in place and makes c and h. c_before may be null = 0.
void forward_row(int64_t n, float* gates, const float* c_before, float* c, float* h) {
  for_each(n, [&](int64_t j, auto part) HWY_ATTR {
    const V i = sigmoid_v(part.load(gates + j));
    const V f = sigmoid_v(part.load(gates + n + j));
    const V g = tanh_v(part.load(gates + 2 * n + j));
    const V o = sigmoid_v(part.load(gates + 3 * n + j));
    V cell = hn::Mul(i, g);
    if (c_before != nullptr) cell = mul_add(f, part.load(c_before + j), cell);
    part.store(i, gates + j);
    part.store(f, gates + n + j);
    part.store(g, gates + 2 * n + j);
    part.store(o, gates + 3 * n + j);
    part.store(cell, c + j);
    part.store(hn::Mul(o, tanh_v(cell)), h + j);
  });
}

void forward_chunk(const Lstm& s, Chunk chunk, const float* packed_wh, float* h, float* gates, float* c) {
  const int64_t n = s.h, n4 = 4 * s.h;
  for (int64_t t = 0; t < s.t; ++t) {
    const int64_t row = t * s.b + chunk.begin;
    const float* h_before = t > 0 ? h + (row - s.b) * n : (s.h0 == nullptr ? nullptr : s.h0 + row * n);
    const float* c_before = t > 0 ? c + (row - s.b) * n : (s.c0 == nullptr ? nullptr : s.c0 + row * n);
    float* g = gates + row * n4;
    if (h_before == nullptr) {
      std::copy(s.xw + row * n4, s.xw + (row + chunk.rows) * n4, g);
    } else {
      chunk_product(chunk.rows, n4, n, h_before, n, packed_wh, g, n4, s.xw + row * n4, n4);
    }
    for (int64_t r = 0; r < chunk.rows; ++r) {
      forward_row(n, g + r * n4, c_before == nullptr ? nullptr : c_before + r * n, c + (row + r) * n, h + (row + r) * n);
    }
  }
}

// From dh = dL/dh[t] and what later steps sent back (dh_later, dc), makes dgates and the dc for the step before.
void backward_row(int64_t n, const float* gates, const float* c, const float* c_before, const float* dh, const float* dh_later,
                  float* dc, float* dgates) {
  const V one = set(1.0f);
  for_each(n, [&](int64_t j, auto part) HWY_ATTR {
    const V i = part.load(gates + j), f = part.load(gates + n + j);
    const V g = part.load(gates + 2 * n + j), o = part.load(gates + 3 * n + j);
    const V d = hn::Add(part.load(dh + j), part.load(dh_later + j));
    const V tc = tanh_v(part.load(c + j));
    const V d_o = hn::Mul(d, o);
    const V dcell = mul_add(d_o, neg_mul_add(tc, tc, one), part.load(dc + j));
    const V before = c_before == nullptr ? hn::Zero(F()) : part.load(c_before + j);
    part.store(hn::Mul(hn::Mul(hn::Mul(dcell, g), i), hn::Sub(one, i)), dgates + j);
    part.store(hn::Mul(hn::Mul(hn::Mul(dcell, before), f), hn::Sub(one, f)), dgates + n + j);
    part.store(hn::Mul(hn::Mul(dcell, i), neg_mul_add(g, g, one)), dgates + 2 * n + j);
    part.store(hn::Mul(hn::Mul(d_o, tc), hn::Sub(one, o)), dgates + 3 * n + j);
    part.store(hn::Mul(dcell, f), dc + j);
  });
}

struct BackwardData {
  const float *gates, *c, *dh;
  float *dxw, *dh0, *dc0;
};

// work: two (rows,H) arrays of the worker.
void backward_chunk(const Lstm& s, Chunk chunk, const BackwardData& d, const float* packed_wh_t, float* work) {
  const int64_t n = s.h, n4 = 4 * s.h, size = chunk.rows * n;
  float* dh_later = work;
  float* dc = work + size;
  std::fill(work, work + 2 * size, 0.0f);
  for (int64_t t = s.t - 1; t >= 0; --t) {
    const int64_t row = t * s.b + chunk.begin;
    const float* c_before = t > 0 ? d.c + (row - s.b) * n : (s.c0 == nullptr ? nullptr : s.c0 + row * n);
    for (int64_t r = 0; r < chunk.rows; ++r) {
      const int64_t at = row + r;
      backward_row(n, d.gates + at * n4, d.c + at * n, c_before == nullptr ? nullptr : c_before + r * n, d.dh + at * n,
                   dh_later + r * n, dc + r * n, d.dxw + at * n4);
    }
    if (t > 0 || d.dh0 != nullptr) chunk_product(chunk.rows, n, n4, d.dxw + row * n4, n4, packed_wh_t, dh_later, n, nullptr, 0);
  }
  if (d.dh0 != nullptr) std::copy(dh_later, dh_later + size, d.dh0 + chunk.begin * n);
  if (d.dc0 != nullptr) std::copy(dc, dc + size, d.dc0 + chunk.begin * n);
}

int64_t worker_floats(const Lstm& s) { return align16(2 * kChunkRows * s.h); }

}  // namespace

int64_t lstm_sequence_floats(const Lstm& s, int threads) {
  return std::max(packed_floats(s.h, 4 * s.h), align16(packed_floats(4 * s.h, s.h)) + threads * worker_floats(s));
}

void lstm_forward(const Lstm& s, float* h, float* gates, float* c, ThreadPool& pool, float* scratch) {
  pack_b_parallel(s.h, 4 * s.h, s.wh, 4 * s.h, 1, scratch, pool);
  pool.run(chunk_count(s.b), [&](int64_t task, int) { forward_chunk(s, chunk_at(s.b, task), scratch, h, gates, c); });
}

void lstm_backward(const Lstm& s, const float* gates, const float* c, const float* dh, float* dxw, float* dh0, float* dc0,
                   ThreadPool& pool, float* scratch) {
  pack_b_parallel(4 * s.h, s.h, s.wh, 1, 4 * s.h, scratch, pool);
  float* work = scratch + align16(packed_floats(4 * s.h, s.h));
  const BackwardData data{gates, c, dh, dxw, dh0, dc0};
  pool.run(chunk_count(s.b), [&](int64_t task, int worker) {
    backward_chunk(s, chunk_at(s.b, task), data, scratch, work + worker * worker_floats(s));
  });
}

}  // namespace tabgrad::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tabgrad::cpu {
namespace {

// dwh = Σ over steps of h_beforeᵀ·dgates: all but the first step in one product, h0's part added when there is one.
Gemm weight_gradient(const Lstm& s, const float* h, const float* dxw, float* dwh) {
  Gemm g;
  g.m = s.h;
  g.n = 4 * s.h;
  g.k = (s.t - 1) * s.b;
  g.a = h;
  g.a_m = 1;
  g.a_k = s.h;
  g.b = dxw == nullptr ? nullptr : dxw + s.b * 4 * s.h;  // null when only the size is asked for
  g.b_k = 4 * s.h;
  g.b_n = 1;
  g.c = dwh;
  g.c_m = 4 * s.h;
  return g;
}

Gemm first_step(Gemm g, const Lstm& s, const float* dxw) {
  g.k = s.b;
  g.a = s.h0;
  g.b = dxw;
  g.accumulate = true;
  return g;
}

}  // namespace

HWY_EXPORT(lstm_sequence_floats);
HWY_EXPORT(lstm_forward);
HWY_EXPORT(lstm_backward);

std::int64_t lstm_scratch_floats(const Lstm& s, int threads) {
  const Gemm g = weight_gradient(s, nullptr, nullptr, nullptr);
  return std::max({HWY_DYNAMIC_DISPATCH(lstm_sequence_floats)(s, threads), gemm_scratch_floats(g, threads),
                   gemm_scratch_floats(first_step(g, s, nullptr), threads)});
}

void lstm_forward(const Lstm& s, float* h, float* gates, float* c, ThreadPool& pool, Scratch scratch) {
  TG_CHECK(scratch.floats >= HWY_DYNAMIC_DISPATCH(lstm_sequence_floats)(s, pool.threads()));
  HWY_DYNAMIC_DISPATCH(lstm_forward)(s, h, gates, c, pool, scratch.data);
}

void lstm_backward(const Lstm& s, const float* h, const float* gates, const float* c, const float* dh, float* dxw, float* dwh,
                   float* dh0, float* dc0, ThreadPool& pool, Scratch scratch) {
  TG_CHECK(scratch.floats >= lstm_scratch_floats(s, pool.threads()));
  HWY_DYNAMIC_DISPATCH(lstm_backward)(s, gates, c, dh, dxw, dh0, dc0, pool, scratch.data);
  const Gemm g = weight_gradient(s, h, dxw, dwh);
  gemm(g, pool, scratch);
  if (s.h0 != nullptr) gemm(first_step(g, s, dxw), pool, scratch);
}

}  // namespace tabgrad::cpu
#endif
