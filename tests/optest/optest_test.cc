// Every case in every way: <case>__oracle_grad and <case>__<target>. And the harness itself: that it fails when it must.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <memory>

#ifndef __EMSCRIPTEN__
#include "backend/webgpu/native/device.h"
#endif
#include "base/error.h"
#include "optest/optest.h"

namespace tabgrad::optest {
namespace {

// Cases run in order, so the last one's reference serves all its modes.
struct Known {
  std::string name;
  Prepared prepared;
  Reference reference;
  Result first;  // of the first target
};
Known& known(const Case& test) {
  static std::unique_ptr<Known> last;
  if (!last || last->name != test.name) {
    last = std::make_unique<Known>();
    last->prepared = prepare(test);
    last->reference = oracle(test, last->prepared);
    last->name = test.name;
  }
  return *last;
}

struct Way {
  const Case* test;
  const Target* target;  // null: the oracle against differences
};
void PrintTo(const Way& way, std::ostream* out) { *out << way.test->name; }

bool sanitized() {
#if defined(__has_feature)
#if __has_feature(address_sanitizer)
  return true;
#endif
#endif
  return false;
}

// Decomposed or unfused, a recurrent layer is hundreds of pipelines, each of which takes a software driver a good part of a
// second: the claimed kernels stand for it there, and the CPU's rows for the decomposition. Of the GRU whose reset gate acts before the
// product, which no GPU claims, one case of several steps stands for all.
bool too_many_pipelines(const Case& test, const Target& target) {
  const bool several_steps = test.name.starts_with("gru_before_") && !test.name.starts_with("gru_before_1x");
  const bool pieces =
      !target.options.claim || !target.options.fuse || (several_steps && test.name != "gru_before_5x7x7_state_last");
  return target.options.device == "webgpu" && pieces &&
         (test.name.find("lstm") != std::string::npos || test.name.find("gru") != std::string::npos);
}

// Without subgroups only what has row kernels is another Program, and with f16 only what has values between kernels: cases/half.cc.
bool is_same_program(const Case& test, const Target& target) {
  if (target.options.f16) return !test.name.starts_with("half_");
  if (target.options.device != "webgpu" || !target.options.features) return false;
  constexpr const char* kRowKernels[] = {"softmax", "cross_entropy", "norm", "sum_squares", "train_"};
  return std::ranges::none_of(kRowKernels, [&](const char* part) { return test.name.find(part) != std::string::npos; });
}

std::vector<Way> make_ways() {
  std::vector<Way> ways;
  for (const Case& test : all_cases()) {
    if (test.gradients && test.differences) ways.push_back({&test, nullptr});
    for (const Target& target : targets()) {
      if (target.options.device == "webgpu" && sanitized()) continue;  // a driver's own leaks are not ours
      if (!too_many_pipelines(test, target) && !is_same_program(test, target)) ways.push_back({&test, &target});
    }
  }
  return ways;
}

// Why the target's library of WebGPU does not serve here; "" where it does.
const std::string& webgpu_missing(const Target& target) {
  static std::map<std::string, std::string> reasons;  // by library
  const auto [found, fresh] = reasons.try_emplace(target.options.webgpu);
#ifndef __EMSCRIPTEN__
  if (fresh && !target.options.webgpu.empty()) {
    webgpu::list_adapters(target.options.webgpu);  // it was asked for: throws
  } else if (fresh) {
    try {
      if (webgpu::list_adapters("").empty()) found->second = "WebGPU's library finds no adapter";
    } catch (const Error& e) {
      found->second = e.what();
    }
  }
#endif
  return found->second;
}

class Cases : public ::testing::TestWithParam<Way> {};

TEST_P(Cases, Hold) {
  const auto& [test, target] = GetParam();
  if (test->large && sanitized()) GTEST_SKIP() << "too slow with sanitizers";
  if (target && target->options.device == "webgpu" && !webgpu_missing(*target).empty()) GTEST_SKIP() << webgpu_missing(*target);
  Known& k = known(*test);
  std::string problems;
  if (!target) {
    problems = check_differences(*test, k.prepared, k.reference);
  } else if (!target->same_bits) {
    Result result;
    try {
      result = run(*target, *test, k.prepared);
    } catch (const Error& e) {
      const bool too_large =
          target->options.max_texture_dim > 0 && std::string(e.what()).find("needs a texture of") != std::string::npos;
      if (!too_large) throw;
      GTEST_SKIP() << e.what();
    }
    problems = check_near(*test, k.reference, result, target->rounding);
  } else {
    if (k.first.empty()) k.first = run(targets()[0], *test, k.prepared);
    problems = check_same_bits(k.first, run(*target, *test, k.prepared));
  }
  EXPECT_TRUE(problems.empty()) << problems;
}

// Instantiated when all static objects exist, so every file's cases are there.
std::string name_of(const ::testing::TestParamInfo<Way>& info) {
  return info.param.test->name + "__" + (info.param.target ? info.param.target->name : "oracle_grad");
}
INSTANTIATE_TEST_SUITE_P(All, Cases, ::testing::ValuesIn(make_ways()), name_of);

// ---- the harness must fail when it should ----

TEST(Harness, AWrongNumberFails) {
  const std::vector<double> want{1, 2, 3};
  EXPECT_EQ(check_one("x", want, {1, 2, 3}, {}), "");
  EXPECT_NE(check_one("x", want, {1, 2, 3.0001f}, {}), "");
  EXPECT_NE(check_one("x", want, {1, 2, std::nanf("")}, {}), "");
  EXPECT_NE(check_one("x", want, {1, 2, HUGE_VALF}, {}), "");
  EXPECT_NE(check_one("x", want, {1, 2}, {}), "");
  const double inf = std::numeric_limits<double>::infinity();
  EXPECT_EQ(check_one("x", {inf, 1e39}, {HUGE_VALF, HUGE_VALF}, {}), "");
  EXPECT_NE(check_one("x", {inf}, {3e38f}, {}), "");
}

TEST(Harness, OneWrongValueAmongManyFails) {
  std::vector<double> want(10000, 1.0);
  std::vector<float> got(10000, 1.0f);
  got[77] = 1.0001f;
  EXPECT_NE(check_one("x", want, got, {}), "");
}

TEST(Harness, ADifferentBitFails) {
  EXPECT_EQ(check_same_bits({{"x", {0.0f, 1.0f}}}, {{"x", {0.0f, 1.0f}}}), "");
  EXPECT_NE(check_same_bits({{"x", {0.0f, 1.0f}}}, {{"x", {-0.0f, 1.0f}}}), "");
}

TEST(Harness, AWrongGradientFails) {
  Case wrong{.name = "wrong", .inputs = {{"x", {3}}}, .build = [](Graph&, const std::vector<Tensor>& in) {
               return std::vector<Tensor>{tanh(in[0]) * in[0]};
             }};
  Prepared p = prepare(wrong);
  Reference reference = oracle(wrong, p);
  EXPECT_EQ(check_differences(wrong, p, reference), "");
  reference["d_x"][1] *= 1 + 1e-5;
  EXPECT_NE(check_differences(wrong, p, reference), "");
}

}  // namespace
}  // namespace tabgrad::optest
