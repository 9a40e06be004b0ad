// report.html: one self-contained page about a trained forecaster.
//
// Does: shows the verdict, the table beside the baselines, forecasts against held-out truth with bands, the steps to come,
// loss curves, settings and notices. Does not: need scripts, fonts or a network; write the file.
//
// Invariant: every text that comes from files or options is escaped.
#pragma once

#include <string>

#include "train/forecast_job.h"

namespace tabgrad {

struct RunFacts {
  std::string device;  // "cpu: 2 threads, AVX2"
  double ms_per_step = 0, train_seconds = 0;
  std::int64_t parameters = 0;
};

std::string report_html(const ForecastJob& job, const TrainerState& state, const ForecastResult& result, const RunFacts& facts);

}  // namespace tabgrad
