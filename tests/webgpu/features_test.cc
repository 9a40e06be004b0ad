// What a device grants: Programs that rely on more than it has are refused when they are loaded, not run.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/engine.h"
#include "engine/self_test.h"
#include "graph/compose/compose.h"

namespace tabgrad {
namespace {

TEST(Features, AProgramForLargerSubgroupsIsRefused) {
  const SessionOptions options{.device = "webgpu"};
  WebgpuFeatures features;
  try {
    features = *with_features(options).features;
  } catch (const Error& e) {
    GTEST_SKIP() << e.what();
  }
  if (features.subgroups > 64) GTEST_SKIP() << "this device's are the largest";
  Graph g;
  g.outputs = {{"y", softmax(input(g, "x", {3, 130})).value}};
  features.subgroups = 128;
  SessionOptions larger = options;
  larger.features = features;
  try {
    make_session({{"run", g}}, larger);
    FAIL() << "it was taken";
  } catch (const Error& e) {
    EXPECT_THAT(e.what(), testing::HasSubstr("relies on subgroups of 128"));
  }
}

// Where the shaders have f16 it computes rightly (or the driver is at fault); where they have not, the reason is told.
TEST(Features, HalfPrecisionIsTested) {
  SessionOptions options{.device = "webgpu"};
  bool has = false;
  try {
    has = with_features(options).features->f16;
  } catch (const Error& e) {
    GTEST_SKIP() << e.what();
  }
  EXPECT_EQ(f16_refusal(options), has ? "" : "the device has no f16 in its shaders (shader-f16)");
  options.features = WebgpuFeatures{};
  EXPECT_THAT(f16_refusal(options), testing::HasSubstr("shader-f16"));
  if (!has) return;
  // Rounding shows: it is f16 that was tested.
  options.features = WebgpuFeatures{.f16 = true};
  options.f16 = true;
  EXPECT_THAT(self_test(options), testing::HasSubstr("are not the CPU's"));
}

}  // namespace
}  // namespace tabgrad
