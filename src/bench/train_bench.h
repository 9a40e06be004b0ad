// What benchmarks do with a model, natively and in a page: train steps on given batches, and how far its gradients are from others.
//
// A step is: the batch is written, forward, loss, backward, clipping, optimizer, and the loss read back (BENCHMARKS §2). Where the
// device runs behind the host, steps overlap as in training (train/burst.h).
// Does not: make weights and batches, take times, know what a curve is.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "cost/cost_model.h"
#include "engine/engine.h"
#include "models/built_model.h"
#include "models/gpt_config.h"
#include "nn/train_step.h"

namespace tabgrad::bench {

class TrainBench {
 public:
  // Compiles and loads; parameters are zeros.
  TrainBench(const BuiltModel& model, const OptimizerConfig& optimizer, double learning_rate, const SessionOptions& options);

  // Steps number `count`; write_batch(i) writes the inputs of step i = 0, 1, … of this call. Returns the losses.
  std::vector<float> steps(std::int64_t count, const std::function<void(std::int64_t)>& write_batch);

  // Steps to time as one: several where the device runs behind the host, so that the wait for the last loss is shared.
  std::int64_t group() const { return session_.runs_in_flight() > 1 ? 8 : 1; }

  Session& session() { return session_; }
  const StepWork& work() const { return work_; }

 private:
  OptimizerConfig optimizer_;
  double learning_rate_ = 0;
  std::int64_t steps_ = 0;
  Session session_;
  StepWork work_;
};

// One array a parameter, in the order of the model's list.
using Gradients = std::vector<std::vector<double>>;
struct GradientInputs {
  NamedTensors parameters;
  std::vector<std::int32_t> tokens, targets;  // (B,T)
};
Gradients gpt_gradients(const GptConfig& config, const GradientInputs& inputs, const SessionOptions& options);
// By the double-precision oracle: seconds for the smallest preset, minutes from "medium" up.
Gradients exact_gpt_gradients(const GptConfig& config, const GradientInputs& inputs);
// The largest ‖Δ‖ / max(‖g‖, 1e-6·‖all g‖) over the parameters: a key projection's bias has no gradient in exact arithmetic.
// NaN where any gradient is.
double gradient_distance(const Gradients& got, const Gradients& reference);

}  // namespace tabgrad::bench
