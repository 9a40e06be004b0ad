// Attention forward against doubles, backward against finite differences; grouped heads, causal or not, extreme logits.
#include <algorithm>

#include "unit/cpu_test_util.h"

namespace tabgrad::cpu::testing {
namespace {

std::size_t at(int64_t i) { return static_cast<std::size_t>(i); }

struct Result {
  Doubles out, lse;
};

Result reference(const Attention& s, const Doubles& qkv) {
  const int64_t token = (s.heads + 2 * s.kv_heads) * s.d;
  Result r{Doubles(at(s.b * s.t * s.heads * s.d), 0.0), Doubles(at(s.b * s.heads * s.t), 0.0)};
  Doubles p(at(s.t));
  for (int64_t b = 0; b < s.b; ++b) {
    for (int64_t head = 0; head < s.heads; ++head) {
      const int64_t kv = head / (s.heads / s.kv_heads);
      const auto value = [&](int64_t t, int64_t slot, int64_t i) { return qkv[at((b * s.t + t) * token + slot * s.d + i)]; };
      for (int64_t t = 0; t < s.t; ++t) {
        const int64_t seen = s.causal ? t + 1 : s.t;
        double max = -1e300, sum = 0.0;
        for (int64_t j = 0; j < seen; ++j) {
          double dot = 0.0;
          for (int64_t i = 0; i < s.d; ++i) dot += value(t, head, i) * value(j, s.heads + kv, i);
          p[at(j)] = dot * static_cast<double>(s.scale);
          max = std::max(max, p[at(j)]);
        }
        for (int64_t j = 0; j < seen; ++j) sum += std::exp(p[at(j)] - max);
        r.lse[at((b * s.heads + head) * s.t + t)] = max + std::log(sum);
        for (int64_t j = 0; j < seen; ++j) {
          const double weight = std::exp(p[at(j)] - max) / sum;
          for (int64_t i = 0; i < s.d; ++i) {
            r.out[at(((b * s.t + t) * s.heads + head) * s.d + i)] += weight * value(j, s.heads + s.kv_heads + kv, i);
          }
        }
      }
    }
  }
  return r;
}

void check(Attention s, float range, double tolerance) {
  SCOPED_TRACE(str("b ", s.b, " t ", s.t, " heads ", s.heads, "/", s.kv_heads, " d ", s.d, " causal ", s.causal));
  const Floats qkv = random_floats(s.b * s.t * (s.heads + 2 * s.kv_heads) * s.d, 1, -range, range);
  const Floats dout = random_floats(s.b * s.t * s.heads * s.d, 2);
  s.qkv = qkv.data();
  s.scale = 1.0f / std::sqrt(static_cast<float>(s.d));
  const Outputs out = run_on_threads([&](ThreadPool& pool) {
    Floats o(dout.size()), lse(at(s.b * s.heads * s.t)), dqkv(qkv.size(), 7.0f);
    TestScratch scratch(attention_scratch_floats(s, pool.threads()));
    attention_forward(s, o.data(), lse.data(), pool, scratch.get());
    attention_backward(s, o.data(), lse.data(), dout.data(), dqkv.data(), pool, scratch.get());
    return Outputs{o, lse, dqkv};
  });
  const Result want = reference(s, to_double(qkv));
  expect_close(out[0], want.out, tolerance, "out");
  expect_close(out[1], want.lse, tolerance, "lse");
  expect_gradient(qkv, out[2], [&](const Doubles& x) { return weigh(reference(s, x).out, dout); }, "dqkv", 10 * tolerance);
}

TG_CPU_TEST(CpuAttention, ForwardAndBackward) {
  for (const bool causal : {true, false}) {
    for (const int64_t t : {1, 7, 33, 130}) {
      for (const int64_t d : {1, 7, 16, 33}) {
        check({.b = 2, .t = t, .heads = 3, .kv_heads = 3, .d = d, .causal = causal}, 1.5f, 3e-6);
      }
    }
    check({.b = 1, .t = 50, .heads = 6, .kv_heads = 2, .d = 32, .causal = causal}, 1.5f, 3e-6);
    check({.b = 3, .t = 49, .heads = 4, .kv_heads = 1, .d = 20, .causal = causal}, 1.5f, 3e-6);
    check({.b = 1, .t = 20, .heads = 1, .kv_heads = 1, .d = 130, .causal = causal}, 1.5f, 3e-6);
  }
}

TG_CPU_TEST(CpuAttention, LogitsOfTenThousand) {  // float holds lse to 1e-3 there, so weights to about that
  for (const bool causal : {true, false}) {
    Attention s{.b = 2, .t = 40, .heads = 2, .kv_heads = 2, .d = 16, .causal = causal};
    check(s, 50.0f, 1e-3);
  }
}

}  // namespace
}  // namespace tabgrad::cpu::testing
