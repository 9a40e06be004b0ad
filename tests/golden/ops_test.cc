// Every composite, activation, loss and convolution against PyTorch in float64: outputs and gradients, by the oracle (tight: this
// is what every target is judged by) and by the first target.
#include <gtest/gtest.h>

#include "golden/golden.h"
#include "graph/autodiff.h"
#include "graph/compose/compose.h"
#include "optest/optest.h"

namespace tabgrad {
namespace {

using Inputs = std::vector<Tensor>;
struct Golden {
  const char* file;
  const char* name;
  std::vector<const char*> inputs;
  const char* output;
  Tensor (*build)(const Inputs& in);
};

Tensor rows(Tensor x) { return mean(x, x.rank() == 2 ? Dims{0, 1} : Dims{0}); }  // the loss of the elementwise losses
template <typename F>
Golden loss(const char* name, F) {
  return {"ops", name, {"y", "target"}, "each", [](const Inputs& in) { return F()(in[0], in[1]); }};
}
using T = Tensor;
Tensor attend(Tensor qkv, int kv_heads, bool causal, int heads) {
  return attention(qkv, {.heads = heads, .kv_heads = kv_heads, .causal = causal});
}
Tensor layer(const Inputs& in, bool causal) { return linear(attend(linear(in[0], in[1], in[2]), 2, causal, 2), in[3], in[4]); }

const std::vector<Golden> kGoldens{
    {"ops", "layer_norm", {"x", "gamma", "beta"}, "y", [](const Inputs& in) { return layer_norm(in[0], in[1], in[2]); }},
    {"ops", "rms_norm", {"x", "gamma"}, "y", [](const Inputs& in) { return rms_norm(in[0], in[1]); }},
    {"ops", "gelu", {"x"}, "y", [](const Inputs& in) { return gelu(in[0]); }},
    {"ops", "silu", {"x"}, "y", [](const Inputs& in) { return silu(in[0]); }},
    {"ops", "softmax", {"x"}, "y", [](const Inputs& in) { return softmax(in[0]); }},
    {"ops", "conv1d", {"x", "w", "b"}, "y", [](const Inputs& in) { return conv1d(in[0], in[1], in[2], 0, 0); }},
    {"ops", "conv1d_causal", {"x", "w", "b"}, "y", [](const Inputs& in) { return conv1d(in[0], in[1], in[2], 2, 0); }},
    loss("mse", [](T y, T t) { return mse_loss(y, t); }),
    loss("mae", [](T y, T t) { return mae_loss(y, t); }),
    loss("huber", [](T y, T t) { return huber_loss(y, t); }),
    loss("quantile_0.1", [](T y, T t) { return quantile_loss(y, t, 0.1); }),
    loss("quantile_0.5", [](T y, T t) { return quantile_loss(y, t, 0.5); }),
    loss("quantile_0.9", [](T y, T t) { return quantile_loss(y, t, 0.9); }),
    {"ops", "cross_entropy", {"logits", "ids"}, "each", [](const Inputs& in) { return cross_entropy(in[0], in[1]); }},
    {"attention", "causal", {"qkv"}, "y", [](const Inputs& in) { return attend(in[0], 2, true, 2); }},
    {"attention", "full", {"qkv"}, "y", [](const Inputs& in) { return attend(in[0], 2, false, 2); }},
    {"attention", "grouped_causal", {"qkv"}, "y", [](const Inputs& in) { return attend(in[0], 2, true, 4); }},
    {"attention",
     "layer_causal",
     {"x", "qkv.w", "qkv.b", "proj.w", "proj.b"},
     "y",
     [](const Inputs& in) { return layer(in, true); }},
    {"attention",
     "layer_full",
     {"x", "qkv.w", "qkv.b", "proj.w", "proj.b"},
     "y",
     [](const Inputs& in) { return layer(in, false); }},
    {"recurrent",
     "lstm",
     {"x", "wx", "wh", "b"},
     "h",
     [](const Inputs& in) { return lstm_sequence(linear(in[0], in[1], in[3]), in[2]); }},
    {"recurrent",
     "lstm_state",
     {"x", "wx", "wh", "b", "h0", "c0"},
     "h",
     [](const Inputs& in) { return lstm_sequence(linear(in[0], in[1], in[3]), in[2], in[4], in[5]); }},
    {"recurrent",
     "gru_reset_after",
     {"x", "wx", "wh", "bx", "bh", "h0"},
     "h",
     [](const Inputs& in) { return gru_sequence(linear(in[0], in[1], in[3]), in[2], in[4], true, in[5]); }},
    {"recurrent",
     "gru_reset_before",
     {"x", "wx", "wh", "bx", "bh", "h0"},
     "h",
     [](const Inputs& in) { return gru_sequence(linear(in[0], in[1], in[3]), in[2], in[4], false, in[5]); }},
};

class OpGolden : public testing::TestWithParam<Golden> {};

TEST_P(OpGolden, OutputsAndGradients) {
  const Golden& golden = GetParam();
  const Safetensors file = golden::read(golden.file);
  const std::string prefix = str(golden.name, "/");
  Graph g;
  EvaluateInputs in;
  NamedTensors given;
  Inputs inputs, wrt;
  std::vector<std::string> names;
  auto add = [&](const std::string& name) {
    const HostTensor& t = golden::tensor(file, prefix + name);
    in.values[name] = t.dtype == DType::kF32 ? std::vector<double>(t.f32.begin(), t.f32.end())
                                             : std::vector<double>(t.i32.begin(), t.i32.end());
    given.emplace_back(name, t);
    return input(g, name, t.dims, Role::kInput, t.dtype);
  };
  for (const char* name : golden.inputs) {
    inputs.push_back(add(name));
    if (golden::tensor(file, prefix + name).dtype == DType::kI32) continue;
    wrt.push_back(inputs.back());
    names.push_back(name);
  }
  const Tensor y = golden.build(inputs);
  const bool is_loss = std::string(golden.output) == "each";
  const std::vector<Tensor> grads = is_loss ? gradients(rows(y), wrt) : gradients(y, wrt, add("upstream"));
  std::map<std::string, std::string> expected{{"out", golden.output}};  // output of the graph → the golden's name
  g.outputs.push_back({"out", y.value});
  for (std::size_t i = 0; i < grads.size(); ++i) {
    g.outputs.push_back({"d_" + names[i], grads[i].value});
    expected["d_" + names[i]] = "grad." + names[i];
  }
  Session session = optest::open(optest::targets()[0], {{"run", g}});
  for (const auto& [name, tensor] : given) session.write(name, tensor);
  session.run("run");
  const Evaluation oracle = evaluate(g, in);
  for (const auto& [ours, theirs] : expected) {
    const std::vector<float>& want = golden::tensor(file, prefix + theirs).f32;
    const std::vector<double> precise(want.begin(), want.end());
    const std::vector<double>& exact = oracle.outputs.at(ours);
    // The goldens are read as f32 and eps, scales and rates are held as f32: 6e-8 each, relative.
    EXPECT_EQ(optest::check_one("oracle " + ours, precise, {exact.begin(), exact.end()}, {2e-7, 2e-8}), "");
    EXPECT_EQ(optest::check_one(ours, precise, session.read(ours).f32, {2e-6, 2e-7}), "");
  }
}

INSTANTIATE_TEST_SUITE_P(PyTorch, OpGolden, testing::ValuesIn(kGoldens), [](const auto& test) {
  std::string name = str(test.param.file, "_", test.param.name);
  for (char& c : name)
    if (c == '.') c = '_';
  return name;
});

}  // namespace
}  // namespace tabgrad
