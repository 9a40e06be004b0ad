// Every fragment shader that the cases and the models come to is GLSL ES 3.00, by the reference compiler.
#ifndef __EMSCRIPTEN__
#include <gtest/gtest.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <set>

#include <unistd.h>

#include "models/forecaster.h"
#include "models/gpt.h"
#include "optest/optest.h"

namespace tabgrad::optest {
namespace {

// What the compiler says of texts that it refuses; nothing when it takes all.
std::string refused(const std::set<std::string>& texts) {
  const std::filesystem::path folder = std::filesystem::temp_directory_path() / str("tabgrad-glsl-", getpid());
  std::filesystem::create_directories(folder);
  int number = 0;
  for (const std::string& text : texts) std::ofstream(folder / str(number++, ".frag")) << text;
  std::string said;
  const std::string command = "cd '" + folder.string() + "' && glslangValidator *.frag 2>&1";
  std::FILE* pipe = popen(command.c_str(), "r");
  char line[400];
  while (pipe && std::fgets(line, sizeof line, pipe))
    if (std::string(line).starts_with("ERROR")) said += line;
  const int status = pipe ? pclose(pipe) : -1;
  if (status != 0 && said.empty()) said = str("glslangValidator ends with ", status);
  if (said.empty()) std::filesystem::remove_all(folder);
  return said.empty() ? said : folder.string() + ":\n" + said;
}

void add_texts(const std::vector<EntryGraph>& entries, const SessionOptions& options, std::set<std::string>& texts,
               std::set<std::string>* names = nullptr) {
  for (const Kernel& k : compile(entries, device_caps(options), options.device).kernels) {
    EXPECT_TRUE(k.kind == KernelKind::kShader && k.shader.fragment);
    texts.insert(k.shader.text);
    if (names) names->insert(k.shader.name);
  }
}

TEST(Glsl, OfAllCases) {
  std::set<std::string> texts, names;
  for (const Case& test : all_cases()) {
    const Prepared p = prepare(test);
    for (const bool fuse : {true, false})
      add_texts({{"backward", p.backward}, {"forward", p.forward}}, {.device = "webgl", .fuse = fuse}, texts);
    for (const int outputs : {1, 8})
      add_texts({{"backward", p.backward}, {"forward", p.forward}}, {.device = "webgl", .max_outputs = outputs}, texts, &names);
  }
  EXPECT_GT(texts.size(), 500u);
  for (const char* name : {"matmul 4 rows", "matmul 8 rows", "lstm product", "gru product gradient"})
    EXPECT_TRUE(names.contains(name)) << "no case draws: " << name;
  EXPECT_EQ(refused(texts), "");
}

TEST(Glsl, OfAllModels) {
  std::set<std::string> texts;
  for (const int outputs : {4, 8}) {
    const SessionOptions options{.device = "webgl", .max_outputs = outputs};
    for (const char* preset : {"tiny", "small"}) add_texts(build_gpt(gpt_preset(preset)).entries, options, texts);
    for (const ForecasterKind kind : {ForecasterKind::kLstm, ForecasterKind::kGru, ForecasterKind::kTransformer})
      add_texts(build_forecaster(default_forecaster(kind), 64, 256, OptimizerConfig{}, 1.0).entries, options, texts);
  }
  EXPECT_EQ(refused(texts), "");
}

TEST(Glsl, ARefusalIsNoticed) { EXPECT_NE(refused({"#version 300 es\nvoid main() { undeclared = 1; }\n"}), ""); }

TEST(Glsl, TooLargeForATextureNamesNumberAndLimit) {
  Graph g;
  const Tensor x = input(g, "x", {200, 200});
  g.outputs = {{"y", (x + x).value}};
  try {
    compile({{"run", g}}, device_caps({.device = "webgl", .max_texture_dim = 64}), "webgl");
    FAIL() << "it was taken";
  } catch (const Error& e) {
    EXPECT_NE(std::string(e.what()).find("128×79 texels for 40000 numbers, and the device takes 64×64"), std::string::npos)
        << e.what();
  }
}

}  // namespace
}  // namespace tabgrad::optest
#endif
