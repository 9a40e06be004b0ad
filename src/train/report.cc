#include "train/report.h"

#include <algorithm>
#include <cmath>

#include "train/chart.h"
#include "train/optimizer_fields.h"

namespace tabgrad {
namespace {

constexpr std::int64_t kZoomPoints = 120;    // of the close view of the test part
constexpr std::int64_t kHistoryPoints = 90;  // shown before the steps to come
constexpr double kLogRatio = 4;             // a loss that falls by more is drawn on a logarithmic axis

const char* const kPageCss = R"css(
:root{--page:#fbfbf9;--card:#fff;--ink:#1d2433;--muted:#5d6678;--grid:#e4e6ea;--accent:#2563c9;--second:#c2570c;--good:#17693a;--good-card:#e9f5ec;--bad:#8f3b0d;--bad-card:#fcf0e6}
@media(prefers-color-scheme:dark){:root{--page:#12151b;--card:#1a1f28;--ink:#e8eaf0;--muted:#9aa4b5;--grid:#2b323e;--accent:#6ea8ff;--second:#ff9d5c;--good:#7fd79b;--good-card:#16281d;--bad:#ffb27d;--bad-card:#2d2118}}
*{box-sizing:border-box}
html{color-scheme:light dark;-webkit-text-size-adjust:100%}
body{margin:0;background:var(--page);color:var(--ink);font:1rem/1.55 system-ui,-apple-system,"Segoe UI",Roboto,sans-serif}
main{max-width:58rem;margin:0 auto;padding:2.5rem 1.25rem 4rem}
h1{font-size:1.9rem;line-height:1.2;margin:0 0 .3rem;letter-spacing:-.01em;overflow-wrap:anywhere}
h2{font-size:1.2rem;margin:2.6rem 0 .4rem}
h3.note{margin:1.4rem 0 0;font-weight:600}
p{margin:.4rem 0 1rem;max-width:44rem}
.note,.sub{color:var(--muted)}
.note{font-size:.875rem}
.verdict{padding:.9rem 1.1rem;border-radius:.5rem;border-left:.3rem solid;margin:1.4rem 0;max-width:none}
.verdict.good{background:var(--good-card);border-color:var(--good)}
.verdict.bad{background:var(--bad-card);border-color:var(--bad)}
.tiles{display:grid;grid-template-columns:repeat(auto-fit,minmax(8.5rem,1fr));gap:.75rem;margin:0 0 1rem;padding:0}
.tiles div{background:var(--card);border:1px solid var(--grid);border-radius:.5rem;padding:.65rem .85rem}
.tiles dt{font-size:.8125rem;color:var(--muted)}
.tiles div{display:flex;flex-direction:column;justify-content:space-between}
.tiles dd{margin:0;font-size:1.35rem;font-weight:600;font-variant-numeric:tabular-nums}
.wide{overflow-x:auto}
table{border-collapse:collapse;width:100%;font-variant-numeric:tabular-nums}
th,td{padding:.45rem .75rem .45rem 0;text-align:right;border-bottom:1px solid var(--grid);white-space:nowrap}
th{font-size:.8125rem;font-weight:500;color:var(--muted)}
th:first-child,td:first-child{text-align:left}
tr.model td{font-weight:600}
td.bar{width:26%;min-width:5rem;padding-right:0}
td.bar span{display:block;height:.6rem;border-radius:.3rem;background:var(--muted);opacity:.55}
tr.model td.bar span{background:var(--accent);opacity:1}
table.settings{font-size:.875rem}
table.settings td{white-space:normal;overflow-wrap:anywhere;text-align:left}
table.settings td:first-child{color:var(--muted);width:12rem}
ul{padding-left:1.2rem;margin:.4rem 0}
li{overflow-wrap:anywhere;margin:.2rem 0}
details{margin:.5rem 0}
summary{cursor:pointer;color:var(--accent)}
@media(max-width:34rem){main{padding:1.5rem 1rem 3rem}h1{font-size:1.5rem}td.bar,th.bar{display:none}table{font-size:.8rem}th,td{padding-right:.3rem}td:last-child,th:last-child{padding-right:0}table.settings td:first-child{width:8rem}}
@media print{body{background:none}}
)css";

std::string table_row(const std::string& name, const std::string& value) {
  return "<tr><td>" + escape_html(name) + "</td><td>" + escape_html(value) + "</td></tr>";
}

std::string percent(double part) { return short_number(std::round(part * 1000) / 10) + " %"; }

class Report {
 public:
  Report(const ForecastJob& job, const TrainerState& state, const ForecastResult& result, const RunFacts& facts)
      : job_(job), series_(job.series()), state_(state), result_(result), facts_(facts), horizon_(job.recipe().horizon) {}

  std::string page() const {
    const std::string title = series_.target_name + ": forecast by " + name();
    return "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><meta name=\"viewport\" "
           "content=\"width=device-width,initial-scale=1\"><title>" +
           escape_html(title) + "</title><style>" + kPageCss + kChartCss + "</style></head><body><main>\n" + header(title) +
           baselines() + held_out() + next() + losses() + notices() + settings() + "</main></body></html>\n";
  }

 private:
  std::string name() const { return forecaster_title(job_.settings().model.kind); }
  double best_baseline() const {
    double best = INFINITY;
    for (const NamedMetrics& b : result_.model.baselines) best = std::min(best, b.metrics.rmse);
    return best;
  }
  std::string point(std::int64_t i) const {
    const std::int64_t n = series_.num_steps();
    const double time = i < n ? series_.times[static_cast<std::size_t>(i)] : series_.future_times(i - n + 1).back();
    return format_point(time, series_.step);
  }
  // About five labels over positions [first, last].
  std::vector<std::pair<double, std::string>> ticks(std::int64_t first, std::int64_t last) const {
    std::vector<std::pair<double, std::string>> result;
    const std::int64_t count = std::min<std::int64_t>(5, last - first + 1);
    for (std::int64_t i = 0; i < count; ++i) {
      const std::int64_t at = count == 1 ? first : first + (last - first) * i / (count - 1);
      result.emplace_back(static_cast<double>(at), point(at));
    }
    return result;
  }
  ChartLine truth(std::int64_t first, std::int64_t end, const char* label) const {
    ChartLine line{label, "truth", {}, {}};
    for (std::int64_t i = first; i < end; ++i) {
      line.x.push_back(static_cast<double>(i));
      line.y.push_back(series_.target[static_cast<std::size_t>(i)]);
    }
    return line;
  }

  std::string header(const std::string& title) const {
    const double ours = result_.model.metrics.rmse, theirs = best_baseline();
    std::string out = "<header><h1>" + escape_html(title) + "</h1><p class=\"sub\">" + escape_html(series_.source) + " · " +
                      short_number(static_cast<double>(series_.num_steps())) + " points, one every " +
                      escape_html(to_string(series_.step)) + ", " + escape_html(point(0)) + " to " +
                      escape_html(point(series_.num_steps() - 1)) + " · horizon " + std::to_string(horizon_) +
                      (horizon_ == 1 ? " step" : " steps") + "</p></header>\n";
    out += "<p class=\"verdict " + std::string(ours < theirs ? "good" : "bad") + "\">" + escape_html(result_.verdict) +
           "</p>\n<dl class=\"tiles\">";
    const auto tile = [&](const std::string& term, const std::string& value) {
      out += "<div><dt>" + escape_html(term) + "</dt><dd>" + escape_html(value) + "</dd></div>";
    };
    tile("RMSE on held-out data", short_number(ours));
    tile("best baseline", short_number(theirs));
    if (theirs > 0) tile(ours < theirs ? "better by" : "worse by", percent(std::fabs(1 - ours / theirs)));
    if (!result_.forecast.low.empty()) tile("truth inside the band", percent(result_.band_coverage));
    tile("training time", short_number(std::round(facts_.train_seconds * 10) / 10) + " s");
    return out + "</dl>\n";
  }

  std::string baselines() const {
    double worst = result_.model.metrics.rmse;
    for (const NamedMetrics& b : result_.model.baselines) worst = std::max(worst, b.metrics.rmse);
    std::string out =
        "<h2>Beside honest baselines</h2>\n<div "
        "class=\"wide\"><table><tr><th></th><th>RMSE</th><th>MAE</th><th>sMAPE</th><th>MASE</th><th class=\"bar\"></th></tr>";
    const auto row = [&](const std::string& label, const Metrics& m, const char* style) {
      out += "<tr" + std::string(style) + "><td>" + escape_html(label) + "</td><td>" + short_number(m.rmse) + "</td><td>" +
             short_number(m.mae) + "</td><td>" + short_number(m.smape) + " %" + "</td><td>" + short_number(m.mase) +
             "</td><td class=\"bar\"><span style=\"width:" + std::to_string(worst > 0 ? std::lround(100 * m.rmse / worst) : 0) +
             "%\"></span></td></tr>";
    };
    row(name(), result_.model.metrics, " class=\"model\"");
    for (const NamedMetrics& b : result_.model.baselines) row(b.name, b.metrics, "");
    const std::int64_t season = job_.recipe().season;
    out += "</table></div>\n<p class=\"note\">Errors on the last " + std::to_string(series_.num_steps() - result_.test.first) +
           " points, which neither training nor the choice of weights saw, in the unit of " + escape_html(series_.target_name) +
           ". Last value: what was seen last comes again. Seasonal naive: the value " +
           (season > 1 ? std::to_string(season) + " steps earlier" : "one step earlier, as no season was found") +
           ". Linear AR: a linear autoregression fitted by least squares on the training windows. MASE below 1 beats a naive "
           "forecast within the training part.</p>\n";
    return out;
  }

  // Forecasts of every H-th test window, the last one included, so that each point is forecast once.
  std::string test_chart(std::int64_t first, std::int64_t end, const std::string& description) const {
    const std::int64_t last = result_.test.count - 1;
    ChartLine line{name(), "model", {}, {}};
    ChartBand band{"P10 to P90", {}, {}, {}};
    Chart chart;
    for (std::int64_t w = last % horizon_; w <= last; w += horizon_) {
      const std::int64_t origin = result_.test.first + w;
      if (origin < first || origin + horizon_ > end) continue;
      for (std::int64_t h = 0; h < horizon_; ++h) {
        const auto at = static_cast<std::size_t>(w * horizon_ + h);
        line.x.push_back(static_cast<double>(origin + h));
        line.y.push_back(result_.forecast.middle[at]);
        if (result_.forecast.low.empty()) continue;
        band.x.push_back(static_cast<double>(origin + h));
        band.low.push_back(result_.forecast.low[at]);
        band.high.push_back(result_.forecast.high[at]);
      }
    }
    chart.description = description;
    chart.y_title = series_.target_name;
    if (!band.x.empty()) chart.bands.push_back(std::move(band));
    chart.lines.push_back(truth(first, end, "truth"));
    chart.lines.push_back(std::move(line));
    chart.x_ticks = ticks(first, end - 1);
    return render(chart);
  }

  std::string held_out() const {
    const std::int64_t first = result_.test.first, end = series_.num_steps(),
                       zoom = std::max(first, end - std::max(kZoomPoints, 2 * horizon_));
    std::string out = "<h2>Forecast against held-out truth</h2>\n<p class=\"note\">";
    out += horizon_ == 1 ? "Each point is forecast one step ahead, from the values before it."
                         : "Each stretch of " + std::to_string(horizon_) +
                               " points is forecast at once, from the values before its first point.";
    out += result_.model.band_low.empty() ? "" : " The band comes from the errors on the validation part.";
    out += "</p>\n";
    if (zoom > first) out += "<h3 class=\"note\">The last " + std::to_string(end - zoom) + " points</h3>\n";
    out += test_chart(zoom, end, "The last held-out values of " + series_.target_name + " and the forecasts of them");
    if (zoom > first)
      out += "<h3 class=\"note\">The whole test part</h3>\n" +
             test_chart(first, end, "All held-out values of " + series_.target_name + " and the forecasts of them");
    return out;
  }

  std::string next() const {
    const std::int64_t end = series_.num_steps(),
                       first = std::max<std::int64_t>(0, end - std::max(kHistoryPoints, 2 * horizon_));
    const Bands& values = result_.next.values;
    const double last_value = series_.target.back();
    Chart chart;
    ChartLine line{name(), "model", {static_cast<double>(end - 1)}, {last_value}};
    ChartBand band{"P10 to P90", {static_cast<double>(end - 1)}, {last_value}, {last_value}};
    for (std::int64_t h = 0; h < horizon_; ++h) {
      const auto at = static_cast<std::size_t>(h);
      line.x.push_back(static_cast<double>(end + h));
      line.y.push_back(values.middle[at]);
      if (values.low.empty()) continue;
      band.x.push_back(static_cast<double>(end + h));
      band.low.push_back(values.low[at]);
      band.high.push_back(values.high[at]);
    }
    if (horizon_ == 1) chart.marks.push_back({"", "model", static_cast<double>(end), values.middle[0]});
    chart.description = "The end of " + series_.target_name + " and the forecast of the steps after it";
    chart.y_title = series_.target_name;
    if (!values.low.empty()) chart.bands.push_back(std::move(band));
    chart.lines.push_back(truth(first, end, "known"));
    chart.lines.push_back(std::move(line));
    chart.divisions.push_back(static_cast<double>(end - 1));
    chart.x_ticks = ticks(first, end + horizon_ - 1);
    std::string out = "<h2>The next " + (horizon_ == 1 ? std::string("step") : std::to_string(horizon_) + " steps") +
                      "</h2>\n" + render(chart);
    out += "<details" + std::string(horizon_ <= 12 ? " open" : "") +
           "><summary>Values</summary><div class=\"wide\"><table><tr><th>" +
           escape_html(series_.time_name.empty() ? "row" : series_.time_name) + "</th>" +
           (values.low.empty() ? "" : "<th>P10</th>") + "<th>forecast</th>" + (values.low.empty() ? "" : "<th>P90</th>") +
           "</tr>";
    for (std::size_t h = 0; h < values.middle.size(); ++h) {
      out += "<tr><td>" + escape_html(format_point(result_.next.times[h], series_.step)) + "</td>";
      if (!values.low.empty()) out += "<td>" + short_number(values.low[h]) + "</td>";
      out += "<td>" + short_number(values.middle[h]) + "</td>";
      if (!values.low.empty()) out += "<td>" + short_number(values.high[h]) + "</td>";
      out += "</tr>";
    }
    return out + "</table></div></details>\n";
  }

  std::string losses() const {
    Chart chart;
    ChartLine training{"training", "muted", {}, state_.train_loss},
        validation{"validation", "second", {}, state_.validation_loss};
    for (std::size_t i = 0; i < training.y.size(); ++i) training.x.push_back(static_cast<double>(i + 1));
    for (std::size_t i = 0; i < validation.y.size(); ++i) validation.x.push_back(static_cast<double>(i));
    std::vector<double> all = training.y;
    all.insert(all.end(), validation.y.begin(), validation.y.end());
    if (all.empty()) return "";
    const auto [low, high] = std::minmax_element(all.begin(), all.end());
    chart.log_y = *low > 0 && *high / *low > kLogRatio;
    const std::int64_t best = state_.best_epoch, epochs = static_cast<std::int64_t>(state_.train_loss.size());
    if (best >= 0 && best < static_cast<std::int64_t>(validation.y.size())) {
      chart.marks.push_back({"best: epoch " + std::to_string(best), "second", static_cast<double>(best),
                             validation.y[static_cast<std::size_t>(best)]});
    }
    const std::int64_t step = std::max<std::int64_t>(1, (epochs + 7) / 8);
    for (std::int64_t e = validation.y.empty() ? 1 : 0; e <= epochs; e += step)
      chart.x_ticks.emplace_back(static_cast<double>(e), std::to_string(e));
    chart.description = "Loss on the training and the validation part after each epoch";
    chart.y_title = std::string(loss_kind_name(job_.settings().model.loss)) + " loss by epoch";
    chart.lines.push_back(std::move(training));
    if (!validation.y.empty()) chart.lines.push_back(std::move(validation));
    return "<h2>Training</h2>\n<p class=\"note\">" + escape_html(state_.message) +
           (validation_used()
                ? " The weights of the best epoch are kept. Epoch 0 is the untrained model, which repeats the " +
                      std::string(job_.recipe().season > 1 ? "seasonal" : "last") + " value. Training losses include dropout."
                : "") +
           "</p>\n" + render(chart);
  }
  bool validation_used() const { return !state_.validation_loss.empty() && job_.settings().predict == Predict::kDifference; }

  std::string notices() const {
    if (job_.notices().empty()) return "";
    std::string out = "<h2>About the data</h2>\n<ul>";
    for (const std::string& notice : job_.notices()) out += "<li>" + escape_html(notice) + "</li>";
    return out + "</ul>\n";
  }

  std::string settings() const {
    const ForecastSettings& s = job_.settings();
    const ForecasterConfig& m = s.model;
    const TrainerConfig& t = s.training;
    std::string features;
    for (const std::string& f : s.series.features) features += (features.empty() ? "" : ", ") + f;
    std::string out = "<h2>Settings</h2>\n<table class=\"settings\">";
    out += table_row("model", str(name(), ", ", m.layers, m.layers == 1 ? " layer of " : " layers of ", m.units, " units",
                                  m.kind == ForecasterKind::kTransformer ? str(", ", m.heads, " heads") : "", ", dropout ",
                                  m.dropout, ", ", short_number(static_cast<double>(facts_.parameters)), " parameters"));
    out += table_row("window and horizon", str(m.window, " and ", m.horizon, " steps"));
    out += table_row("inputs", str(series_.target_name, features.empty() ? "" : ", ", features,
                                   s.calendar.empty() ? "" : ", calendar (" + s.calendar + ")"));
    out += table_row("season", job_.recipe().season > 1 ? str(job_.recipe().season, " steps") : std::string("none"));
    out += table_row("normalisation", str(normalise_name(s.normalise), "; the model predicts the ", predict_name(s.predict),
                                          s.predict == Predict::kDifference
                                              ? (job_.recipe().season > 1 ? " from the seasonal value" : " from the last value")
                                              : ""));
    out += table_row("split", str(percent(s.split.train), " training, ", percent(s.split.validation), " validation, ",
                                  percent(s.split.test), " test, in time order"));
    out += table_row("loss", loss_kind_name(m.loss));
    out += table_row("optimizer", str(optimizer_kind_name(t.optimizer.kind), ", learning rate ", t.learning_rate, ", ",
                                      schedule_kind_name(t.schedule), " schedule, warm-up over ", percent(t.warmup),
                                      " of the steps, ", s.clip > 0 ? str("gradients clipped at ", s.clip) : "no clipping"));
    out += table_row("batch and epochs", str(t.batch, " windows; at most ", t.epochs, " epochs, patience ", t.patience));
    out += table_row("steps", str(state_.step, " of ", short_number(facts_.ms_per_step), " ms"));
    out += table_row("seed", str(t.seed));
    out += table_row("device", facts_.device);
    return out + "</table>\n<p class=\"note\">Made by tabgrad. This file needs no network.</p>\n";
  }

  const ForecastJob& job_;
  const Series& series_;
  const TrainerState& state_;
  const ForecastResult& result_;
  const RunFacts& facts_;
  std::int64_t horizon_;
};

}  // namespace

std::string report_html(const ForecastJob& job, const TrainerState& state, const ForecastResult& result,
                        const RunFacts& facts) {
  return Report(job, state, result, facts).page();
}

}  // namespace tabgrad
