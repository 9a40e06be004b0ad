// Libraries of WebGPU that are not there, are none, or are of another version: refused with the reason.
#include "backend/webgpu/native/api.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"

namespace tabgrad::webgpu {
namespace {

using testing::HasSubstr;
using testing::ThrowsMessage;

TEST(WebgpuLibrary, ThatIsNotThereIsNamed) {
  EXPECT_THAT([] { open_api("/nowhere/libdawn.so"); },
              ThrowsMessage<Error>(AllOf(HasSubstr("/nowhere/libdawn.so"), HasSubstr("--webgpu PATH"))));
}

TEST(WebgpuLibrary, OfSomethingElseIsRefused) {
  EXPECT_THAT([] { open_api("libm.so.6"); }, ThrowsMessage<Error>(HasSubstr("libm.so.6 is neither Dawn nor wgpu-native")));
}

TEST(WebgpuLibrary, OfAnUnknownVersionIsRefused) {
  EXPECT_THAT([] { open_api(TABGRAD_OLD_WGPU); },
              ThrowsMessage<Error>(AllOf(HasSubstr("is wgpu-native 27.0.4.0"), HasSubstr("knows version 29 alone"))));
}

}  // namespace
}  // namespace tabgrad::webgpu
