// Whole train steps as one entry: forward, loss, backward, global-norm clip, optimizer; several steps with a schedule, then the
// updated parameters through a forward entry that shares them.
#include <gtest/gtest.h>

#include <cmath>

#include "graph/autodiff.h"
#include "graph/compose/compose.h"
#include "optest/optest.h"

namespace tabgrad::optest {
namespace {

std::map<std::string, double> schedule(int step) {
  const double lr[] = {0.01, 0.02, 0.0, 0.05, 0.005};
  return {{"lr", lr[step % 5]}, {"bias1", 1 - std::pow(0.9, step + 1)}, {"bias2", 1 - std::pow(0.999, step + 1)}};
}

// Adds gradients, clip by global norm and updates; returns {loss, norm}.
std::vector<Tensor> train_step(Tensor loss, const std::vector<Tensor>& parameters, OptimizerConfig config, double clip) {
  const std::vector<Tensor> grads = gradients(loss, parameters);
  const Tensor norm = sqrt(sum_squares(grads));
  const Tensor scale = minimum(constant(*loss.graph, 1.0), constant(*loss.graph, clip) / (norm + 1e-6));
  for (std::size_t i = 0; i < parameters.size(); ++i)
    optimizer_update(parameters[i], grads[i], scale, config, parameters[i].rank() > 1 ? 0.1 : 0.0);
  return {loss, norm};
}

Spec parameter(const std::string& name, Dims dims, double low = -0.5, double high = 0.5) {
  return {.name = name, .dims = std::move(dims), .low = low, .high = high, .role = Role::kParameter};
}

Case train(const std::string& name, std::vector<Spec> inputs,
           std::function<std::vector<Tensor>(Graph&, const std::vector<Tensor>&)> build) {
  return {.name = "train_" + name,
          .inputs = std::move(inputs),
          .build = std::move(build),
          .forward = {5e-5, 2e-6},
          .gradients = false,
          .steps = 5,
          .uniforms = schedule};
}

std::vector<Tensor> tail(const std::vector<Tensor>& all, std::size_t first) {
  return {all.begin() + static_cast<std::ptrdiff_t>(first), all.end()};
}

std::vector<Tensor> mlp(const std::vector<Tensor>& in, OptimizerConfig config) {
  const Tensor y = linear(gelu(linear(tanh(linear(in[0], in[2], in[3])), in[4], in[5])), in[6], in[7]);
  return train_step(mean(mse_loss(y, in[1]), {0, 1}), tail(in, 2), config, 0.5);
}
const std::vector<Spec> kMlp{{"x", {16, 6}},           {"target", {16, 2}},  parameter("w1", {6, 20}), parameter("b1", {20}),
                             parameter("w2", {20, 9}), parameter("b2", {9}), parameter("w3", {9, 2}),  parameter("b3", {2})};

const bool kAdded = add_cases({
    train("mlp_adamw", kMlp, [](Graph&, const std::vector<Tensor>& in) { return mlp(in, {}); }),
    train("mlp_adam", kMlp,
          [](Graph&, const std::vector<Tensor>& in) { return mlp(in, {.kind = OptimizerConfig::Kind::kAdam}); }),
    train("mlp_sgd", kMlp,
          [](Graph&, const std::vector<Tensor>& in) {
            return mlp(in, {.kind = OptimizerConfig::Kind::kSgd, .momentum = 0.9, .nesterov = true});
          }),
    train("lstm_forecaster",
          {{"x", {7, 12, 3}},
           {"target", {7, 4}},
           parameter("w", {3, 32}),
           parameter("b", {32}),
           parameter("u", {8, 32}),
           parameter("w2", {8, 32}),
           parameter("b2", {32}),
           parameter("u2", {8, 32}),
           parameter("head", {8, 4}),
           parameter("hb", {4})},
          [](Graph&, const std::vector<Tensor>& in) {
            const Tensor centre = mean(in[0], {1}, true);
            const Tensor x = permute(in[0] - centre, {1, 0, 2});
            const Tensor y1 = dropout(lstm_sequence(linear(x, in[2], in[3]), in[4]), 0.2, 1);
            const Tensor y2 = lstm_sequence(linear(y1, in[5], in[6]), in[7]);
            const Tensor last = dropout(reshape(slice(y2, 0, 11, 12), {7, 8}), 0.2, 2);
            const Tensor y = linear(last, in[8], in[9]) + slice(reshape(centre, {7, 3}), 1, 0, 1);
            return train_step(mean(huber_loss(y, in[1]), {0, 1}), tail(in, 2), {}, 1.0);
          }),
    train("gru_quantile_forecaster",
          {{"x", {5, 9, 2}},
           {"target", {5, 3}},
           parameter("w", {2, 21}),
           parameter("b", {21}),
           parameter("u", {7, 21}),
           parameter("ub", {21}),
           parameter("head", {7, 9})},
          [](Graph&, const std::vector<Tensor>& in) {
            const Tensor y = gru_sequence(linear(permute(in[0], {1, 0, 2}), in[2], in[3]), in[4], in[5], true);
            const Tensor bands = matmul(reshape(slice(y, 0, 8, 9), {5, 7}), in[6]);
            Tensor total;
            for (std::int64_t i = 0; i < 3; ++i) {
              const double q[] = {0.1, 0.5, 0.9};
              const Tensor part = mean(quantile_loss(slice(bands, 1, 3 * i, 3 * i + 3), in[1], q[i]), {0, 1});
              total = total.graph ? total + part : part;
            }
            return train_step(total, tail(in, 2), {}, 1.0);
          }),
    train("conv_forecaster",
          {{"x", {5, 16, 2}},
           {"target", {5, 1}},
           parameter("w", {3, 2, 6}),
           parameter("b", {6}),
           parameter("w2", {3, 6, 6}),
           parameter("b2", {6}),
           parameter("head", {6, 1})},
          [](Graph&, const std::vector<Tensor>& in) {
            const Tensor y = silu(conv1d(silu(conv1d(in[0], in[2], in[3], 2, 0)), in[4], in[5], 2, 0));
            return train_step(mean(mse_loss(matmul(mean(y, {1}), in[6]), in[1]), {0, 1}), tail(in, 2), {}, 1.0);
          }),
    // A GPT of two layers with tied embedding.
    train("gpt",
          {{.name = "ids", .dims = {2, 9}, .ids = 23},
           {.name = "next", .dims = {2, 9}, .ids = 23},
           parameter("wte", {23, 12}),
           parameter("wpe", {9, 12}),
           parameter("g1", {12}, 0.5, 1.5),
           parameter("c1", {12}),
           parameter("qkv1", {12, 36}),
           parameter("o1", {12, 12}),
           parameter("g2", {12}, 0.5, 1.5),
           parameter("c2", {12}),
           parameter("up1", {12, 48}),
           parameter("ub1", {48}),
           parameter("down1", {48, 12}),
           parameter("g3", {12}, 0.5, 1.5),
           parameter("qkv2", {12, 24}),
           parameter("o2", {12, 12}),
           parameter("gf", {12}, 0.5, 1.5),
           parameter("cf", {12})},
          [](Graph&, const std::vector<Tensor>& in) {
            Tensor x = gather(in[2], in[0]) + in[3];
            x = x + matmul(attention(matmul(layer_norm(x, in[4], in[5]), in[6]), {.heads = 3, .kv_heads = 3}), in[7]);
            x = x + matmul(gelu(linear(layer_norm(x, in[8], in[9]), in[10], in[11])), in[12]);
            x = x + matmul(attention(matmul(rms_norm(x, in[13]), in[14]), {.heads = 2, .kv_heads = 1}), in[15]);
            const Tensor logits = matmul(layer_norm(x, in[16], in[17]), in[2], false, true);
            return train_step(mean(cross_entropy(logits, in[1]), {0, 1}), tail(in, 2), {}, 1.0);
          }),
    // Plain gradient descent by hand: updates that are no optimizer composite.
    train("by_hand", {{"x", {30, 4}}, {"target", {30, 1}}, parameter("w", {4, 1})},
          [](Graph& g, const std::vector<Tensor>& in) {
            const Tensor loss = mean(mse_loss(matmul(in[0], in[2]), in[1]), {0, 1});
            g.updates.push_back({in[2].value, (in[2] - gradients(loss, {in[2]})[0] * uniform(g, "lr")).value});
            return std::vector<Tensor>{loss};
          }),
});

// Trained long enough, each model must learn: gradients that point elsewhere would not.
TEST(Train, LossFallsOverTwoHundredSteps) {
  for (const Case& test : all_cases()) {
    if (!test.name.starts_with("train_")) continue;
    const Prepared p = prepare(test);
    Session session = open(targets()[0], {{"step", p.backward}});
    for (const auto& [name, tensor] : p.inputs) session.write(name, tensor);
    float first = 0, last = 0;
    for (int step = 0; step < 200; ++step) {
      session.set_uniform("lr", 0.02f);
      for (const std::string& name : session.program().uniforms)
        if (name != "lr") session.set_uniform(name, static_cast<float>(uniforms_of(test, step).at(name)));
      session.set_random(1, static_cast<std::uint32_t>(step));
      session.run("step");
      last = session.read_scalar("y0");
      if (step == 0) first = last;
    }
    EXPECT_LT(last, 0.9f * first) << test.name;
  }
}

}  // namespace
}  // namespace tabgrad::optest
