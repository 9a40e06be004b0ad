// Model folders: there and back, damaged in every way, interrupted at every moment.
#include "train/checkpoint.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "base/error.h"
#include "data/atomic_file.h"
#include "nn/parameters.h"
#include "unit/train/small_run.h"

namespace tabgrad {
namespace {

namespace fs = std::filesystem;
using testing::run_to_end;
using testing::small_series;
using testing::small_settings;
using testing::TempFolder;
using testing::threads;

struct Trained {
  ForecastJob job;
  ForecastResult result;
  explicit Trained(ForecastSettings settings = small_settings()) : job(small_series(), std::move(settings), threads(1)) {
    run_to_end(job.trainer());
    result = job.judge();
  }
};

std::string message_of(const std::function<void()>& body) {
  try {
    body();
  } catch (const Error& e) {
    return e.what();
  }
  return "";
}

TEST(ModelFolder, ASavedModelForecastsTheSameBits) {
  for (LossKind loss : {LossKind::kMse, LossKind::kQuantile}) {
    ForecastSettings settings = small_settings();
    settings.model.loss = loss;
    if (loss == LossKind::kQuantile) settings.model.quantiles = {0.1, 0.5, 0.9};
    settings.calendar = "weekday";
    Trained trained(settings);
    const TempFolder folder;
    save_model(folder.path(), trained.result.model, trained.result.weights);
    const SavedModel saved = load_model(folder.path());
    const NextForecast next = forecast_next(saved.model, saved.weights, small_series(), threads(1));
    EXPECT_EQ(next.times, trained.result.next.times);
    for (std::size_t h = 0; h < next.values.middle.size(); ++h) {
      EXPECT_NEAR(next.values.middle[h], trained.result.next.values.middle[h], 1e-4);
      EXPECT_LE(next.values.low[h], next.values.middle[h]);
      EXPECT_GE(next.values.high[h], next.values.middle[h]);
    }
    EXPECT_EQ(saved.model.metrics.rmse, trained.result.model.metrics.rmse);
    EXPECT_EQ(saved.model.recipe.season, 7);
  }
}

TEST(ModelFolder, ACrashBetweenTheFilesLeavesOneWholeModel) {
  Trained old_one;
  ForecastSettings other = small_settings(ForecasterKind::kGru);
  Trained new_one(other);
  const TempFolder folder, staging;
  save_model(folder.path(), old_one.result.model, old_one.result.weights);
  save_model(staging.path(), new_one.result.model, new_one.result.weights);
  // New weights are there, and the description is still the old one.
  write_file_atomically(folder.file(kNextWeights), read_file(staging.file(kWeightsFile)));
  EXPECT_EQ(load_model(folder.path()).model.settings.model.kind, ForecasterKind::kLstm);
  // The description was switched, and the weights wait under their other name.
  write_file_atomically(folder.file(kModelFile), read_file(staging.file(kModelFile)));
  const SavedModel saved = load_model(folder.path());
  EXPECT_EQ(saved.model.settings.model.kind, ForecasterKind::kGru);
  EXPECT_EQ(hash_values(saved.weights), hash_values(new_one.result.weights));
}

TEST(ModelFolder, DamageIsNamedWithItsRemedy) {
  Trained trained;
  const TempFolder folder;
  EXPECT_NE(message_of([&] { load_model(folder.file("nowhere")); }).find("no such folder"), std::string::npos);
  EXPECT_NE(message_of([&] { load_model(folder.path()); }).find(kModelFile), std::string::npos);
  save_model(folder.path(), trained.result.model, trained.result.weights);
  for (const char* name : {kModelFile, kWeightsFile}) {
    const std::string path = folder.file(name), whole = read_file(path);
    for (std::size_t cut : {std::size_t{0}, std::size_t{7}, whole.size() / 2, whole.size() - 3}) {
      write_file_atomically(path, whole.substr(0, cut));
      const std::string message = message_of([&] { load_model(folder.path()); });
      EXPECT_NE(message.find(name), std::string::npos) << cut << ": " << message;
      EXPECT_NE(message.find("damaged"), std::string::npos) << message;
    }
    std::string flipped = whole;
    flipped[flipped.size() - 20] = static_cast<char>(flipped[flipped.size() - 20] ^ 0x10);
    write_file_atomically(path, flipped);
    EXPECT_NE(message_of([&] { load_model(folder.path()); }), "") << name;
    write_file_atomically(path, whole);
  }
  fs::remove(folder.file(kWeightsFile));
  EXPECT_NE(message_of([&] { load_model(folder.path()); }).find(kWeightsFile), std::string::npos);
}

TEST(ModelFolder, ASeriesThatDoesNotFitIsRefusedWithAReason) {
  Trained trained;
  const ForecastResult& r = trained.result;
  const auto forecast = [&](const Series& s) { return message_of([&] { forecast_next(r.model, r.weights, s, threads(1)); }); };
  EXPECT_NE(forecast(small_series(10)).find("10 points"), std::string::npos);
  Series hourly = small_series();
  hourly.step.size = 3600;
  EXPECT_NE(forecast(hourly).find("1 hour"), std::string::npos);
  Series bare = small_series();
  bare.features.clear();
  EXPECT_NE(forecast(bare).find("wind"), std::string::npos);
}

TEST(Checkpoint, GivesBackEveryBit) {
  ForecastJob job(small_series(), small_settings(), threads(1));
  for (int i = 0; i < 11; ++i) job.trainer().advance();
  const TempFolder folder;
  EXPECT_FALSE(load_checkpoint(folder.path()).has_value());
  save_checkpoint(folder.path(), {job.settings(), job.data_hash(), job.trainer().state(), job.trainer().save()});
  const Checkpoint back = load_checkpoint(folder.path()).value();
  EXPECT_EQ(hash_values(back.tensors), hash_values(job.trainer().save()));
  EXPECT_EQ(back.state.train_loss, job.trainer().state().train_loss);
  EXPECT_EQ(back.state.validation_loss, job.trainer().state().validation_loss);
  EXPECT_EQ(back.state.loss_sum, job.trainer().state().loss_sum);
  EXPECT_EQ(back.state.position, job.trainer().state().position);
  EXPECT_EQ(back.data_hash, job.data_hash());
  EXPECT_EQ(to_json(back.settings), to_json(job.settings()));
}

TEST(Checkpoint, ATruncatedOneSaysSo) {
  ForecastJob job(small_series(), small_settings(), threads(1));
  const TempFolder folder;
  save_checkpoint(folder.path(), {job.settings(), job.data_hash(), job.trainer().state(), job.trainer().save()});
  const std::string path = folder.file(kCheckpointFile), whole = read_file(path);
  for (std::size_t cut = 0; cut < whole.size(); cut += 1 + whole.size() / 40) {
    write_file_atomically(path, whole.substr(0, cut));
    EXPECT_NE(message_of([&] { load_checkpoint(folder.path()); }).find(kCheckpointFile), std::string::npos) << cut;
  }
}

TEST(Folder, AFileInTheWayIsNamed) {
  const TempFolder folder;
  write_file_atomically(folder.file("taken"), "x");
  EXPECT_NE(message_of([&] { prepare_folder(folder.file("taken")); }).find("--out"), std::string::npos);
  prepare_folder(folder.file("a/b"));
  EXPECT_TRUE(fs::is_empty(folder.file("a/b")));
}

}  // namespace
}  // namespace tabgrad
