// Every shader of every preset and forecaster passes tint, WGSL's compiler as Dawn and Chromium have it, and stays within WebGPU's
// default limits. Needs no adapter.
#include <gtest/gtest.h>

#include <array>
#include <cstdio>
#include <fstream>
#include <set>

#include "engine/engine.h"
#include "models/forecaster.h"
#include "models/gpt.h"

namespace tabgrad {
namespace {

// What tint says about a text; nothing when all is well.
std::string tint(const std::string& text) {
  const std::string path = testing::TempDir() + "tabgrad_shader.wgsl";
  std::ofstream(path) << text;
  std::FILE* pipe = popen(("tint --format spirv -o /dev/null " + path + " 2>&1").c_str(), "r");
  std::string said;
  std::array<char, 512> line;
  while (pipe && std::fgets(line.data(), line.size(), pipe)) said += line.data();
  return pipe && pclose(pipe) == 0 ? "" : "tint: " + said + "\n" + text;
}

class Shaders : public testing::Test {
 protected:
  void check(const BuiltModel& model) {
    for (const auto& features :
         {WebgpuFeatures{}, WebgpuFeatures{.subgroups = 4}, WebgpuFeatures{.subgroups = 32, .f16 = true}})
      check(compile(model.entries, device_caps({.device = "webgpu", .features = features, .f16 = true}), "webgpu"));
  }

 private:
  void check(const Program& program) {
    EXPECT_NO_THROW(parse_program(serialize(program).data(), serialize(program).size(), "bytes"));
    for (const Kernel& k : program.kernels) {
      EXPECT_EQ(k.kind, KernelKind::kShader);
      EXPECT_LE(k.shader.args.size(), 8u) << k.shader.name;
      if (seen_.insert(k.shader.text).second) EXPECT_EQ(tint(k.shader.text), "") << k.shader.name;
    }
    // Bindings begin at multiples of 256 bytes.
    for (const Buffer& b : program.buffers)
      EXPECT_EQ(b.pack >= 0 ? b.pack_offset % 64 : std::max<std::int64_t>(b.arena_offset, 0) % 64, 0);
  }

  std::set<std::string> seen_;
};

TEST_F(Shaders, Tint) {
  ASSERT_NE(tint("fn f() -> i32 { return 1.5; }"), "") << "a wrong text must be refused";
  for (const char* name : {"small", "xl"}) check(build_gpt(gpt_preset(name)));
  for (ForecasterKind kind : {ForecasterKind::kLstm, ForecasterKind::kGru, ForecasterKind::kTransformer}) {
    ForecasterConfig c = default_forecaster(kind);
    c.channels = 13;
    c.future_channels = 11;
    check(build_forecaster(c, 64, 256, OptimizerConfig{}, 1.0));
    c.units = 160;  // weights no longer fit an invocation's registers
    check(build_forecaster(c, 7, 33, OptimizerConfig{}, 1.0));
  }
}

}  // namespace
}  // namespace tabgrad
