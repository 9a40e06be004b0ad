// What a device grants: Programs that rely on more than it has are refused when they are loaded, not run.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/engine.h"
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

}  // namespace
}  // namespace tabgrad
