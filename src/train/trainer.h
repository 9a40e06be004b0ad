// Trainer: epochs over a batch source, with validation after each, early stopping and the best weights kept.
//
// Does: draws the order of examples, sets rates and random keys, runs train_step and evaluate, watches for divergence, and
// can be saved and restored between any two steps. Does not: make batches, print, write files, own threads or loop by itself:
// whoever drives it calls advance() and may do anything (or nothing: a pause) in between.
//
// Invariants:
// - What a step computes depends on (seed, step, epoch, position) and the weights alone, so a restored run continues with
//   the bits of an uninterrupted one.
// - After every kind of end the session holds the best weights by validation loss (the last ones without validation).
//   A run that diverged keeps the best of the time before.
// - advance() allocates nothing after the first step and the first evaluation.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "engine/engine.h"
#include "graph/compose/compose.h"
#include "train/burst.h"
#include "train/schedule.h"
#include "train/session_tensors.h"

namespace tabgrad {

enum class Part : unsigned char { kTraining, kValidation };

// Where batches come from. Examples of a part are numbered from 0.
class BatchSource {
 public:
  virtual ~BatchSource() = default;
  virtual std::int64_t examples(Part part) const = 0;
  // Writes the inputs of train_step (kTraining) or evaluate (kValidation). There may be fewer chosen examples than the
  // entry's batch: the rest has weight 0. Allocates nothing after the first call.
  virtual void load(Part part, std::span<const std::int64_t> chosen, Session& session) = 0;
};

struct TrainerConfig {
  std::int64_t epochs = 40;
  std::int64_t batch = 64, eval_batch = 256;
  std::int64_t patience = 10;  // epochs without a better validation loss before it stops; 0: never
  ScheduleKind schedule = ScheduleKind::kCosine;
  double learning_rate = 3e-3;
  double warmup = 0.05;    // part of all steps
  double max_seconds = 0;  // of this process; 0: no limit
  OptimizerConfig optimizer;
  std::uint64_t seed = 0;
};
// Throws Error naming the option and what is allowed.
void check_trainer(const TrainerConfig& config);
// The schedule of a run with this many training examples. kStep drops to a tenth at each third of the run.
Schedule schedule_of(const TrainerConfig& config, std::int64_t training_examples);

enum class EndReason : unsigned char { kNone, kEpochs, kPatience, kStopped, kTimeLimit, kDiverged };

// A run's numbers; with the tensors of save() all there is to a checkpoint.
struct TrainerState {
  std::int64_t epoch = 0;               // finished epochs
  std::int64_t step = 0;                // finished steps
  std::int64_t position = 0;            // examples taken in the epoch under way
  double loss_sum = 0;                  // Σ loss · examples of the epoch under way
  std::vector<double> train_loss;       // mean of each finished epoch
  std::vector<double> validation_loss;  // [0] is before training; empty without validation
  std::int64_t best_epoch = -1;         // 0: the untrained model
  double best_loss = 0;
  EndReason end = EndReason::kNone;
  std::string message;  // a plain sentence on why it ended
};

class Trainer {
 public:
  // Keeps references. The session's weights are the starting point.
  Trainer(Session& session, BatchSource& source, TrainerConfig config);

  enum class Event : unsigned char { kStep, kEvaluation, kEnd };
  // Does the next piece of work: one step, or a few where the device runs behind (train/burst.h), or the evaluation between
  // epochs. kEnd: there is no more (now, or since before).
  Event advance();
  // Ends the run at the next advance(). May be called from another thread or a signal handler.
  void request_stop() { stop_.store(true, std::memory_order_relaxed); }

  const TrainerState& state() const { return state_; }
  const TrainerConfig& config() const { return config_; }
  std::int64_t steps_per_epoch() const { return steps_per_epoch_; }
  // Losses of the steps of the last advance().
  std::span<const float> losses() const { return losses_; }
  float last_loss() const { return last_loss_; }
  double last_rate() const { return last_rate_; }
  const StepTimer& timer() const { return timer_; }

  // "weights/", "state/" (the optimizer's) and "best/" tensors: the run as it stands, after an end too.
  NamedTensors save() const;
  // Continues a saved run; one that was stopped or timed out is under way again. Throws Error naming the tensor that lacks
  // or does not fit.
  void restore(const TrainerState& state, const NamedTensors& saved);

 private:
  SessionTensors tensors(BufferRole role) const { return {session_, session_.names(role)}; }
  void shuffle();
  void steps();
  void evaluate();
  void end(EndReason reason, std::string message);
  void diverged(const char* what, double value);

  Session& session_;
  BatchSource& source_;
  TrainerConfig config_;
  Schedule schedule_;
  std::int64_t steps_per_epoch_ = 0;
  TrainerState state_;
  std::vector<std::int64_t> order_;
  std::int64_t ordered_epoch_ = -1;  // whose order order_ is
  SessionTensors best_;              // weights
  SessionTensors current_;           // weights at the end, which best_ replaced in the session
  std::atomic<bool> stop_{false};
  std::chrono::steady_clock::time_point started_;
  std::vector<float> losses_;
  float last_loss_ = 0;
  double last_rate_ = 0;
  StepTimer timer_;
};

// The order in which an epoch takes its examples: Fisher-Yates with Philox words keyed by (seed, epoch).
void epoch_order(std::uint64_t seed, std::int64_t epoch, std::span<std::int64_t> order);

}  // namespace tabgrad
