#include "bench/train_bench.h"

#include <algorithm>
#include <cmath>

#include "graph/evaluate.h"
#include "models/gpt.h"
#include "train/burst.h"

namespace tabgrad::bench {

TrainBench::TrainBench(const BuiltModel& model, const OptimizerConfig& optimizer, double learning_rate,
                       const SessionOptions& options)
    : optimizer_(optimizer),
      learning_rate_(learning_rate),
      session_(make_session(model.entries, options)),
      work_(work_of(session_.program())) {}

std::vector<float> TrainBench::steps(std::int64_t count, const std::function<void(std::int64_t)>& write_batch) {
  std::vector<float> losses(static_cast<std::size_t>(count));
  std::int64_t done = 0;
  const auto issue = [&](std::int64_t i) {
    write_batch(done + i);
    set_step_uniforms(session_, optimizer_, learning_rate_, steps_ + i + 1);
    session_.run("train_step");
  };
  const auto settle = [&](std::int64_t i, int runs_ago) {
    losses[static_cast<std::size_t>(done + i)] = session_.read_scalar_earlier("loss", runs_ago);
    return true;
  };
  while (done < count) {
    const std::int64_t taken = run_burst(session_, count - done, issue, settle);
    done += taken;
    steps_ += taken;
  }
  return losses;
}

Gradients gpt_gradients(const GptConfig& config, const GradientInputs& inputs, const SessionOptions& options) {
  const BuiltModel model = build_gpt_gradients(config);
  Session session = make_session(model.entries, options);
  const auto count = static_cast<std::int64_t>(inputs.tokens.size());
  session.write("tokens", inputs.tokens.data(), count);
  session.write("targets", inputs.targets.data(), count);
  for (const auto& [name, value] : inputs.parameters) session.write(name, value);
  session.run("gradients");
  Gradients out;
  for (const ParameterSpec& p : model.parameters) {
    const HostTensor g = session.read("grad." + p.name);
    out.emplace_back(g.f32.begin(), g.f32.end());
  }
  return out;
}

Gradients exact_gpt_gradients(const GptConfig& config, const GradientInputs& inputs) {
  const BuiltModel model = build_gpt_gradients(config);
  EvaluateInputs values;
  values.values["tokens"] = {inputs.tokens.begin(), inputs.tokens.end()};
  values.values["targets"] = {inputs.targets.begin(), inputs.targets.end()};
  for (const auto& [name, value] : inputs.parameters) values.values[name] = {value.f32.begin(), value.f32.end()};
  const Evaluation oracle = evaluate(model.entries.front().graph, values);
  Gradients out;
  for (const ParameterSpec& p : model.parameters) out.push_back(oracle.outputs.at("grad." + p.name));
  return out;
}

double gradient_distance(const Gradients& got, const Gradients& reference) {
  TG_CHECK(got.size() == reference.size());
  double all = 0;
  for (const auto& parameter : reference)
    for (const double g : parameter) all += g * g;
  double worst = 0;
  for (std::size_t p = 0; p < got.size(); ++p) {
    TG_CHECK(got[p].size() == reference[p].size());
    double difference = 0, norm = 0;
    for (std::size_t i = 0; i < got[p].size(); ++i) {
      difference += (got[p][i] - reference[p][i]) * (got[p][i] - reference[p][i]);
      norm += reference[p][i] * reference[p][i];
    }
    const double ratio = std::sqrt(difference) / std::max(std::sqrt(norm), 1e-6 * std::sqrt(all));
    if (std::isnan(ratio)) return ratio;
    worst = std::max(worst, ratio);
  }
  return worst;
}

}  // namespace tabgrad::bench
