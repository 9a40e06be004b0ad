#include "train/trainer.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "base/clock.h"
#include "base/option_check.h"
#include "nn/train_step.h"
#include "tensor/philox.h"
#include "train/optimizer_fields.h"

namespace tabgrad {
namespace {

// A Philox stream of its own, and a step that no training step has: parameters and dropout never see these words.
constexpr std::uint32_t kShuffleStream = 0x53485546, kShuffleStep = 0xFFFFFFFF;

}  // namespace

void check_trainer(const TrainerConfig& config) {
  need_option(config.epochs >= 1 && config.epochs <= 1'000'000, "epochs", config.epochs,
              "give a whole number from 1 to 1000000");
  need_option(config.batch >= 1 && config.batch <= 1'000'000, "batch", config.batch, "give a whole number from 1 to 1000000");
  TG_CHECK(config.eval_batch >= 1);
  need_option(config.patience >= 0, "patience", config.patience, "give a number of epochs, or 0 to never stop early");
  check_rates(config);
}

Schedule schedule_of(const TrainerConfig& config, std::int64_t training_examples) {
  const std::int64_t per_epoch = (training_examples + config.batch - 1) / config.batch;
  return make_schedule(config.schedule, config.learning_rate, config.warmup, per_epoch * config.epochs);
}

void epoch_order(std::uint64_t seed, std::int64_t epoch, std::span<std::int64_t> order) {
  std::iota(order.begin(), order.end(), std::int64_t{0});
  const std::array<std::uint32_t, 2> key{static_cast<std::uint32_t>(seed), static_cast<std::uint32_t>(seed >> 32)};
  PhiloxWords words{};
  for (std::size_t i = order.size(), drawn = 0; i-- > 1; ++drawn) {
    if (drawn % 4 == 0) {
      words = philox4x32(
          key, {static_cast<std::uint32_t>(drawn / 4), static_cast<std::uint32_t>(epoch), kShuffleStream, kShuffleStep});
    }
    // word·(i+1)/2³²: uniform on 0 … i but for a bias of i/2³².
    const std::uint64_t j = (std::uint64_t{words[drawn % 4]} * (i + 1)) >> 32;
    std::swap(order[i], order[static_cast<std::size_t>(j)]);
  }
}

Trainer::Trainer(Session& session, BatchSource& source, TrainerConfig config)
    : session_(session), source_(source), config_(std::move(config)), started_(std::chrono::steady_clock::now()) {
  check_trainer(config_);
  const std::int64_t examples = source_.examples(Part::kTraining);
  if (examples < 1) fail("there is nothing to train on: the training part holds no window");
  schedule_ = schedule_of(config_, examples);
  steps_per_epoch_ = (examples + config_.batch - 1) / config_.batch;
  order_.resize(static_cast<std::size_t>(std::max(examples, source_.examples(Part::kValidation))));
  best_ = tensors(BufferRole::kParameter);
  losses_.reserve(kMaxBurst);
  state_.train_loss.reserve(static_cast<std::size_t>(config_.epochs));
  state_.validation_loss.reserve(static_cast<std::size_t>(config_.epochs) + 1);
}

Trainer::Event Trainer::advance() {
  losses_.clear();
  if (state_.end != EndReason::kNone) return Event::kEnd;
  const bool validates = source_.examples(Part::kValidation) > 0;
  if (!validates && state_.best_epoch < 0) {
    state_.best_epoch = 0;
    best_.capture(session_);
  }
  if (validates && state_.validation_loss.size() == state_.train_loss.size() && state_.position == 0) {
    evaluate();  // of epoch state_.epoch; 0 is before training
    if (state_.end != EndReason::kNone) return Event::kEnd;
    return Event::kEvaluation;
  }
  if (state_.epoch >= config_.epochs) {
    end(EndReason::kEpochs, str("All ", config_.epochs, " epochs are done."));
  } else if (validates && config_.patience > 0 && state_.epoch - state_.best_epoch >= config_.patience) {
    end(EndReason::kPatience, str("Stopped early: no better validation loss for ", config_.patience, " epochs."));
  } else if (stop_.load(std::memory_order_relaxed)) {
    end(EndReason::kStopped, str("Stopped on request in epoch ", state_.epoch + 1, " of ", config_.epochs, "."));
  } else if (config_.max_seconds > 0 && seconds_since(started_) >= config_.max_seconds) {
    end(EndReason::kTimeLimit, str("Stopped at the time limit in epoch ", state_.epoch + 1, " of ", config_.epochs, "."));
  } else {
    steps();
    return state_.end == EndReason::kNone ? Event::kStep : Event::kEnd;
  }
  return Event::kEnd;
}

void Trainer::shuffle() {
  if (ordered_epoch_ == state_.epoch) return;
  epoch_order(config_.seed, state_.epoch, std::span(order_).first(static_cast<std::size_t>(source_.examples(Part::kTraining))));
  ordered_epoch_ = state_.epoch;
}

void Trainer::steps() {
  const auto start = std::chrono::steady_clock::now();
  shuffle();
  const std::int64_t examples = source_.examples(Part::kTraining), first = state_.step, position = state_.position;
  const auto count_of = [&](std::int64_t i) { return std::min(config_.batch, examples - position - i * config_.batch); };
  const std::int64_t left = (examples - position + config_.batch - 1) / config_.batch;
  const auto issue = [&](std::int64_t i) {
    source_.load(Part::kTraining,
                 std::span(order_).subspan(static_cast<std::size_t>(position + i * config_.batch),
                                           static_cast<std::size_t>(count_of(i))),
                 session_);
    const std::int64_t step = first + i + 1;
    last_rate_ = learning_rate(schedule_, step);
    set_step_uniforms(session_, config_.optimizer, last_rate_, step);
    session_.set_random(config_.seed, static_cast<std::uint32_t>(step));
    session_.run("train_step");
  };
  const auto settle = [&](std::int64_t i, int runs_ago) {
    last_loss_ = session_.read_scalar_earlier("loss", runs_ago);
    const float norm = session_.read_scalar_earlier("grad_norm", runs_ago);
    if (!std::isfinite(last_loss_)) return diverged("the loss", static_cast<double>(last_loss_)), false;
    if (!std::isfinite(norm)) return diverged("the gradient's norm", static_cast<double>(norm)), false;
    state_.step += 1;
    state_.loss_sum += static_cast<double>(last_loss_) * static_cast<double>(count_of(i));
    state_.position += count_of(i);
    losses_.push_back(last_loss_);
    return true;
  };
  // The first step of a process is timed by nobody, so it comes alone.
  const std::int64_t taken = run_burst(session_, timer_.before_first() ? 1 : left, issue, settle);
  if (state_.end != EndReason::kNone) return;
  if (state_.position == examples) {
    state_.train_loss.push_back(state_.loss_sum / static_cast<double>(examples));
    state_.epoch += 1;
    state_.position = 0;
    state_.loss_sum = 0;
    if (source_.examples(Part::kValidation) == 0) {
      state_.best_epoch = state_.epoch;
      best_.capture(session_);
    }
  }
  timer_.add(taken, seconds_since(start));
}

void Trainer::evaluate() {
  const std::int64_t examples = source_.examples(Part::kValidation), size = config_.eval_batch;
  std::iota(order_.begin(), order_.begin() + examples, std::int64_t{0});
  ordered_epoch_ = -1;
  double sum = 0;
  for (std::int64_t done = 0; done < examples;) {
    const auto issue = [&](std::int64_t i) {
      const std::int64_t at = done + i * size;
      source_.load(
          Part::kValidation,
          std::span(order_).subspan(static_cast<std::size_t>(at), static_cast<std::size_t>(std::min(size, examples - at))),
          session_);
      session_.run("evaluate");
    };
    const auto settle = [&](std::int64_t, int runs_ago) {
      sum += static_cast<double>(session_.read_scalar_earlier("eval.loss", runs_ago));
      return true;
    };
    done += size * run_burst(session_, (examples - done + size - 1) / size, issue, settle);
  }
  const double loss = sum / static_cast<double>(examples);
  if (!std::isfinite(loss)) return diverged("the validation loss", loss);
  state_.validation_loss.push_back(loss);
  if (state_.best_epoch >= 0 && loss >= state_.best_loss) return;
  state_.best_epoch = state_.epoch;
  state_.best_loss = loss;
  best_.capture(session_);
}

void Trainer::end(EndReason reason, std::string message) {
  state_.end = reason;
  state_.message = std::move(message);
  current_ = tensors(BufferRole::kParameter);
  current_.capture(session_);
  if (source_.examples(Part::kValidation) == 0 && reason != EndReason::kDiverged) {
    best_ = current_;
  } else if (state_.best_epoch >= 0) {
    best_.put(session_);
  }
}

void Trainer::diverged(const char* what, double value) {
  end(EndReason::kDiverged,
      str("Training diverged: ", what, " became ", value, " at step ", state_.step + 1, " (epoch ", state_.epoch + 1,
          ", learning rate ", last_rate_, "). The best weights so far are kept. Lower --lr, or clip gradients with --clip 1."));
}

NamedTensors Trainer::save() const {
  NamedTensors saved;
  SessionTensors weights = tensors(BufferRole::kParameter), state = tensors(BufferRole::kState);
  weights.capture(session_);
  state.capture(session_);
  (state_.end == EndReason::kNone ? weights : current_).append_to(saved, "weights/");
  state.append_to(saved, "state/");
  best_.append_to(saved, "best/");
  return saved;
}

void Trainer::restore(const TrainerState& state, const NamedTensors& saved) {
  const auto epochs = static_cast<std::int64_t>(state.train_loss.size()),
             evaluations = static_cast<std::int64_t>(state.validation_loss.size());
  const bool validates = source_.examples(Part::kValidation) > 0;
  if (state.epoch != epochs || state.epoch > config_.epochs || state.position >= source_.examples(Part::kTraining) ||
      state.step != state.epoch * steps_per_epoch_ + (state.position + config_.batch - 1) / config_.batch ||
      (validates ? evaluations < epochs || evaluations > epochs + 1 : evaluations != 0)) {
    fail("the checkpoint's numbers do not fit this run: its data or settings differ");
  }
  SessionTensors weights = tensors(BufferRole::kParameter), optimizer = tensors(BufferRole::kState),
                 best = tensors(BufferRole::kParameter);
  weights.fill(saved, "weights/");
  optimizer.fill(saved, "state/");
  best.fill(saved, "best/");
  best_ = std::move(best);
  weights.put(session_);
  optimizer.put(session_);
  state_ = state;
  state_.train_loss.reserve(static_cast<std::size_t>(config_.epochs));
  state_.validation_loss.reserve(static_cast<std::size_t>(config_.epochs) + 1);
  ordered_epoch_ = -1;
  if (state_.end == EndReason::kStopped || state_.end == EndReason::kTimeLimit) {
    state_.end = EndReason::kNone;
    state_.message.clear();
  }
  if (state_.end != EndReason::kNone) {
    current_ = std::move(weights);
    best_.put(session_);
  }
}

}  // namespace tabgrad
