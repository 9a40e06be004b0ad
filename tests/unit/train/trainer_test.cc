// The trainer: the best weights after every end, the same bits after every interruption, no allocation per step.
#include "train/trainer.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "base/error.h"
#include "nn/parameters.h"
#include "unit/allocation_counter.h"
#include "unit/train/small_run.h"

namespace tabgrad {
namespace {

using testing::run_to_end;
using testing::small_series;
using testing::small_settings;
using testing::threads;

NamedTensors weights(const ForecastJob& job) {
  NamedTensors result;
  auto& session = const_cast<Session&>(job.session());
  for (const std::string& name : session.names(BufferRole::kParameter)) result.emplace_back(name, session.read(name));
  return result;
}

NamedTensors with_prefix(const NamedTensors& all, const std::string& prefix) {
  NamedTensors result;
  for (const auto& t : all)
    if (t.first.starts_with(prefix)) result.emplace_back(t.first.substr(prefix.size()), t.second);
  return result;
}

TEST(EpochOrder, IsAPermutationThatDependsOnSeedAndEpochAlone) {
  std::vector<std::int64_t> a(1000), b(1000), sorted;
  epoch_order(5, 2, a);
  epoch_order(5, 2, b);
  EXPECT_EQ(a, b);
  epoch_order(5, 3, b);
  EXPECT_NE(a, b);
  epoch_order(6, 2, b);
  EXPECT_NE(a, b);
  sorted = a;
  std::sort(sorted.begin(), sorted.end());
  for (std::int64_t i = 0; i < 1000; ++i) EXPECT_EQ(sorted[static_cast<std::size_t>(i)], i);
}

TEST(Trainer, TheUntrainedModelIsTheSeasonalNaiveForecast) {
  ForecastJob job(small_series(), small_settings(), threads(1));
  job.trainer().advance();  // the evaluation before training
  job.trainer().request_stop();
  run_to_end(job.trainer());
  const ForecastResult result = job.judge();
  EXPECT_NEAR(result.model.metrics.rmse, result.model.baselines[1].metrics.rmse, 1e-4);
}

TEST(Trainer, LearnsAndKeepsTheBestWeights) {
  ForecastSettings settings = small_settings();
  settings.training.epochs = 60;
  settings.training.patience = 0;
  ForecastJob job(small_series(1000), settings, threads(1));
  run_to_end(job.trainer());
  const TrainerState& s = job.trainer().state();
  EXPECT_LT(s.best_loss, 0.9 * s.validation_loss[0]);
  EXPECT_EQ(s.best_loss, *std::min_element(s.validation_loss.begin(), s.validation_loss.end()));
  EXPECT_EQ(hash_values(weights(job)), hash_values(with_prefix(job.trainer().save(), "best/")));
}

TEST(Trainer, SameSeedSameBitsOnOneAndTwoThreads) {
  std::vector<std::uint64_t> hashes;
  std::vector<std::vector<double>> losses;
  for (int count : {1, 1, 2}) {
    ForecastJob job(small_series(), small_settings(), threads(count));
    run_to_end(job.trainer());
    hashes.push_back(hash_values(job.trainer().save()));
    losses.push_back(job.trainer().state().train_loss);
  }
  EXPECT_EQ(hashes[0], hashes[1]);
  EXPECT_EQ(hashes[0], hashes[2]);
  EXPECT_EQ(losses[0], losses[1]);
  EXPECT_EQ(losses[0], losses[2]);
  ForecastSettings other = small_settings();
  other.training.seed = 4;
  ForecastJob job(small_series(), other, threads(1));
  run_to_end(job.trainer());
  EXPECT_NE(hash_values(job.trainer().save()), hashes[0]);
}

TEST(Trainer, AResumedRunHasTheBitsOfAnUninterruptedOne) {
  for (ForecasterKind kind : {ForecasterKind::kLstm, ForecasterKind::kGru, ForecasterKind::kTransformer}) {
    ForecastJob whole(small_series(), small_settings(kind), threads(1));
    run_to_end(whole.trainer());
    for (int pieces_of_work : {0, 1, 2, 7, 13}) {  // in the middle of an epoch, at its end, after its evaluation
      ForecastJob first(small_series(), small_settings(kind), threads(1));
      for (int i = 0; i < pieces_of_work; ++i) first.trainer().advance();
      if (pieces_of_work % 2 == 1) {  // saved after it was told to stop, or while it runs
        first.trainer().request_stop();
        run_to_end(first.trainer());
      }
      ForecastJob second(small_series(), small_settings(kind), threads(1));
      second.trainer().restore(first.trainer().state(), first.trainer().save());
      run_to_end(second.trainer());
      const TrainerState &a = whole.trainer().state(), &b = second.trainer().state();
      EXPECT_EQ(a.train_loss, b.train_loss) << pieces_of_work;
      EXPECT_EQ(a.validation_loss, b.validation_loss) << pieces_of_work;
      EXPECT_EQ(a.best_epoch, b.best_epoch);
      EXPECT_EQ(hash_values(whole.trainer().save()), hash_values(second.trainer().save())) << pieces_of_work;
    }
  }
}

TEST(Trainer, EveryKindOfEndLeavesTheBestWeights) {
  const auto expect_best = [](ForecastJob& job, EndReason reason) {
    run_to_end(job.trainer());
    EXPECT_EQ(job.trainer().state().end, reason) << job.trainer().state().message;
    EXPECT_EQ(hash_values(weights(job)), hash_values(with_prefix(job.trainer().save(), "best/")));
    for (const auto& [name, t] : weights(job))
      for (float v : t.f32) EXPECT_TRUE(std::isfinite(v)) << name;
  };
  ForecastSettings settings = small_settings();
  ForecastJob epochs(small_series(), settings, threads(1));
  expect_best(epochs, EndReason::kEpochs);

  settings.training.epochs = 500;
  settings.training.patience = 2;
  settings.training.learning_rate = 0.1;
  ForecastJob patience(small_series(), settings, threads(1));
  expect_best(patience, EndReason::kPatience);
  EXPECT_EQ(patience.trainer().state().epoch, patience.trainer().state().best_epoch + 2);

  settings = small_settings();
  ForecastJob stopped(small_series(), settings, threads(1));
  for (int i = 0; i < 9; ++i) stopped.trainer().advance();
  stopped.trainer().request_stop();
  expect_best(stopped, EndReason::kStopped);

  settings.training.max_seconds = 1e-9;
  ForecastJob timed(small_series(), settings, threads(1));
  expect_best(timed, EndReason::kTimeLimit);
}

TEST(Trainer, DivergenceStopsWithStepAndCauseAndKeepsTheLastGoodWeights) {
  ForecastSettings settings = small_settings();  // F25: plain SGD at a rate that explodes
  settings.training.optimizer.kind = OptimizerConfig::Kind::kSgd;
  settings.training.optimizer.momentum = 0;
  settings.training.optimizer.weight_decay = 0;
  settings.training.learning_rate = 1e5;
  settings.training.schedule = ScheduleKind::kConstant;
  settings.training.epochs = 200;
  settings.training.patience = 0;
  settings.training.warmup = 0;
  settings.clip = 0;
  for (double validation : {0.1, 0.0}) {
    settings.split = {.train = 0.8 - validation, .validation = validation, .test = 0.2};
    ForecastJob job(small_series(), settings, threads(1));
    run_to_end(job.trainer());
    const TrainerState& s = job.trainer().state();
    ASSERT_EQ(s.end, EndReason::kDiverged) << s.message;
    EXPECT_NE(s.message.find("step"), std::string::npos);
    EXPECT_NE(s.message.find("--lr"), std::string::npos);
    for (const auto& [name, t] : weights(job))
      for (float v : t.f32) EXPECT_TRUE(std::isfinite(v)) << name;
    EXPECT_TRUE(std::isfinite(job.judge().model.metrics.rmse));
  }
}

TEST(Trainer, WorksWithoutAValidationPart) {
  ForecastSettings settings = small_settings();
  settings.split = {.train = 0.8, .validation = 0, .test = 0.2};
  ForecastJob whole(small_series(), settings, threads(1));
  run_to_end(whole.trainer());
  EXPECT_TRUE(whole.trainer().state().validation_loss.empty());
  EXPECT_EQ(whole.trainer().state().best_epoch, settings.training.epochs);
  EXPECT_TRUE(whole.judge().forecast.low.empty());

  ForecastJob first(small_series(), settings, threads(1));
  for (int i = 0; i < 7; ++i) first.trainer().advance();
  ForecastJob second(small_series(), settings, threads(1));
  second.trainer().restore(first.trainer().state(), first.trainer().save());
  run_to_end(second.trainer());
  EXPECT_EQ(hash_values(whole.trainer().save()), hash_values(second.trainer().save()));
}

TEST(Trainer, ACheckpointOfAnotherModelOrRunIsRefused) {
  ForecastJob job(small_series(), small_settings(), threads(1));
  job.trainer().advance();
  NamedTensors tensors = job.trainer().save();
  TrainerState state = job.trainer().state();
  ForecastSettings wider = small_settings();
  wider.model.units = 16;
  ForecastJob other(small_series(), wider, threads(1));
  EXPECT_THROW(other.trainer().restore(state, tensors), Error);
  tensors.pop_back();
  EXPECT_THROW(job.trainer().restore(state, tensors), Error);
  state.position = 1 << 20;
  EXPECT_THROW(job.trainer().restore(state, job.trainer().save()), Error);
}

TEST(Trainer, TwoThousandStepsAllocateNothing) {
  ForecastSettings settings = small_settings();
  settings.training.epochs = 600;
  settings.training.patience = 0;
  ForecastJob job(small_series(), settings, threads(2));
  Trainer& trainer = job.trainer();
  while (trainer.state().epoch < 2) trainer.advance();  // first steps and evaluations
  const std::int64_t first = trainer.state().step, before = testing::allocation_count();
  while (trainer.state().step < first + 2000) trainer.advance();
  EXPECT_EQ(testing::allocation_count() - before, 0);
}

}  // namespace
}  // namespace tabgrad
