// GRU over a whole sequence, forward and backward, in both reset variants. kernels.h has the equations and layouts,
// recurrent_inl.h the cut. The input projection is the caller's; dwh is made by products over all steps at the end.
//
// The weight is packed as two matrices, r and z (H,2H) and n (H,H): the reset-before form needs r before n's product.
#include "backend/cpu/kernels.h"
#include "backend/cpu/simd/simd_targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backend/cpu/kernels/gru.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "backend/cpu/kernels/recurrent_inl.h"

HWY_BEFORE_NAMESPACE();
namespace tabgrad::cpu::HWY_NAMESPACE {
namespace {

using std::int64_t;

struct Weights {  // packed, forward (H,2H), (H,H) or transposed (2H,H), (H,H)
  const float *rz = nullptr, *n = nullptr;
};

void copy_rows(int64_t rows, int64_t n, const float* src, float* out, int64_t out_stride) {
  for (int64_t r = 0; r < rows; ++r) std::copy(src, src + n, out + r * out_stride);
}

// gates (3H) holds h·wh + bh for r and z, and for n (reset_after) h·wh_n + bh_n; becomes the activations.
void gates_rz(int64_t n, const float* xw, float* gates) {
  for_each(2 * n, [&](int64_t j, auto part)
                      HWY_ATTR { part.store(sigmoid_v(hn::Add(part.load(xw + j), part.load(gates + j))), gates + j); });
}

// h = (1−z)⊙n + z⊙h_before with n = tanh(xw_n + recurrent).
HWY_INLINE void finish(int64_t n, const float* xw, float* gates, const float* h_before, float* h, const float* reset,
                       float* hn_out) {
  const V one = set(1.0f);
  for_each(n, [&](int64_t j, auto part) HWY_ATTR {
    V recurrent = part.load(gates + 2 * n + j);
    if (reset != nullptr) {
      part.store(recurrent, hn_out + j);
      recurrent = hn::Mul(recurrent, part.load(reset + j));
    }
    const V next = tanh_v(hn::Add(part.load(xw + 2 * n + j), recurrent));
    const V z = part.load(gates + n + j);
    V out = hn::Mul(hn::Sub(one, z), next);
    if (h_before != nullptr) out = mul_add(z, part.load(h_before + j), out);
    part.store(next, gates + 2 * n + j);
    part.store(out, h + j);
  });
}

void multiply_rows(int64_t n, const float* a, const float* b, float* out) {
  for_each(n, [&](int64_t j, auto part) HWY_ATTR { part.store(hn::Mul(part.load(a + j), part.load(b + j)), out + j); });
}

void forward_chunk(const Gru& s, Chunk chunk, Weights w, float* h, float* gates, float* hn_all) {
  const int64_t n = s.h, n3 = 3 * s.h, rows = chunk.rows;
  for (int64_t t = 0; t < s.t; ++t) {
    const int64_t row = t * s.b + chunk.begin;
    const float* before = t > 0 ? h + (row - s.b) * n : (s.h0 == nullptr ? nullptr : s.h0 + row * n);
    const float* xw = s.xw + row * n3;
    float* g = gates + row * n3;
    float* hn_row = hn_all + row * n;
    const auto before_row = [&](int64_t r) { return before == nullptr ? nullptr : before + r * n; };
    if (before == nullptr) {
      copy_rows(rows, n3, s.bh, g, n3);
    } else {
      chunk_product(rows, 2 * n, n, before, n, w.rz, g, n3, s.bh, 0);
      if (s.reset_after) chunk_product(rows, n, n, before, n, w.n, g + 2 * n, n3, s.bh + 2 * n, 0);
    }
    for (int64_t r = 0; r < rows; ++r) gates_rz(n, xw + r * n3, g + r * n3);
    if (!s.reset_after) {
      if (before == nullptr) {
        std::fill(hn_row, hn_row + rows * n, 0.0f);
      } else {
        for (int64_t r = 0; r < rows; ++r) multiply_rows(n, g + r * n3, before + r * n, hn_row + r * n);
        chunk_product(rows, n, n, hn_row, n, w.n, g + 2 * n, n3, s.bh + 2 * n, 0);
      }
    }
    for (int64_t r = 0; r < rows; ++r) {
      finish(n, xw + r * n3, g + r * n3, before_row(r), h + (row + r) * n, s.reset_after ? g + r * n3 : nullptr,
             hn_row + r * n);
    }
  }
}

// dz and dn's pre-activations, and the part of dh that passes by: dh_later becomes dh·z.
void backward_zn(int64_t n, const float* gates, const float* h_before, const float* dh, float* dh_later, float* da) {
  const V one = set(1.0f);
  for_each(n, [&](int64_t j, auto part) HWY_ATTR {
    const V z = part.load(gates + n + j), next = part.load(gates + 2 * n + j);
    const V d = hn::Add(part.load(dh + j), part.load(dh_later + j));
    const V before = h_before == nullptr ? hn::Zero(F()) : part.load(h_before + j);
    part.store(hn::Mul(hn::Mul(d, hn::Sub(before, next)), hn::Mul(z, hn::Sub(one, z))), da + n + j);
    part.store(hn::Mul(hn::Mul(d, hn::Sub(one, z)), neg_mul_add(next, next, one)), da + 2 * n + j);
    part.store(hn::Mul(d, z), dh_later + j);
  });
}

// reset_after: dr from da_n·hn; the gradient of hn is da_n·r.
void backward_r_after(int64_t n, const float* gates, const float* hn_row, float* da, float* dhn) {
  const V one = set(1.0f);
  for_each(n, [&](int64_t j, auto part) HWY_ATTR {
    const V r = part.load(gates + j), dn = part.load(da + 2 * n + j);
    part.store(hn::Mul(hn::Mul(dn, part.load(hn_row + j)), hn::Mul(r, hn::Sub(one, r))), da + j);
    part.store(hn::Mul(dn, r), dhn + j);
  });
}

// reset before: dm is the gradient of r⊙h_before; dh_later += dm·r.
void backward_r_before(int64_t n, const float* gates, const float* h_before, const float* dm, float* da, float* dh_later) {
  const V one = set(1.0f);
  for_each(n, [&](int64_t j, auto part) HWY_ATTR {
    const V r = part.load(gates + j), d = part.load(dm + j);
    const V before = h_before == nullptr ? hn::Zero(F()) : part.load(h_before + j);
    part.store(hn::Mul(hn::Mul(d, before), hn::Mul(r, hn::Sub(one, r))), da + j);
    part.store(mul_add(d, r, part.load(dh_later + j)), dh_later + j);
  });
}

void add_row(int64_t n, const float* x, float* sum) {
  for_each(n, [&](int64_t j, auto part) HWY_ATTR { part.store(hn::Add(part.load(sum + j), part.load(x + j)), sum + j); });
}

struct BackwardData {
  const float *h, *gates, *hn, *dh;
  float *dxw, *dhn, *dh0;  // dhn (T,B,H): reset_after only
};

// work: two (rows,H) arrays of the worker. dbh (3H): this chunk's part of the bias gradient.
void backward_chunk(const Gru& s, Chunk chunk, const BackwardData& d, Weights transposed, float* work, float* dbh) {
  const int64_t n = s.h, n3 = 3 * s.h, rows = chunk.rows;
  float* dh_later = work;
  float* dm = work + rows * n;
  std::fill(dh_later, dh_later + rows * n, 0.0f);
  std::fill(dbh, dbh + n3, 0.0f);
  for (int64_t t = s.t - 1; t >= 0; --t) {
    const int64_t row = t * s.b + chunk.begin;
    const float* before = t > 0 ? d.h + (row - s.b) * n : (s.h0 == nullptr ? nullptr : s.h0 + row * n);
    const auto before_row = [&](int64_t r) { return before == nullptr ? nullptr : before + r * n; };
    const float* g = d.gates + row * n3;
    float* da = d.dxw + row * n3;
    for (int64_t r = 0; r < rows; ++r) {
      backward_zn(n, g + r * n3, before_row(r), d.dh + (row + r) * n, dh_later + r * n, da + r * n3);
    }
    if (s.reset_after) {
      float* dhn = d.dhn + row * n;
      for (int64_t r = 0; r < rows; ++r) {
        backward_r_after(n, g + r * n3, d.hn + (row + r) * n, da + r * n3, dhn + r * n);
        add_row(2 * n, da + r * n3, dbh);
        add_row(n, dhn + r * n, dbh + 2 * n);
      }
      chunk_product(rows, n, n, dhn, n, transposed.n, dh_later, n, dh_later, n);
    } else {
      chunk_product(rows, n, n, da + 2 * n, n3, transposed.n, dm, n, nullptr, 0);
      for (int64_t r = 0; r < rows; ++r) {
        backward_r_before(n, g + r * n3, before_row(r), dm + r * n, da + r * n3, dh_later + r * n);
        add_row(n3, da + r * n3, dbh);
      }
    }
    chunk_product(rows, n, 2 * n, da, n3, transposed.rz, dh_later, n, dh_later, n);
  }
  if (d.dh0 != nullptr) std::copy(dh_later, dh_later + rows * n, d.dh0 + chunk.begin * n);
}

int64_t worker_floats(const Gru& s) { return align16(2 * kChunkRows * s.h); }
int64_t packed_rz_floats(const Gru& s) { return std::max(packed_floats(s.h, 2 * s.h), packed_floats(2 * s.h, s.h)); }

// The order of the scratch: what the products at the end do not need comes last.
struct Layout {
  int64_t dhn = 0, dbh = 0, rz = 0, n = 0, work = 0, end = 0;
};
Layout layout_of(const Gru& s, int threads) {
  Layout l;
  l.dbh = s.reset_after ? align16(s.t * s.b * s.h) : 0;
  l.rz = l.dbh + align16(chunk_count(s.b) * 3 * s.h);
  l.n = l.rz + align16(packed_rz_floats(s));
  l.work = l.n + align16(packed_floats(s.h, s.h));
  l.end = l.work + threads * worker_floats(s);
  return l;
}

}  // namespace

int64_t gru_sequence_floats(const Gru& s, int threads) { return layout_of(s, threads).end; }
int64_t gru_kept_floats(const Gru& s) { return layout_of(s, 1).rz; }

void gru_forward(const Gru& s, float* h, float* gates, float* hn_all, ThreadPool& pool, float* scratch) {
  const Layout l = layout_of(s, pool.threads());
  pack_b_parallel(s.h, 2 * s.h, s.wh, 3 * s.h, 1, scratch + l.rz, pool);
  pack_b_parallel(s.h, s.h, s.wh + 2 * s.h, 3 * s.h, 1, scratch + l.n, pool);
  const Weights w{scratch + l.rz, scratch + l.n};
  pool.run(chunk_count(s.b), [&](int64_t task, int) { forward_chunk(s, chunk_at(s.b, task), w, h, gates, hn_all); });
}

// Leaves dhn (T,B,H) at the start of the scratch for the products that follow.
void gru_backward(const Gru& s, const float* h, const float* gates, const float* hn_all, const float* dh, float* dxw,
                  float* dbh, float* dh0, ThreadPool& pool, float* scratch) {
  const Layout l = layout_of(s, pool.threads());
  pack_b_parallel(2 * s.h, s.h, s.wh, 1, 3 * s.h, scratch + l.rz, pool);
  pack_b_parallel(s.h, s.h, s.wh + 2 * s.h, 1, 3 * s.h, scratch + l.n, pool);
  const Weights w{scratch + l.rz, scratch + l.n};
  const BackwardData data{h, gates, hn_all, dh, dxw, scratch + l.dhn, dh0};
  const int64_t chunks = chunk_count(s.b);
  float* parts = scratch + l.dbh;
  pool.run(chunks, [&](int64_t task, int worker) {
    backward_chunk(s, chunk_at(s.b, task), data, w, scratch + l.work + worker * worker_floats(s), parts + task * 3 * s.h);
  });
  std::copy(parts, parts + 3 * s.h, dbh);
  for (int64_t chunk = 1; chunk < chunks; ++chunk) add_row(3 * s.h, parts + chunk * 3 * s.h, dbh);
}

}  // namespace tabgrad::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tabgrad::cpu {
namespace {

HWY_EXPORT(gru_sequence_floats);
HWY_EXPORT(gru_kept_floats);
HWY_EXPORT(gru_forward);
HWY_EXPORT(gru_backward);

// Null stays null: shapes are also asked for without data.
template <typename T>
T* offset(T* p, std::int64_t n) {
  return p == nullptr ? nullptr : p + n;
}

// One part of dwh (H,3H): columns [column, column + n) = Σ over `steps` steps of aᵀ·b, b's rows being b_k long.
Gemm weight_gradient(const Gru& s, std::int64_t steps, const float* a, const float* b, std::int64_t b_k, std::int64_t column,
                     std::int64_t n, float* dwh) {
  Gemm g;
  g.m = s.h;
  g.n = n;
  g.k = steps * s.b;
  g.a = a;
  g.a_m = 1;
  g.a_k = s.h;
  g.b = b;
  g.b_k = b_k;
  g.b_n = 1;
  g.c = offset(dwh, column);
  g.c_m = 3 * s.h;
  return g;
}

// Σ h_beforeᵀ·d over all steps: step 0 has h0 or nothing.
template <typename Each>
void over_steps(const Gru& s, const float* h, const float* d, std::int64_t d_k, std::int64_t column, std::int64_t n, float* dwh,
                const Each& each) {
  each(weight_gradient(s, s.t - 1, h, offset(d, s.b * d_k), d_k, column, n, dwh));
  if (s.h0 == nullptr) return;
  Gemm g = weight_gradient(s, 1, s.h0, d, d_k, column, n, dwh);
  g.accumulate = true;
  each(g);
}

// Calls each(gemm) for the products that make dwh. dhn (T,B,H) as gru_backward left it.
template <typename Each>
void weight_gradients(const Gru& s, const float* h, const float* hn_all, const float* dxw, const float* dhn, float* dwh,
                      const Each& each) {
  const std::int64_t n = s.h;
  over_steps(s, h, dxw, 3 * n, 0, 2 * n, dwh, each);
  if (s.reset_after) {
    over_steps(s, h, dhn, n, 2 * n, n, dwh, each);
  } else {
    each(weight_gradient(s, s.t, hn_all, offset(dxw, 2 * n), 3 * n, 2 * n, n, dwh));
  }
}

}  // namespace

std::int64_t gru_scratch_floats(const Gru& s, int threads) {
  std::int64_t products = 0;
  Gru shape = s;
  shape.t = std::max<std::int64_t>(2, s.t);  // so that h0's product fits too
  weight_gradients(shape, nullptr, nullptr, nullptr, nullptr, nullptr,
                   [&](const Gemm& g) { products = std::max(products, gemm_scratch_floats(g, threads)); });
  return std::max(HWY_DYNAMIC_DISPATCH(gru_sequence_floats)(s, threads), HWY_DYNAMIC_DISPATCH(gru_kept_floats)(s) + products);
}

void gru_forward(const Gru& s, float* h, float* gates, float* hn, ThreadPool& pool, Scratch scratch) {
  TG_CHECK(scratch.floats >= HWY_DYNAMIC_DISPATCH(gru_sequence_floats)(s, pool.threads()));
  HWY_DYNAMIC_DISPATCH(gru_forward)(s, h, gates, hn, pool, scratch.data);
}

void gru_backward(const Gru& s, const float* h, const float* gates, const float* hn, const float* dh, float* dxw, float* dwh,
                  float* dbh, float* dh0, ThreadPool& pool, Scratch scratch) {
  TG_CHECK(scratch.floats >= gru_scratch_floats(s, pool.threads()));
  HWY_DYNAMIC_DISPATCH(gru_backward)(s, h, gates, hn, dh, dxw, dbh, dh0, pool, scratch.data);
  const std::int64_t kept = HWY_DYNAMIC_DISPATCH(gru_kept_floats)(s);
  const Scratch rest{scratch.data + kept, scratch.floats - kept};
  weight_gradients(s, h, hn, dxw, scratch.data, dwh, [&](const Gemm& g) { gemm(g, pool, rest); });
}

}  // namespace tabgrad::cpu
#endif
