// The forecasting job as a page's worker drives it: a table, and at most one run on it.
//
// Does: reads CSV bytes as they come, describes the table and the plan of a run, trains for a slice of time, saves and
// restores a run as bytes, judges it, makes the files to download. Does not: keep anything beyond memory; know messages or
// storage (packages/tabgrad/src/worker.ts does).
//
// Invariants: an Error leaves table and run as they were. advance() allocates nothing that stays.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "data/csv.h"
#include "reply.h"
#include "train/forecast_job.h"
#include "train/report.h"

namespace tabgrad::wasm {

class ForecastSession {
 public:
  explicit ForecastSession(SessionOptions options) : options_(std::move(options)) {}

  // The table: begin, bytes in any chunks, end.
  void open(const std::string& file);
  void feed(std::string_view bytes);
  void close(Reply& reply);  // TableInfo; the run on the table before is gone

  void defaults(const std::string& kind, Reply& reply) const;      // ForecastSettings
  // device: as SessionOptions has it. A checkpoint of one device goes on on another.
  void plan(const Json& settings, const std::string& device, Reply& reply) const;  // RunPlan
  void train(const Json& settings, const std::string& device, Reply& reply);       // RunPlan; the run is set up and waits
  // RunPlan; ended: a run that was stopped stays so
  void restore(std::string_view checkpoint, bool ended, const std::string& device, Reply& reply);

  // Trains for about this long; the trainer's numbers, and the losses of the steps taken.
  void advance(double milliseconds, Reply& reply);
  void stop() { job().trainer().request_stop(); }
  void save(Reply& reply) const;  // bytes for restore()
  // After the end. What the clock said before a restore is given back.
  struct Clock {
    double seconds = 0, ms_per_step = 0;
  };
  void judge(const Clock& clock, Reply& reply);          // RunResult without run and file
  void download(const std::string& kind, Reply& reply);  // of the judged run: its files

 private:
  ForecastJob& job() const;
  ForecastSettings settings_from(const Json& patch) const;
  SessionOptions options_on(const std::string& device) const;
  std::unique_ptr<ForecastJob> make_job(const ForecastSettings& settings, const std::string& device) const;
  void describe(const ForecastSetup& setup, const Program& program, Reply& reply) const;
  const Table& table() const;

  SessionOptions options_;
  std::unique_ptr<CsvReader> reader_;
  std::string file_;
  std::optional<Table> table_;
  std::unique_ptr<ForecastJob> job_;
  std::optional<ForecastResult> result_;
  std::vector<float> losses_;
  double trained_seconds_ = 0;
  RunFacts facts_;
};

}  // namespace tabgrad::wasm
