#include "lm/lm_trainer.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/clock.h"
#include "base/option_check.h"
#include "nn/train_step.h"
#include "train/optimizer_fields.h"

namespace tabgrad {

void check_lm_trainer(const LmTrainerConfig& c) {
  need_option(c.steps >= 1 && c.steps <= 1'000'000'000, "steps", c.steps, "give a whole number from 1");
  need_option(c.accumulate >= 1 && c.accumulate <= 1'000'000, "accumulate", c.accumulate, "give a number of batches from 1");
  need_option(c.eval_every >= 1, "eval-every", c.eval_every, "give a number of steps from 1");
  need_option(c.eval_batches >= 1, "eval-batches", c.eval_batches, "give a number of batches from 1");
  check_rates(c);
  need_option(c.lr_floor >= 0 && c.lr_floor <= 1, "lr-floor", c.lr_floor, "give the part of the learning rate, from 0 to 1");
  need_option(c.optimizer.weight_decay >= 0, "weight-decay", c.optimizer.weight_decay, "give a number from 0");
}

LmTrainer::LmTrainer(Session& session, const Corpus& corpus, const GptConfig& model, const std::vector<std::string>& parameters,
                     const std::vector<std::string>& optimizer_states, LmTrainerConfig config)
    : session_(session),
      corpus_(corpus),
      batch_(model.batch),
      context_(model.context),
      config_(std::move(config)),
      best_(session, parameters),
      current_(session, parameters),
      optimizer_(session, optimizer_states),
      tokens_(static_cast<std::size_t>(batch_ * context_)),
      targets_(tokens_.size()),
      nll_(static_cast<std::size_t>(batch_)),
      started_(std::chrono::steady_clock::now()) {
  check_lm_trainer(config_);
  corpus_.check_context(context_);
  schedule_ = make_schedule(config_.schedule, config_.learning_rate, config_.warmup, config_.steps, config_.lr_floor);
}

bool LmTrainer::validation_due() const {
  if (corpus_.validation_windows(context_) == 0) return false;
  if (!state_.validation_step.empty() && state_.validation_step.back() == state_.step) return false;
  return state_.step % config_.eval_every == 0 || state_.step == config_.steps;
}

void LmTrainer::Sum::add(LmTrainer& trainer, std::int64_t batch, std::int64_t batches) {
  const std::int64_t size = trainer.batch_, windows = trainer.corpus_.validation_windows(trainer.context_);
  const std::int64_t all = (windows + size - 1) / size, first = batch * all / batches * size;
  const auto length = static_cast<std::size_t>(trainer.context_);
  for (std::int64_t row = 0; row < size; ++row) {  // past the last window it is taken again, and does not count
    const auto at = static_cast<std::size_t>(row) * length;
    trainer.corpus_.validation_window(std::min(first + row, windows - 1), std::span(trainer.tokens_).subspan(at, length),
                                      std::span(trainer.targets_).subspan(at, length));
  }
  const auto tokens = static_cast<std::int64_t>(trainer.tokens_.size());
  trainer.session_.write("eval.tokens", trainer.tokens_.data(), tokens);
  trainer.session_.write("eval.targets", trainer.targets_.data(), tokens);
  trainer.session_.run("evaluate");
  trainer.session_.read("eval.nll", trainer.nll_.data(), size);
  for (std::int64_t row = 0; row < std::min(size, windows - first); ++row, ++count)
    loss += static_cast<double>(trainer.nll_[static_cast<std::size_t>(row)]);
}

std::int64_t LmTrainer::validation_batches() const { return (corpus_.validation_windows(context_) + batch_ - 1) / batch_; }

double LmTrainer::validate_all() {
  Sum sum;
  const std::int64_t batches = validation_batches();
  for (std::int64_t b = 0; b < batches; ++b) sum.add(*this, b, batches);
  return sum.mean();
}

LmTrainer::Event LmTrainer::validate_some() {
  if (validating_ < 0) {
    validating_ = 0;
    validation_ = {};
  }
  const std::int64_t batches = std::min(validation_batches(), config_.eval_batches);
  validation_.add(*this, validating_, batches);
  if (++validating_ < batches) return Event::kStep;
  validating_ = -1;
  const double loss = validation_.mean();
  if (!std::isfinite(loss)) {
    diverged("the validation loss", loss);
    return Event::kEnd;
  }
  state_.validation_step.push_back(state_.step);
  state_.validation_loss.push_back(loss);
  if (state_.best_step < 0 || loss < state_.best_loss) {
    state_.best_step = state_.step;
    state_.best_loss = loss;
    best_.capture(session_);
  }
  return Event::kEvaluation;
}

LmTrainer::Event LmTrainer::advance() {
  if (state_.end != EndReason::kNone) return Event::kEnd;
  if (validation_due()) return validate_some();
  if (state_.step >= config_.steps) {
    end(EndReason::kEpochs, str("All ", config_.steps, " steps are done."));
  } else if (stop_.load(std::memory_order_relaxed)) {
    end(EndReason::kStopped, str("Stopped on request at step ", state_.step, " of ", config_.steps, "."));
  } else if (config_.max_seconds > 0 && seconds_since(started_) >= config_.max_seconds) {
    end(EndReason::kTimeLimit, str("Stopped at the time limit at step ", state_.step, " of ", config_.steps, "."));
  } else {
    steps();
    return state_.end == EndReason::kNone ? Event::kStep : Event::kEnd;
  }
  return Event::kEnd;
}

void LmTrainer::load_batch(std::int64_t batch) {
  const auto length = static_cast<std::size_t>(context_);
  for (std::int64_t row = 0; row < batch_; ++row) {
    const auto at = static_cast<std::size_t>(row) * length;
    corpus_.training_window(config_.seed, batch * batch_ + row, std::span(tokens_).subspan(at, length),
                            std::span(targets_).subspan(at, length));
  }
  const auto count = static_cast<std::int64_t>(tokens_.size());
  session_.write("tokens", tokens_.data(), count);
  session_.write("targets", targets_.data(), count);
}

void LmTrainer::begin_step(std::int64_t step) {
  last_rate_ = rate_of(step);
  set_step_uniforms(session_, config_.optimizer, last_rate_, step);
}

bool LmTrainer::finish_step(double loss, float norm) {
  if (!std::isfinite(loss)) return diverged("the loss", loss), false;
  if (!std::isfinite(norm)) return diverged("the gradient's norm", static_cast<double>(norm)), false;
  ++state_.step;
  state_.train_loss.push_back(loss);
  state_.grad_norm.push_back(static_cast<double>(norm));
  return true;
}

std::int64_t LmTrainer::whole_steps() {
  const std::int64_t first = state_.step;
  const auto issue = [&](std::int64_t i) {
    begin_step(first + i + 1);
    load_batch(first + i);
    session_.set_random(config_.seed, static_cast<std::uint32_t>(first + i + 1));
    session_.run("train_step");
  };
  const auto settle = [&](std::int64_t, int runs_ago) {
    const float loss = session_.read_scalar_earlier("loss", runs_ago);
    return finish_step(static_cast<double>(loss), session_.read_scalar_earlier("grad_norm", runs_ago));
  };
  // Up to the next validation. The first step of a process is timed by nobody, so it comes alone.
  const std::int64_t left = std::min(config_.steps - first, config_.eval_every - first % config_.eval_every);
  return run_burst(session_, timer_.before_first() ? 1 : left, issue, settle);
}

std::int64_t LmTrainer::step_in_pieces() {
  begin_step(state_.step + 1);
  double loss = 0;
  for (std::int64_t piece = 0; piece < config_.accumulate; ++piece) {
    const std::int64_t batch = state_.step * config_.accumulate + piece;
    load_batch(batch);
    session_.set_random(config_.seed, static_cast<std::uint32_t>(batch + 1));
    session_.set_uniform("first", piece == 0 ? 1.0f : 0.0f);
    session_.run("accumulate");
    loss += static_cast<double>(session_.read_scalar("loss")) / static_cast<double>(config_.accumulate);
  }
  session_.run("apply");
  return finish_step(loss, session_.read_scalar("grad_norm")) ? 1 : 0;
}

void LmTrainer::steps() {
  const auto start = std::chrono::steady_clock::now();
  const std::int64_t taken = config_.accumulate > 1 ? step_in_pieces() : whole_steps();
  if (state_.end != EndReason::kNone) return;
  if (corpus_.validation_windows(context_) == 0 && state_.step % config_.eval_every == 0) {
    state_.best_step = state_.step;
    best_.capture(session_);
  }
  timer_.add(taken, seconds_since(start));
}

void LmTrainer::end(EndReason reason, std::string message) {
  state_.end = reason;
  state_.message = std::move(message);
  current_.capture(session_);
  if (corpus_.validation_windows(context_) == 0 && reason != EndReason::kDiverged) {
    state_.best_step = state_.step;
    best_ = current_;
  }
  if (state_.best_step >= 0) best_.put(session_);
}

void LmTrainer::diverged(const char* what, double value) {
  end(EndReason::kDiverged,
      str("Training diverged: ", what, " became ", value, " at step ", state_.step + 1, " (learning rate ", last_rate_,
          "). The best weights so far are kept. Lower --lr, or clip gradients with --clip 1."));
}

NamedTensors LmTrainer::save() {
  NamedTensors saved;
  if (state_.end == EndReason::kNone) current_.capture(session_);
  optimizer_.capture(session_);
  current_.append_to(saved, "weights/");
  optimizer_.append_to(saved, "state/");
  (state_.best_step < 0 ? current_ : best_).append_to(saved, "best/");
  return saved;
}

void LmTrainer::restore(const LmTrainerState& state, const NamedTensors& saved) {
  const auto steps = static_cast<std::size_t>(state.step);
  if (state.step > config_.steps || state.train_loss.size() != steps || state.grad_norm.size() != steps ||
      state.validation_loss.size() != state.validation_step.size())
    fail("the checkpoint's numbers do not fit this run: its data or settings differ");
  SessionTensors weights = current_, best = best_, optimizer = optimizer_;
  weights.fill(saved, "weights/");
  optimizer.fill(saved, "state/");
  best.fill(saved, "best/");
  best_ = std::move(best);
  current_ = std::move(weights);
  optimizer_ = std::move(optimizer);
  current_.put(session_);
  optimizer_.put(session_);
  state_ = state;
  validating_ = -1;
  if (state_.end == EndReason::kStopped || state_.end == EndReason::kTimeLimit) {
    state_.end = EndReason::kNone;
    state_.message.clear();
  }
  if (state_.end != EndReason::kNone) best_.put(session_);
}

}  // namespace tabgrad
