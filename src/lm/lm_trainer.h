// LmTrainer: steps over a corpus, with validation at an interval and the best weights kept.
//
// Does: draws windows, sets rates and random keys, runs train_step and evaluate, watches for divergence, can be saved and
// restored between any two steps. Does not: print, write files, loop by itself: whoever drives it calls advance() and may do
// anything (or nothing: a pause) in between.
//
// Invariants:
// - What a step computes depends on (seed, step) and the weights alone, so a restored run continues with the bits of an
//   uninterrupted one.
// - After every kind of end the session holds the best weights by validation loss (without
//   validation the last ones, or after a divergence those of the last multiple of eval_every).
// - advance() allocates nothing but the growing lists of losses.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "engine/engine.h"
#include "graph/compose/compose.h"
#include "lm/corpus.h"
#include "models/gpt_config.h"
#include "train/burst.h"
#include "train/schedule.h"
#include "train/session_tensors.h"
#include "train/trainer.h"

namespace tabgrad {

struct LmTrainerConfig {
  std::int64_t steps = 1500;
  std::int64_t accumulate = 1;      // batches a step; above 1 the session has accumulate and apply instead of train_step
  std::int64_t eval_every = 100;    // steps between validations; there is one before the first and one after the last step
  std::int64_t eval_batches = 20;  // of a validation, always the same ones, spread evenly over the part
  ScheduleKind schedule = ScheduleKind::kCosine;
  double learning_rate = 3e-3;
  double warmup = 0.05;  // part of all steps
  double lr_floor = 0;   // part of the learning rate at which linear and cosine end
  double max_seconds = 0;  // of this process; 0: no limit
  OptimizerConfig optimizer;
  std::uint64_t seed = 1;
};
// Throws Error naming the option and what is allowed.
void check_lm_trainer(const LmTrainerConfig& config);

// A run's numbers; with the tensors of save() all there is to a checkpoint.
struct LmTrainerState {
  std::int64_t step = 0;            // finished steps
  std::vector<double> train_loss;   // of each step, nats a token
  std::vector<double> grad_norm;    // before clipping
  std::vector<std::int64_t> validation_step;
  std::vector<double> validation_loss;  // nats a token
  std::int64_t best_step = -1;
  double best_loss = 0;
  EndReason end = EndReason::kNone;
  std::string message;  // a plain sentence on why it ended
};

class LmTrainer {
 public:
  // Keeps references. The session's weights are the starting point.
  LmTrainer(Session& session, const Corpus& corpus, const GptConfig& model, const std::vector<std::string>& parameters,
            const std::vector<std::string>& optimizer_states, LmTrainerConfig config);

  enum class Event : unsigned char { kStep, kEvaluation, kEnd };
  // Does the next piece of work: one step, or a few where the device runs behind (train/burst.h), or one batch of a validation
  // (kEvaluation when the last of them is done, kStep before). kEnd: there is no more (now, or since before).
  Event advance();
  // Ends the run at the next advance(). May be called from another thread or a signal handler.
  void request_stop() { stop_.store(true, std::memory_order_relaxed); }

  const LmTrainerState& state() const { return state_; }
  const LmTrainerConfig& config() const { return config_; }
  double last_rate() const { return last_rate_; }
  double rate_of(std::int64_t step) const { return learning_rate(schedule_, step); }  // steps count from 1
  bool validating() const { return validating_ >= 0; }
  const StepTimer& timer() const { return timer_; }

  // Mean loss over the whole validation part of the weights in the session, nats a token.
  double validate_all();

  // "weights/", "state/" (the optimizer's) and "best/" tensors: the run as it stands, after an end too.
  NamedTensors save();
  // Continues a saved run; one that was stopped or timed out is under way again. Throws Error naming what does not fit.
  void restore(const LmTrainerState& state, const NamedTensors& saved);

 private:
  // Losses of validation windows, added up batch by batch.
  struct Sum {
    double loss = 0;
    std::int64_t count = 0;
    // batch number `batch` of `batches`, which are spread evenly over the validation part.
    void add(LmTrainer& trainer, std::int64_t batch, std::int64_t batches);
    double mean() const { return loss / static_cast<double>(count); }
  };
  std::int64_t validation_batches() const;  // that hold the whole part
  bool validation_due() const;
  Event validate_some();
  void load_batch(std::int64_t batch);
  void begin_step(std::int64_t step);
  bool finish_step(double loss, float norm);  // false: it diverged
  std::int64_t whole_steps();  // both give the number of steps taken
  std::int64_t step_in_pieces();
  void steps();
  void end(EndReason reason, std::string message);
  void diverged(const char* what, double value);

  Session& session_;
  const Corpus& corpus_;
  std::int64_t batch_, context_;
  LmTrainerConfig config_;
  Schedule schedule_;
  LmTrainerState state_;
  SessionTensors best_, current_, optimizer_;
  std::vector<std::int32_t> tokens_, targets_;
  std::vector<float> nll_;
  std::int64_t validating_ = -1;  // next batch of the validation under way
  Sum validation_;
  std::atomic<bool> stop_{false};
  std::chrono::steady_clock::time_point started_;
  double last_rate_ = 0;
  StepTimer timer_;
};

}  // namespace tabgrad
