// The CPU target's hand-tuned kernels: plain functions over float pointers, free of SIMD types.
//
// All are deterministic: the bits of a result do not depend on the number of threads. None allocates: scratch memory comes
// from the caller (`Scratch`), and each `*_scratch_floats` says how much a call needs. Row-major; last dimension contiguous.
// Rules for implementations: one *_inl.cc file per family, compiled per instruction set through Highway's foreach_target.
#pragma once

#include <cstdint>

#include "base/threads.h"
#include "kernel/scalar.h"

namespace tabgrad::cpu {

struct Scratch {
  float* data = nullptr;  // 64-byte aligned
  std::int64_t floats = 0;
};

// ---- Contract: C[b] = A[b]·B[b] (+ C[b] when accumulate) ------------------------------------------------------------
// A is M×K with element (m,k) at a[m*a_m + k*a_k]; B is K×N with (k,n) at b[k*b_k + n*b_n]; in each, at least one of the two
// strides is 1 (or its extent is 1). C has (m,n) at c[m*c_m + n].
// epilogue, if set, is called by the thread that has just finished a tile of C (all of K), while it is in cache:
// epilogue(context, batch, m_begin, m_end, n_begin, n_end, worker). Tiles are disjoint and cover C;
// where they are cut may follow the number of threads, so an epilogue is elementwise.
struct Gemm {
  std::int64_t m = 0, n = 0, k = 0, batch = 1;
  const float* a = nullptr;
  std::int64_t a_m = 0, a_k = 0, a_batch = 0;
  const float* b = nullptr;
  std::int64_t b_k = 0, b_n = 0, b_batch = 0;
  float* c = nullptr;
  std::int64_t c_m = 0, c_batch = 0;
  bool accumulate = false;
  using Epilogue = void (*)(void* context, std::int64_t batch, std::int64_t m_begin, std::int64_t m_end, std::int64_t n_begin,
                            std::int64_t n_end, int worker);
  Epilogue epilogue = nullptr;
  void* context = nullptr;
};
std::int64_t gemm_scratch_floats(const Gemm& g, int threads);
void gemm(const Gemm& g, ThreadPool& pool, Scratch scratch);

// ---- Recurrent sequences, time-major ---------------------------------------------------------------------------------
// LSTM, gate order i,f,g,o (PyTorch's). xw (T,B,4H) = input projection + all biases; wh (H,4H), h·wh is added per step.
// h0, c0 (B,H) may be null = 0. Forward writes h (T,B,H), gates (T,B,4H) after their activations, c (T,B,H).
// Backward takes dh (T,B,H), the gradient of every h[t]; writes dxw (T,B,4H), dwh (H,4H), and dh0, dc0 (B,H) when not null.
struct Lstm {
  std::int64_t t = 0, b = 0, h = 0;
  const float *xw = nullptr, *wh = nullptr, *h0 = nullptr, *c0 = nullptr;
};
std::int64_t lstm_scratch_floats(const Lstm& s, int threads);
void lstm_forward(const Lstm& s, float* h, float* gates, float* c, ThreadPool& pool, Scratch scratch);
void lstm_backward(const Lstm& s, const float* h, const float* gates, const float* c, const float* dh, float* dxw, float* dwh,
                   float* dh0, float* dc0, ThreadPool& pool, Scratch scratch);

// GRU, gate order r,z,n (PyTorch's). xw (T,B,3H); wh (H,3H); bh (3H) the recurrent bias.
//   reset_after  (PyTorch, cuDNN, Keras default): n = tanh(xw_n + r ⊙ (h·wh_n + bh_n)),   h' = (1−z)⊙n + z⊙h
//   reset before (the paper's):                   n = tanh(xw_n + (r⊙h)·wh_n + bh_n)
// Forward writes h (T,B,H), gates (T,B,3H) after activations, hn (T,B,H): h·wh_n + bh_n (reset_after) or r⊙h_prev.
struct Gru {
  std::int64_t t = 0, b = 0, h = 0;
  bool reset_after = true;
  const float *xw = nullptr, *wh = nullptr, *bh = nullptr, *h0 = nullptr;
};
std::int64_t gru_scratch_floats(const Gru& s, int threads);
void gru_forward(const Gru& s, float* h, float* gates, float* hn, ThreadPool& pool, Scratch scratch);
void gru_backward(const Gru& s, const float* h, const float* gates, const float* hn, const float* dh, float* dxw, float* dwh,
                  float* dbh, float* dh0, ThreadPool& pool, Scratch scratch);

// ---- Attention over packed projections ---------------------------------------------------------------------------------
// qkv (B,T,(H+2·KV)·D): per token the H query heads, then KV key heads, then KV value heads (KV divides H; query head i reads
// key/value head i/(H/KV)). out (B,T,H·D); lse (B,H,T) the log of each row's softmax denominator (kept for backward).
// causal: token t sees 0..t. scale multiplies q·k. T×T scores live in scratch, a tile at a time, never in memory whole.
// dropout mask support is not needed here.
struct Attention {
  std::int64_t b = 0, t = 0, heads = 0, kv_heads = 0, d = 0;
  bool causal = true;
  float scale = 1.0f;
  const float* qkv = nullptr;
};
std::int64_t attention_scratch_floats(const Attention& s, int threads);
void attention_forward(const Attention& s, float* out, float* lse, ThreadPool& pool, Scratch scratch);
void attention_backward(const Attention& s, const float* out, const float* lse, const float* dout, float* dqkv,
                        ThreadPool& pool, Scratch scratch);

// ---- Norms over the last dimension ---------------------------------------------------------------------------------------
// LayerNorm: y = (x−mean)·rstd·gamma + beta, rstd = 1/sqrt(var + eps), var biased. RmsNorm (rms = true): y = x·rstd·gamma,
// rstd = 1/sqrt(mean(x²)+eps); beta null, mean unused. Forward writes mean (R) (LayerNorm) and rstd (R).
// Backward writes dx (R,C), dgamma (C), dbeta (C, LayerNorm only).
struct Norm {
  std::int64_t rows = 0, cols = 0;
  bool rms = false;
  float eps = 1e-5f;
  const float *x = nullptr, *gamma = nullptr, *beta = nullptr;
};
std::int64_t norm_scratch_floats(const Norm& s, int threads);
void norm_forward(const Norm& s, float* y, float* mean, float* rstd, ThreadPool& pool);
void norm_backward(const Norm& s, const float* mean, const float* rstd, const float* dy, float* dx, float* dgamma, float* dbeta,
                   ThreadPool& pool, Scratch scratch);

// ---- Softmax and cross-entropy over rows -----------------------------------------------------------------------------------
void softmax_forward(std::int64_t rows, std::int64_t cols, const float* x, float* y, ThreadPool& pool);
void softmax_backward(std::int64_t rows, std::int64_t cols, const float* y, const float* dy, float* dx, ThreadPool& pool);
// nll[r] = lse[r] − x[r,target[r]];  dx = (softmax(x) − onehot)·dnll[r]. A target outside [0, cols) gives nll 0, dx row 0.
void cross_entropy_forward(std::int64_t rows, std::int64_t cols, const float* logits, const std::int32_t* targets, float* nll,
                           float* lse, ThreadPool& pool);
void cross_entropy_backward(std::int64_t rows, std::int64_t cols, const float* logits, const std::int32_t* targets,
                            const float* lse, const float* dnll, float* dlogits, ThreadPool& pool);

// ---- Embedding ---------------------------------------------------------------------------------------------------------------
// gather: out[i,:] = table[ids[i],:]. segment_sum: dtable[v,:] = Σ over i with ids[i]==v of rows[i,:], in order of i (the runner
// sorts the ids once per batch: order = stable sort of 0..n−1 by id, offsets (V+1) into order). Ids out of range are skipped.
void gather_rows(std::int64_t n, std::int64_t cols, std::int64_t vocabulary, const float* table, const std::int32_t* ids,
                 float* out, ThreadPool& pool);
void sort_ids(std::int64_t n, std::int64_t vocabulary, const std::int32_t* ids, std::int32_t* order, std::int32_t* offsets);
void segment_sum(std::int64_t vocabulary, std::int64_t cols, const float* rows, const std::int32_t* order,
                 const std::int32_t* offsets, float* dtable, ThreadPool& pool);

// ---- Optimizers over packed parameters ---------------------------------------------------------------------------------------
// One call updates every parameter. clip_scale: null, or a scalar in memory that multiplies every gradient.
// SGD: v = momentum·v + g (+ wd·p); p −= lr·v (PyTorch's, no dampening; nesterov: p −= lr·(g + momentum·v)).
// Adam: L2 wd added to g. AdamW: p −= lr·wd·p first. m = b1·m+(1−b1)·g; v = b2·v+(1−b2)·g²;
// p −= (lr/bias1)·m/(sqrt(v)/sqrt(bias2)+eps), bias1 = 1−b1^step and bias2 = 1−b2^step given by the host.
enum class OptimizerKind : unsigned char { kSgd, kAdam, kAdamW };
struct Segment {  // one parameter tensor
  float* p = nullptr;
  const float* g = nullptr;
  float *m = nullptr, *v = nullptr;  // momentum (SGD: v only) and second moment
  std::int64_t n = 0;
  float weight_decay = 0.0f;
};
struct Optimizer {
  OptimizerKind kind = OptimizerKind::kAdamW;
  float lr = 0, beta1 = 0.9f, beta2 = 0.999f, eps = 1e-8f, momentum = 0, bias1 = 1, bias2 = 1;
  bool nesterov = false;
  const float* clip_scale = nullptr;
  const Segment* segments = nullptr;
  std::int64_t count = 0;
};
void optimizer_step(const Optimizer& s, ThreadPool& pool);

// out[0] = Σ over all arrays of Σ x². Accumulated in double per fixed-size chunk, chunks summed in order.
struct ConstSpan {
  const float* data = nullptr;
  std::int64_t n = 0;
};
std::int64_t sum_squares_scratch_floats(const ConstSpan* arrays, std::int64_t count);
void sum_squares(const ConstSpan* arrays, std::int64_t count, float* out, ThreadPool& pool, Scratch scratch);

// ---- Blocks for the interpreter (backend/cpu/block_vm) -------------------------------------------------------------------------
// One scalar op over n consecutive floats, n ≤ 1024, arguments possibly equal to out (never partially overlapping).
// Unused arguments are null. Accuracy: within 4 ULP of the double result for Exp, Log, Tanh, Sigmoid, Erf (absolute 1e-7 where
// the result is below 1e-3 for Tanh/Erf/Sin/Cos); 4 ULP or absolute 5e-7 for Gelu and GeluSlope; exact rounding for the rest where IEEE gives it.
using BlockOp = void (*)(const float* a, const float* b, const float* c, float* out, std::int64_t n);
BlockOp block_op(ScalarOp op);
// Two-operand forms with a broadcast constant, to spare filling a block: out = op(a, value) and out = op(value, a).
using BlockOpConst = void (*)(const float* a, float value, float* out, std::int64_t n);
BlockOpConst block_op_const_right(ScalarOp op);  // Add Sub Mul Div Max Min Less Equal; null for others
BlockOpConst block_op_const_left(ScalarOp op);
// Sum and maximum of n consecutive floats in a fixed order (lane count fixed at 16 whatever the vector width, so that every
// instruction set gives the same bits); acc[i] += x[i] and acc[i] = max(acc[i], x[i]) for column reductions.
float block_sum(const float* x, std::int64_t n);
float block_max(const float* x, std::int64_t n);
void block_accumulate_sum(const float* x, float* acc, std::int64_t n);
void block_accumulate_max(const float* x, float* acc, std::int64_t n);
// Philox uniforms in [0,1): out[i] = uniform at element first+i of (seed, stream, step); see tensor/philox.h.
void block_random(std::uint64_t seed, std::uint32_t stream, std::uint32_t step, std::uint64_t first, float* out,
                  std::int64_t n);

// The instruction set that Highway chose on this machine ("AVX3", "AVX2", "NEON", "WASM", …).
const char* instruction_set();

}  // namespace tabgrad::cpu
