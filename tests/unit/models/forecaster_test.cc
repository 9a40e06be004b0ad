// Forecasters through the double-precision oracle: each kind is differentiated correctly, learns, ignores padding rows, and
// refuses settings that make no sense.
#include "models/forecaster.h"

#include <gtest/gtest.h>

#include <cmath>

#include "graph/evaluate.h"
#include "nn/train_step.h"
#include "tensor/philox.h"

namespace tabgrad {
namespace {

constexpr std::int64_t kBatch = 5, kEvalBatch = 3;

ForecasterConfig small(ForecasterKind kind) {
  ForecasterConfig c = default_forecaster(kind);
  c.window = 6;
  c.horizon = 3;
  c.channels = 2;
  c.future_channels = 2;
  c.units = 8;
  c.heads = 2;
  c.head_units = 7;
  c.layers = 2;
  return c;
}

std::vector<ForecasterConfig> variants() {
  std::vector<ForecasterConfig> all;
  for (const ForecasterKind kind : {ForecasterKind::kLstm, ForecasterKind::kGru, ForecasterKind::kTransformer})
    all.push_back(small(kind));
  all.push_back(small(ForecasterKind::kGru));
  all.back().gru_reset_after = false;
  all.push_back(small(ForecasterKind::kLstm));
  all.back().loss = LossKind::kQuantile;
  all.back().quantiles = {0.1, 0.5, 0.9};
  all.push_back(small(ForecasterKind::kLstm));
  all.back().loss = LossKind::kHuber;
  all.back().horizon = 1;
  all.back().future_channels = 0;
  return all;
}

BuiltModel build(const ForecasterConfig& c, double clip_norm = 1.0) {
  return build_forecaster(c, kBatch, kEvalBatch, OptimizerConfig{}, clip_norm);
}

// Values for every input of the graph that is not given: parameters and data from Philox, weights 1, state 0.
EvaluateInputs make_inputs(const Graph& g, const BuiltModel& model) {
  EvaluateInputs in;
  in.seed = 5;
  in.step = 1;
  in.uniforms = {{"lr", 0.02}, {"bias1", 0.1}, {"bias2", 0.001}};
  std::uint32_t stream = 100;
  for (const Node& node : g.nodes) {
    if (node.op != Op::kInput) continue;
    std::vector<double>& values = in.values[node.name];
    values.assign(static_cast<std::size_t>(num_elements(node.outputs[0].dims)), node.name.ends_with("weight") ? 1.0 : 0.0);
    if (node.role == Role::kState || node.name.ends_with("weight")) continue;
    ++stream;
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<double>(normal(9, stream, i));
  }
  for (std::size_t p = 0; p < model.parameters.size(); ++p) {
    const HostTensor value = initial_value(model.parameters[p], p, 3);
    in.values[model.parameters[p].name].assign(value.f32.begin(), value.f32.end());
  }
  return in;
}

const Graph& entry(const BuiltModel& model, const std::string& name) {
  for (const EntryGraph& e : model.entries)
    if (e.name == name) return e.graph;
  throw Error("no entry " + name);
}

TEST(Forecaster, UntrainedModelForecastsZero) {
  for (const ForecasterConfig& c : variants()) {
    const BuiltModel model = build(c);
    const Evaluation out = evaluate(entry(model, "predict"), make_inputs(entry(model, "predict"), model));
    const std::int64_t q = c.quantiles.empty() ? 1 : static_cast<std::int64_t>(c.quantiles.size());
    const std::vector<double>& y = out.outputs.at("forecast");
    EXPECT_EQ(static_cast<std::int64_t>(y.size()), kEvalBatch * c.horizon * q);
    for (const double v : y) EXPECT_EQ(v, 0.0);
  }
}

// SGD with lr 1 and no decay moves every parameter by −scale·gradient. So the step's length is the clipped norm, and the loss
// falls along it by the squared norm of the gradient: one directional derivative covers every parameter.
TEST(Forecaster, GradientAgreesWithFiniteDifferences) {
  for (const ForecasterConfig& c : variants()) {
    OptimizerConfig sgd;
    sgd.kind = OptimizerConfig::Kind::kSgd;
    sgd.weight_decay = 0.0;
    const BuiltModel model = build_forecaster(c, kBatch, kEvalBatch, sgd, 0.0);
    const Graph& g = entry(model, "train_step");
    EvaluateInputs in = make_inputs(g, model);
    for (const ParameterSpec& p : model.parameters)  // away from the head of zeros, through which nothing flows
      for (std::size_t i = 0; i < in.values[p.name].size(); ++i)
        in.values[p.name][i] += 0.3 * static_cast<double>(normal(77, 1, i));
    in.uniforms["lr"] = 1.0;
    const Evaluation at = evaluate(g, in);
    const double norm = at.outputs.at("grad_norm")[0];
    double moved = 0;
    EvaluateInputs plus = in, minus = in;
    const double h = 1e-5 / norm;
    for (const ParameterSpec& p : model.parameters) {
      for (std::size_t i = 0; i < in.values[p.name].size(); ++i) {
        const double gradient = in.values[p.name][i] - at.updates.at(p.name)[i];
        moved += gradient * gradient;
        plus.values[p.name][i] += h * gradient;
        minus.values[p.name][i] -= h * gradient;
      }
    }
    EXPECT_NEAR(std::sqrt(moved), norm, 1e-9 * norm);
    const double slope = (evaluate(g, plus).outputs.at("loss")[0] - evaluate(g, minus).outputs.at("loss")[0]) / (2 * h);
    EXPECT_NEAR(slope, norm * norm, 1e-5 * norm * norm) << forecaster_kind_name(c.kind);
  }
}

TEST(Forecaster, ClipsTheGlobalNorm) {
  OptimizerConfig sgd;
  sgd.kind = OptimizerConfig::Kind::kSgd;
  sgd.weight_decay = 0.0;
  const BuiltModel model = build_forecaster(small(ForecasterKind::kLstm), kBatch, kEvalBatch, sgd, 1e-3);
  EvaluateInputs in = make_inputs(entry(model, "train_step"), model);
  in.uniforms["lr"] = 1.0;
  const Evaluation out = evaluate(entry(model, "train_step"), in);
  const double norm = out.outputs.at("grad_norm")[0];
  ASSERT_GT(norm, 1e-2);
  double moved = 0;
  for (const ParameterSpec& p : model.parameters)
    for (std::size_t i = 0; i < in.values[p.name].size(); ++i)
      moved += std::pow(in.values[p.name][i] - out.updates.at(p.name)[i], 2);
  EXPECT_NEAR(std::sqrt(moved), 1e-3 * norm / (norm + 1e-6), 1e-9);
}

TEST(Forecaster, Learns) {
  for (const ForecasterConfig& c : variants()) {
    const BuiltModel model = build(c);
    const Graph& g = entry(model, "train_step");
    EvaluateInputs in = make_inputs(g, model);
    double first = 0, last = 0;
    constexpr int kSteps = 40;
    for (int t = 1; t <= kSteps; ++t) {
      const StepUniforms u = step_uniforms(OptimizerConfig{}, 0.02, t);
      in.uniforms["bias1"] = static_cast<double>(u.bias1);
      in.uniforms["bias2"] = static_cast<double>(u.bias2);
      in.step = static_cast<std::uint32_t>(t);
      const Evaluation out = evaluate(g, in);
      if (t == 1) first = out.outputs.at("loss")[0];
      last = out.outputs.at("loss")[0];
      for (const auto& [name, value] : out.updates) in.values[name] = value;
    }
    EXPECT_LT(last, 0.6 * first) << forecaster_kind_name(c.kind);
  }
}

TEST(Forecaster, RowsOfWeightZeroDoNotCount) {
  for (ForecasterConfig c : variants()) {
    c.dropout = 0;
    const BuiltModel model = build(c);
    const Graph& g = entry(model, "train_step");
    EvaluateInputs in = make_inputs(g, model);
    in.values["weight"] = {1, 2, 0, 0.5, 0};
    const Evaluation a = evaluate(g, in);
    for (std::size_t row : {2u, 4u}) {
      const std::size_t x = in.values["x"].size() / kBatch, t = in.values["target"].size() / kBatch;
      for (std::size_t i = 0; i < x; ++i) in.values["x"][row * x + i] += 3.0;
      for (std::size_t i = 0; i < t; ++i) in.values["target"][row * t + i] -= 7.0;
    }
    const Evaluation b = evaluate(g, in);
    EXPECT_EQ(a.outputs.at("loss"), b.outputs.at("loss"));
    EXPECT_EQ(a.updates, b.updates);
  }
}

TEST(Forecaster, EvaluateSumsWhatTrainingAverages) {
  ForecasterConfig c = small(ForecasterKind::kLstm);
  c.dropout = 0;
  const BuiltModel model = build_forecaster(c, kBatch, kBatch, OptimizerConfig{}, 1.0);
  EvaluateInputs in = make_inputs(entry(model, "train_step"), model);
  in.values["weight"] = {1, 2, 0, 0.5, 0};
  for (const char* name : {"x", "future", "target", "weight"}) in.values[str("eval.", name)] = in.values[name];
  EXPECT_NEAR(evaluate(entry(model, "evaluate"), in).outputs.at("eval.loss")[0],
              3.5 * evaluate(entry(model, "train_step"), in).outputs.at("loss")[0], 1e-12);
}

TEST(Forecaster, DropoutFollowsSeedAndStepInTrainingOnly) {
  const BuiltModel model = build(small(ForecasterKind::kTransformer));
  for (const char* name : {"train_step", "evaluate"}) {
    const Graph& g = entry(model, name);
    EvaluateInputs in = make_inputs(g, model);
    for (double& v : in.values["head.out.w"]) v = 0.5;
    const char* loss = name == std::string("evaluate") ? "eval.loss" : "loss";
    const double a = evaluate(g, in).outputs.at(loss)[0];
    EXPECT_EQ(evaluate(g, in).outputs.at(loss)[0], a);
    in.step = 2;
    EXPECT_EQ(evaluate(g, in).outputs.at(loss)[0] == a, name == std::string("evaluate"));
  }
}

TEST(Forecaster, TheTwoResetVariantsDiffer) {
  ForecasterConfig c = small(ForecasterKind::kGru);
  double losses[2] = {};
  for (const bool after : {true, false}) {
    c.gru_reset_after = after;
    const BuiltModel model = build(c);
    EvaluateInputs in = make_inputs(entry(model, "evaluate"), model);
    for (double& v : in.values["head.out.w"]) v = 0.5;
    losses[after] = evaluate(entry(model, "evaluate"), in).outputs.at("eval.loss")[0];
  }
  EXPECT_NE(losses[0], losses[1]);
}

TEST(Forecaster, ParameterCounts) {
  // LSTM 1 layer: 4·64·(C + 64 + 1); head: 65·64 + 64 + 1; 5 calendar channels: 5·64; 12 steps: 12·64.
  ForecasterConfig c;
  c.channels = 2;
  EXPECT_EQ(parameter_count(build(c).parameters), 4 * 64 * 67 + 65 * 64 + 65);
  c.future_channels = 5;
  c.horizon = 12;
  EXPECT_EQ(parameter_count(build(c).parameters), 4 * 64 * 67 + 65 * 64 + 65 + 5 * 64 + 12 * 64);
}

// The settings are refused with a message that names the option.
void expect_refused(void (*change)(ForecasterConfig&), const std::string& mention) {
  ForecasterConfig c = default_forecaster(ForecasterKind::kTransformer);
  change(c);
  try {
    check_forecaster(c);
    ADD_FAILURE() << "accepted: " << mention;
  } catch (const Error& e) {
    EXPECT_NE(std::string(e.what()).find(mention), std::string::npos) << e.what();
  }
}

TEST(Forecaster, RefusesSettings) {
  expect_refused([](ForecasterConfig& c) { c.window = 0; }, "--window");
  expect_refused([](ForecasterConfig& c) { c.horizon = -1; }, "--horizon");
  expect_refused([](ForecasterConfig& c) { c.units = 0; }, "--units");
  expect_refused([](ForecasterConfig& c) { c.layers = 0; }, "--layers");
  expect_refused([](ForecasterConfig& c) { c.heads = 5; }, "--heads");
  expect_refused([](ForecasterConfig& c) { c.dropout = 1.0; }, "--dropout");
  expect_refused([](ForecasterConfig& c) { c.dropout = std::nan(""); }, "--dropout");
  expect_refused([](ForecasterConfig& c) { c.loss = LossKind::kQuantile; }, "--quantiles");
  expect_refused([](ForecasterConfig& c) { c.quantiles = {0.5}; }, "--quantiles");
  expect_refused(
      [](ForecasterConfig& c) {
        c.loss = LossKind::kQuantile;
        c.quantiles = {0.9, 0.1};
      },
      "--quantiles");
  expect_refused(
      [](ForecasterConfig& c) {
        c.loss = LossKind::kHuber;
        c.huber_delta = 0;
      },
      "--huber-delta");
  EXPECT_THROW(forecaster_kind_from("rnn"), Error);
  EXPECT_THROW(loss_kind_from("l2"), Error);
}

}  // namespace
}  // namespace tabgrad
