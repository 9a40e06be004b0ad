// Optimizer updates over several steps: SGD, Adam, AdamW with their options, a clip scale and a learning rate that changes;
// and the decompositions against their textbook formulas.
#include <gtest/gtest.h>

#include <cmath>

#include "graph/compose/compose.h"
#include "optest/optest.h"

namespace tabgrad::optest {
namespace {

using Kind = OptimizerConfig::Kind;

std::map<std::string, double> schedule(int step) {
  return {{"lr", 0.1 / (step + 1)}, {"bias1", 1 - std::pow(0.9, step + 1)}, {"bias2", 1 - std::pow(0.999, step + 1)}};
}

Case optimizer(const std::string& name, OptimizerConfig config, std::vector<double> decays) {
  return {.name = "optimizer_" + name,
          .inputs = {{.name = "p", .dims = {33, 7}, .role = Role::kParameter},
                     {.name = "q", .dims = {5}, .role = Role::kParameter},
                     {.name = "r", .dims = {}, .role = Role::kParameter},
                     {"gp", {33, 7}},
                     {"gq", {5}},
                     {"gr", {}},
                     {"scale", {}, 0.3, 0.9}},
          .build =
              [config, decays](Graph&, const std::vector<Tensor>& in) {
                for (std::size_t i = 0; i < 3; ++i) optimizer_update(in[i], in[i + 3] * tanh(in[i]), in[6], config, decays[i]);
                return std::vector<Tensor>{sum(in[0] * in[0], {0, 1})};  // of the values before the update
              },
          .forward = {1e-5, 1e-6},
          .gradients = false,
          .steps = 3,
          .uniforms = schedule};
}

// Five Newton-Schulz steps multiply rounding errors: the smallest singular values grow by up to 3.4 in each.
Case muon(const std::string& name, Dims dims) {
  return {.name = "optimizer_" + name,
          .inputs = {{.name = "p", .dims = dims, .role = Role::kParameter},
                     {.name = "b", .dims = {5}, .role = Role::kParameter},
                     {"gp", dims},
                     {"gb", {5}},
                     {"scale", {}, 0.3, 0.9}},
          .build =
              [](Graph&, const std::vector<Tensor>& in) {
                for (std::size_t i = 0; i < 2; ++i) optimizer_update(in[i], in[i + 2], in[4], {.kind = Kind::kMuon}, 0.1, true);
                return std::vector<Tensor>{sum(in[0] * in[0], {0, 1})};
              },
          .forward = {1e-4, 1e-5},
          .gradients = false,
          .steps = 3,
          .uniforms = schedule};
}

const bool kAdded = add_cases({
    optimizer("sgd", {.kind = Kind::kSgd}, {0, 0, 0}),
    optimizer("sgd_momentum", {.kind = Kind::kSgd, .momentum = 0.9}, {0, 0, 0}),
    optimizer("sgd_nesterov_decay", {.kind = Kind::kSgd, .momentum = 0.8, .nesterov = true}, {0.1, 0, 0.1}),
    optimizer("adam", {.kind = Kind::kAdam}, {0, 0, 0}),
    optimizer("adam_decay", {.kind = Kind::kAdam}, {0.1, 0, 0.2}),
    optimizer("adamw", {.kind = Kind::kAdamW}, {0.1, 0, 0.1}),
    optimizer("adamw_options", {.kind = Kind::kAdamW, .beta1 = 0.7, .beta2 = 0.95, .eps = 1e-3}, {0.3, 0.3, 0}),
    optimizer("lion", {.kind = Kind::kLion, .beta1 = 0.9, .beta2 = 0.99}, {0.1, 0, 0.1}),
    muon("muon_wide", {12, 33}),
    muon("muon_tall", {33, 7}),
    // A parameter that is also read by the step's loss after it was updated must read its old value.
    {.name = "optimizer_update_reads_old_values",
     .inputs = {{.name = "p", .dims = {40}, .role = Role::kParameter}, {.name = "q", .dims = {40}, .role = Role::kParameter}},
     .build =
         [](Graph& g, const std::vector<Tensor>& in) {
           g.updates.push_back({in[0].value, (in[0] + in[1]).value});
           g.updates.push_back({in[1].value, (in[0] - in[1]).value});
           return std::vector<Tensor>{in[0] * in[1]};
         },
     .gradients = false,
     .steps = 3},
});

// One scalar parameter by the formulas as PyTorch's documentation has them.
struct Textbook {
  double p = 0.5, m = 0, v = 0;
  void step(const OptimizerConfig& c, double wd, double lr, double g, int t) {
    if (c.kind == Kind::kAdamW) p -= lr * wd * p;
    if (c.kind != Kind::kAdamW) g += wd * p;
    if (c.kind == Kind::kSgd) {
      v = t == 1 ? g : c.momentum * v + g;
      p -= lr * (c.nesterov ? g + c.momentum * v : v);
      return;
    }
    m = c.beta1 * m + (1 - c.beta1) * g;
    v = c.beta2 * v + (1 - c.beta2) * g * g;
    const double m_hat = m / (1 - std::pow(c.beta1, t)), v_hat = v / (1 - std::pow(c.beta2, t));
    p -= lr * m_hat / (std::sqrt(v_hat) + c.eps);
  }
};

TEST(Optimizer, DecompositionsFollowTheFormulas) {
  const std::vector<std::pair<OptimizerConfig, double>> configs{{{.kind = Kind::kSgd, .momentum = 0.9}, 0.1},
                                                                {{.kind = Kind::kSgd, .momentum = 0.9, .nesterov = true}, 0.0},
                                                                {{.kind = Kind::kAdam}, 0.1},
                                                                {{.kind = Kind::kAdamW, .eps = 1e-4}, 0.1}};
  for (const auto& [config, decay] : configs) {
    Graph g;
    const Tensor p = input(g, "p", {}, Role::kParameter);
    optimizer_update(p, input(g, "g", {}), input(g, "scale", {}), config, decay);
    EvaluateInputs in;
    in.values = {{"p", {0.5}}, {"p.m", {0}}, {"p.v", {0}}, {"scale", {0.5}}};
    Textbook expected;
    for (int t = 1; t <= 5; ++t) {
      const double gradient = std::sin(t * 1.7), lr = 0.1 / t;
      in.values["g"] = {gradient};
      in.uniforms = {{"lr", lr}, {"bias1", 1 - std::pow(config.beta1, t)}, {"bias2", 1 - std::pow(config.beta2, t)}};
      for (const auto& [name, value] : evaluate(g, in).updates) in.values[name] = value;
      expected.step(config, decay, lr, 0.5 * gradient, t);
      EXPECT_NEAR(in.values["p"][0], expected.p, 1e-6) << t;  // beta1, eps, … are held as f32
    }
  }
}

TEST(Optimizer, SwapsByNameAreRefused) {  // they would need a third place
  Graph g;
  const Tensor p = input(g, "p", {40}, Role::kState), q = input(g, "q", {40}, Role::kState);
  g.updates = {{p.value, q.value}, {q.value, p.value}};
  EXPECT_THROW(open(targets()[0], {{"run", g}}), Error);
}

}  // namespace
}  // namespace tabgrad::optest
