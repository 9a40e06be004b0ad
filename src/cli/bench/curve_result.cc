#include "cli/bench/curve_result.h"

#include <algorithm>

#include "bench/statistics.h"
#include "cli/output.h"
#include "cost/cost_json.h"

namespace tabgrad::cli {
namespace {

// BENCHMARKS §5, S2: of gradients; of losses, the largest and the mean.
constexpr double kMostGradientError = 1e-5, kMostLossDifference = 1e-4, kMostMeanLossDifference = 1e-5;
// Of activations stored as f16, each off by up to 2^-11 of itself: twenty such, as layers sum them up. Their losses are shown and not
// judged: batches that are learnt by heart end at small losses, whose differences in parts of them say little.
constexpr double kMostGradientErrorF16 = 20 * 0x1p-11;
const char* const kStep =
    "batch uploaded, forward, cross-entropy, backward, clip by global norm 1.0, AdamW, loss on the host; f32";

struct Parity {
  std::size_t steps = 0;
  double largest = 0, mean = 0;
};
// Relative differences of the losses to the baseline's, step by step.
Parity loss_parity(const CurveRow& row, const CurveRow& base) {
  Parity p;
  if (&row == &base) return p;
  p.steps = std::min(row.losses.size(), base.losses.size());
  for (std::size_t i = 0; i < p.steps; ++i) {
    const double difference = std::abs(static_cast<double>(row.losses[i]) - base.losses[i]) / std::abs(base.losses[i]);
    p.largest = std::max(p.largest, difference);
    p.mean += difference / static_cast<double>(p.steps);
  }
  return p;
}

Json null_unless(bool known, Json value) { return known ? std::move(value) : Json(nullptr); }

struct Rates {
  double gflops = 0, tokens_per_s = 0, of_peak = NAN;
};
Rates rates(const Curve& curve, const CurvePreset& preset, const CurveRow& row) {
  if (row.ms.empty()) return {};
  const double seconds = 1e-3 * bench::median(row.ms);
  const auto peak = curve.peaks.find(row.target->id);
  Rates r{1e-9 * total_flops(row.work) / seconds, static_cast<double>(preset.tokens) / seconds, NAN};
  if (peak != curve.peaks.end()) r.of_peak = 1e9 * r.gflops / peak->second.flops;
  return r;
}

Json row_json(const Curve& curve, const CurvePreset& preset, const CurveRow& row) {
  const CurveRow& base = preset.rows.front();
  const bool timed = !row.ms.empty(), beside = &row != &base && timed && !base.ms.empty();
  const Rates r = rates(curve, preset, row);
  const Parity parity = loss_parity(row, base);
  Json speedup = nullptr;
  if (beside) {
    const bench::RatioInterval interval = bench::ratio_interval(base.ms, row.ms);
    speedup = {{"ratio", interval.ratio}, {"low", interval.low}, {"high", interval.high}};
  }
  return {{"preset", preset.name},
          {"target", row.target->id},
          {"parameters", preset.parameters},
          {"flops", total_flops(row.work)},
          {"tokens", preset.tokens},
          {"launches", work_json(row.work)},
          {"setup_ms", row.setup_ms},
          {"first_ms", row.first_ms},
          {"ms", timed ? spread_json(row.ms) : Json(nullptr)},
          {"samples_ms", row.ms},
          {"tokens_per_s", r.tokens_per_s},
          {"gflops", r.gflops},
          {"of_peak", null_unless(std::isfinite(r.of_peak), r.of_peak)},
          {"speedup", std::move(speedup)},
          {"parity",
           {{"gradient_error", null_unless(!row.gradient_reference.empty(), row.gradient_error)},
            {"gradient_reference", row.gradient_reference},
            {"loss_steps", parity.steps},
            {"loss_largest", parity.largest},
            {"loss_mean", parity.mean}}},
          {"parity_failed", parity_failed(preset, row)},
          {"parameters_hash", preset.parameters_hash},
          {"batches_hash", preset.batches_hash},
          {"losses", row.losses},
          {"error", row.error}};
}

std::string percent(double part) { return fixed(100 * part, 0) + " %"; }
std::string signed_percent(double part) { return (part < 0 ? "−" : "+") + fixed(std::abs(100 * part), 0) + " %"; }
std::string scientific(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.1e", value);
  return text;
}

}  // namespace

bool parity_failed(const CurvePreset& preset, const CurveRow& row) {
  if (!row.error.empty()) return false;
  const Parity p = loss_parity(row, preset.rows.front());
  const bool f16 = row.target->options.f16;
  const double most = f16 ? kMostGradientErrorF16 : kMostGradientError;
  const bool gradients = row.gradient_reference.empty() || row.gradient_error <= most;  // false for NaN
  return !(gradients && (f16 || (p.largest <= kMostLossDifference && p.mean <= kMostMeanLossDifference)));
}

std::map<std::string, CostFit> cost_fits(const Curve& curve) {
  std::map<std::string, std::vector<MeasuredStep>> steps;
  for (const CurvePreset& preset : curve.presets)
    for (const CurveRow& row : preset.rows)
      if (!row.ms.empty()) steps[row.target->id].push_back({preset.name, row.work, 1e-3 * bench::median(row.ms)});
  std::map<std::string, CostFit> fits;
  for (const auto& [target, list] : steps)
    if (list.size() >= 3) fits[target] = fit_with_residuals(list);
  return fits;
}

Json curve_json(const Curve& curve) {
  Json json = result_head("tabgrad-curve/2", curve.targets);
  json["load"] = curve.load;
  json["outside"] = nullptr;
  const bool f16 = std::ranges::any_of(curve.targets, [](const BenchTarget& t) { return t.options.f16; });
  json["step"] = std::string(kStep) + (f16 ? ", activations on webgpu stored as f16" : "");
  json["baseline"] = curve.targets.front().id;
  const auto fits = cost_fits(curve);
  json["targets"] = Json::array();
  for (const BenchTarget& t : curve.targets) {
    const auto peak = curve.peaks.find(t.id);
    const auto fit = fits.find(t.id);
    const bool known = peak != curve.peaks.end();
    json["targets"].push_back({{"id", t.id},
                               {"about", t.about},
                               {"error", ""},
                               {"peak_gflops", known ? Json(1e-9 * peak->second.flops) : Json(nullptr)},
                               {"peak_gbytes_per_s", known ? Json(1e-9 * peak->second.bytes) : Json(nullptr)},
                               {"cost", fit != fits.end() ? cost_json(fit->second) : Json(nullptr)}});
  }
  json["rows"] = Json::array();
  for (const CurvePreset& preset : curve.presets)
    for (const CurveRow& row : preset.rows) json["rows"].push_back(row_json(curve, preset, row));
  return json;
}

std::vector<std::string> curve_table(const Curve& curve) {
  std::vector<std::vector<std::string>> cells{{"preset", "target", "ms", "p10", "p90", "n", "GFLOP/s", "of peak",
                                               "speedup [95 %]", "gradients", "loss: largest, mean"}};
  for (const CurvePreset& preset : curve.presets) {
    for (const CurveRow& row : preset.rows) {
      auto& line = cells.emplace_back(std::vector<std::string>{preset.name, row.target->id});
      if (row.ms.empty()) {
        line.push_back(row.error);
        continue;
      }
      const CurveRow& base = preset.rows.front();
      const Rates r = rates(curve, preset, row);
      for (const double q : {0.5, 0.1, 0.9}) line.push_back(digits3(bench::quantile(row.ms, q)));
      line.push_back(std::to_string(row.ms.size()));
      line.push_back(digits3(r.gflops));
      line.push_back(std::isfinite(r.of_peak) ? percent(r.of_peak) : "–");
      if (row.target->software) {
        line.push_back("no GPU");
      } else if (&row == &base || base.ms.empty()) {
        line.push_back(&row == &base ? "baseline" : "–");
      } else {
        const bench::RatioInterval i = bench::ratio_interval(base.ms, row.ms);
        line.push_back(digits3(i.ratio) + " [" + digits3(i.low) + ", " + digits3(i.high) + "]");
      }
      line.push_back(row.gradient_reference.empty() ? "–" : scientific(row.gradient_error));
      const Parity p = loss_parity(row, base);
      line.push_back((parity_failed(preset, row) ? "FAILED " : "") +
                     (p.steps == 0 ? "–" : str(scientific(p.largest), ", ", scientific(p.mean), " (", p.steps, ")")));
    }
  }
  return table(cells);
}

std::vector<std::string> cost_table(const Curve& curve) {
  std::vector<std::string> lines;
  for (const auto& [target, fit] : cost_fits(curve)) {
    lines.push_back(str("cost model of ", target, ": ", digits3(1e6 * fit.model.overhead), " µs a launch at least, ",
                        digits3(1e-9 * fit.model.rate), " GFLOP/s (half of it at ", digits3(1e-6 * fit.model.half_work),
                        " MFLOP a launch), ", digits3(1e-9 * fit.model.bandwidth), " GB/s"));
    std::vector<std::vector<std::string>> cells{{"preset", "ms", "fitted", "", "left out", ""}};
    for (const CostFit::Row& r : fit.rows) {
      auto& line = cells.emplace_back(std::vector<std::string>{r.name, digits3(1e3 * r.seconds), digits3(1e3 * r.predicted),
                                                               signed_percent(r.predicted / r.seconds - 1)});
      if (r.left_out > 0) {
        line.push_back(digits3(1e3 * r.left_out));
        line.push_back(signed_percent(r.left_out / r.seconds - 1));
      }
    }
    for (std::string& text : table(cells)) lines.push_back(std::move(text));
  }
  return lines;
}

}  // namespace tabgrad::cli
