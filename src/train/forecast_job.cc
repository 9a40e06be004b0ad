#include "train/forecast_job.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <utility>

#include "base/error.h"
#include "nn/parameters.h"
#include "train/json_fields.h"

namespace tabgrad {
namespace {

constexpr std::int64_t kEvalBatch = 256;
constexpr std::int64_t kMaxArWindow = 1000;  // its normal equations cost the cube of this
constexpr double kLowQuantile = 0.1, kHighQuantile = 0.9;

// Linear interpolation between order statistics (Hyndman & Fan 1996, type 7). Sorts its argument.
double quantile_of(std::vector<double>& x, double q) {
  std::sort(x.begin(), x.end());
  const double at = q * static_cast<double>(x.size() - 1);
  const auto below = static_cast<std::size_t>(at);
  const std::size_t above = std::min(below + 1, x.size() - 1);
  return x[below] + (at - static_cast<double>(below)) * (x[above] - x[below]);
}

std::int64_t quantile_count(const ForecasterConfig& config) {
  return config.quantiles.empty() ? 1 : static_cast<std::int64_t>(config.quantiles.size());
}

// The quantile that stands for the forecast: the one nearest to the median.
std::size_t middle_quantile(const ForecasterConfig& config) {
  std::size_t best = 0;
  for (std::size_t i = 1; i < config.quantiles.size(); ++i) {
    if (std::fabs(config.quantiles[i] - 0.5) < std::fabs(config.quantiles[best] - 0.5)) best = i;
  }
  return best;
}

// outputs (origins, H, Q), model units.
Bands to_bands(const WindowMaker& maker, WindowRange origins, const ForecastModel& model, const std::vector<float>& outputs) {
  const ForecasterConfig& config = model.settings.model;
  const std::int64_t horizon = maker.recipe().horizon, q = quantile_count(config);
  const bool shifted = config.quantiles.empty() && !model.band_low.empty();
  Bands bands;
  std::vector<float> row(static_cast<std::size_t>(horizon * 3));
  std::vector<double> values(row.size());
  const auto h_count = static_cast<std::size_t>(horizon), q_count = static_cast<std::size_t>(q);
  for (std::int64_t i = 0; i < origins.count; ++i) {
    const float* in = outputs.data() + i * horizon * q;
    for (std::size_t h = 0; h < h_count; ++h) {
      float* out = row.data() + 3 * h;
      if (shifted) {
        out[0] = in[h] + static_cast<float>(model.band_low[h]);
        out[1] = in[h];
        out[2] = in[h] + static_cast<float>(model.band_high[h]);
      } else {  // without quantiles q is 1, and the three are the same
        out[0] = in[h * q_count];
        out[1] = in[h * q_count + middle_quantile(config)];
        out[2] = in[h * q_count + q_count - 1];
        std::sort(out, out + 3);  // quantiles learned apart may cross (Chernozhukov, Fernández-Val & Galichon 2010)
      }
    }
    maker.values(origins.first + i, 3, row.data(), values.data());
    for (std::size_t h = 0; h < h_count; ++h) {
      const double middle = values[3 * h + 1];
      if (!std::isfinite(middle))
        fail("the model's forecast is not a finite number: its weights are damaged or its training diverged");
      bands.middle.push_back(middle);
      if (!shifted && q == 1) continue;
      bands.low.push_back(values[3 * h]);
      bands.high.push_back(values[3 * h + 2]);
    }
  }
  return bands;
}

// Quoted where a comma, a quote or a line end would break it.
std::string csv_cell(const std::string& text) {
  if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
  std::string out = "\"";
  for (char c : text) out += c == '"' ? std::string("\"\"") : std::string(1, c);
  return out + "\"";
}

std::string shortest(double value) { return Json(value).dump(); }  // gives the double back bit for bit

}  // namespace

std::string forecast_csv(const NextForecast& next, const Series& series) {
  const bool bands = !next.values.low.empty();
  std::string text = csv_cell(series.time_name.empty() ? "row" : series.time_name) + (bands ? ",p10," : ",") +
                     csv_cell(series.target_name) + (bands ? ",p90\n" : "\n");
  for (std::size_t h = 0; h < next.times.size(); ++h) {
    text += csv_cell(format_point(next.times[h], series.step));
    if (bands) text += "," + shortest(next.values.low[h]);
    text += "," + shortest(next.values.middle[h]);
    if (bands) text += "," + shortest(next.values.high[h]);
    text += "\n";
  }
  return text;
}

WindowBatches::WindowBatches(const WindowMaker& maker, WindowRange training, WindowRange validation, std::int64_t batch,
                             std::int64_t eval_batch)
    : maker_(maker), training_(training), validation_(validation), batch_(batch), eval_batch_(eval_batch) {
  const WindowRecipe& r = maker.recipe();
  const auto rows = static_cast<std::size_t>(std::max(batch, eval_batch)), horizon = static_cast<std::size_t>(r.horizon);
  x_.resize(rows * static_cast<std::size_t>(r.window * r.channels()));
  future_.resize(rows * horizon * static_cast<std::size_t>(r.calendar_channels()));
  target_.resize(rows * horizon);
  weight_.resize(rows);
}

std::int64_t WindowBatches::examples(Part part) const {
  switch (part) {
    case Part::kTraining: return training_.count;
    case Part::kValidation: return validation_.count;
  }
  TG_CHECK(false);
}

void WindowBatches::load(Part part, std::span<const std::int64_t> chosen, Session& session) {
  const bool training = part == Part::kTraining;
  const std::int64_t rows = training ? batch_ : eval_batch_, first = training ? training_.first : validation_.first;
  const std::int64_t horizon = maker_.recipe().horizon, x_size = static_cast<std::int64_t>(x_.size() / weight_.size());
  const std::int64_t future_size = static_cast<std::int64_t>(future_.size() / weight_.size());
  for (std::int64_t i = 0; i < rows; ++i) {
    const bool real = i < static_cast<std::int64_t>(chosen.size());
    weight_[static_cast<std::size_t>(i)] = real ? 1.0f : 0.0f;
    const std::int64_t origin = first + chosen[real ? static_cast<std::size_t>(i) : 0];  // padding: anything finite
    maker_.inputs(origin, x_.data() + i * x_size, future_.data() + i * future_size);
    maker_.targets(origin, target_.data() + i * horizon);
  }
  session.write(training ? "x" : "eval.x", x_.data(), rows * x_size);
  if (future_size > 0) session.write(training ? "future" : "eval.future", future_.data(), rows * future_size);
  session.write(training ? "target" : "eval.target", target_.data(), rows * horizon);
  session.write(training ? "weight" : "eval.weight", weight_.data(), rows);
}

std::vector<float> predict_windows(Session& session, const WindowMaker& maker, WindowRange origins, std::int64_t quantiles,
                                   std::int64_t eval_batch) {
  const WindowRecipe& r = maker.recipe();
  const std::int64_t x_size = r.window * r.channels(), future_size = r.horizon * r.calendar_channels(),
                     y_size = r.horizon * quantiles;
  std::vector<float> x(static_cast<std::size_t>(eval_batch * x_size)),
      future(static_cast<std::size_t>(eval_batch * future_size));
  std::vector<float> y(static_cast<std::size_t>(eval_batch * y_size)), all;
  for (std::int64_t i = 0; i < origins.count; i += eval_batch) {
    const std::int64_t count = std::min(eval_batch, origins.count - i);
    for (std::int64_t row = 0; row < eval_batch; ++row) {
      maker.inputs(origins.first + i + std::min(row, count - 1), x.data() + row * x_size, future.data() + row * future_size);
    }
    session.write("eval.x", x.data(), eval_batch * x_size);
    if (future_size > 0) session.write("eval.future", future.data(), eval_batch * future_size);
    session.run("predict");
    session.read("forecast", y.data(), eval_batch * y_size);
    all.insert(all.end(), y.begin(), y.begin() + count * y_size);
  }
  return all;
}

ForecastSetup::ForecastSetup(Series given, ForecastSettings chosen, std::optional<Split> given_split)
    : series(std::move(given)), settings(std::move(chosen)), notices(series.notices) {
  check_settings(settings);
  ForecasterConfig& config = settings.model;
  try {
    split = given_split ? *given_split : split_series(series.num_steps(), settings.split);
    ranges = window_ranges(split, config.window, config.horizon);
  } catch (const Error& e) {
    fail(series.source, ": ", e.what());
  }
  RecipeChoices choices{config.window, config.horizon, settings.season, settings.normalise, settings.predict, {}};
  if (!settings.calendar.empty()) choices.calendar = calendar_from(settings.calendar, series.step);
  maker = std::make_unique<WindowMaker>(series, fit_recipe(series, split.train_end, choices, &notices));
  config.channels = maker->recipe().channels();
  config.future_channels = maker->recipe().calendar_channels();
  training = settings.training;
  training.batch = std::min(training.batch, ranges.train.count);
  training.eval_batch = std::min(kEvalBatch, std::max(ranges.validation.count, ranges.test.count));
  model = build_forecaster(config, training.batch, training.eval_batch, training.optimizer, settings.clip);
}

ForecastJob::ForecastJob(Series series, ForecastSettings settings, const SessionOptions& options, std::optional<Split> split)
    : setup_(std::move(series), std::move(settings), split), parameters_(parameter_count(setup_.model.parameters)) {
  const TrainerConfig& training = setup_.training;
  session_ = std::make_unique<Session>(make_session(setup_.model.entries, options));
  write_initial_values(*session_, setup_.model.parameters, training.seed);
  setup_.model.entries.clear();  // the session has its Program
  batches_ = std::make_unique<WindowBatches>(*setup_.maker, setup_.ranges.train, setup_.ranges.validation, training.batch,
                                             training.eval_batch);
  trainer_ = std::make_unique<Trainer>(*session_, *batches_, training);
}

std::string ForecastJob::data_hash() const {
  std::uint64_t hash = 0xCBF29CE484222325u;  // FNV-1a's offset basis and prime
  const auto add = [&](const std::vector<double>& values) {
    for (double v : values) hash = (hash ^ std::bit_cast<std::uint64_t>(v)) * 0x100000001B3u;
  };
  add(series().times);
  add(series().target);
  for (const FeatureColumn& feature : series().features) add(feature.values);
  return hash_text(hash);
}

ForecastResult ForecastJob::judge() {
  TG_CHECK(trainer_->state().end != EndReason::kNone);
  const WindowRecipe& r = recipe();
  const WindowMaker& maker = *setup_.maker;
  const WindowRanges& ranges = setup_.ranges;
  const std::int64_t quantiles = quantile_count(settings().model), eval_batch = setup_.training.eval_batch;
  ForecastResult result;
  ForecastModel& model = result.model;
  model.settings = settings();
  model.recipe = r;
  model.step = series().step;
  model.best_epoch = std::max<std::int64_t>(0, trainer_->state().best_epoch);
  model.steps = trainer_->state().step;
  for (const std::string& name : session_->names(BufferRole::kParameter))
    result.weights.emplace_back(name, session_->read(name));

  if (settings().model.quantiles.empty() && ranges.validation.count > 0) {
    const std::vector<float> y = predict_windows(*session_, maker, ranges.validation, 1, eval_batch);
    std::vector<float> target(static_cast<std::size_t>(r.horizon));
    std::vector<std::vector<double>> errors(target.size());
    for (std::int64_t i = 0; i < ranges.validation.count; ++i) {
      maker.targets(ranges.validation.first + i, target.data());
      for (std::size_t h = 0; h < target.size(); ++h) {
        errors[h].push_back(static_cast<double>(target[h]) -
                            static_cast<double>(y[static_cast<std::size_t>(i * r.horizon) + h]));
      }
    }
    for (std::vector<double>& e : errors) {
      model.band_low.push_back(std::min(0.0, quantile_of(e, kLowQuantile)));
      model.band_high.push_back(std::max(0.0, quantile_of(e, kHighQuantile)));
    }
  }

  result.test = ranges.test;
  result.truth = window_truth(series().target, result.test, r.horizon);
  result.forecast = to_bands(maker, result.test, model, predict_windows(*session_, maker, result.test, quantiles, eval_batch));
  if (!result.forecast.low.empty()) result.band_coverage = coverage(result.truth, result.forecast.low, result.forecast.high);

  const double scale = in_sample_naive_mae({series().target.data(), static_cast<std::size_t>(split().train_end)}, r.season);
  model.metrics = point_metrics(result.truth, result.forecast.middle, scale);
  const auto baseline = [&](const char* name, const std::vector<double>& forecast) {
    model.baselines.push_back({name, point_metrics(result.truth, forecast, scale)});
  };
  baseline("last value", last_value_forecast(series().target, result.test, r.horizon));
  baseline("seasonal naive", seasonal_naive_forecast(series().target, result.test, r.horizon, r.season));
  const LinearAr ar = fit_linear_ar(series().target, ranges.train, std::min(r.window, kMaxArWindow), r.horizon);
  if (!ar.notice.empty()) setup_.notices.push_back(ar.notice);
  baseline("linear AR", ar.forecast(series().target, result.test));
  result.verdict = compare_with_baselines({forecaster_title(settings().model.kind), model.metrics}, model.baselines,
                                          is_flat(result.truth, result.forecast.middle));

  const WindowRange last{series().num_steps(), 1};
  result.next = {series().future_times(r.horizon),
                 to_bands(maker, last, model, predict_windows(*session_, maker, last, quantiles, eval_batch))};
  return result;
}

NextForecast forecast_next(const ForecastModel& model, const NamedTensors& weights, const Series& series,
                           const SessionOptions& options) {
  if (series.num_steps() < model.recipe.window) {
    fail(series.source, " has ", series.num_steps(), " points; the model looks back over ", model.recipe.window,
         ". Give a longer series.");
  }
  if (to_string(series.step) != to_string(model.step)) {
    fail(series.source, " has one point every ", to_string(series.step), "; the model was trained on one every ",
         to_string(model.step), ". Give a series of that step.");
  }
  const WindowMaker maker(series, model.recipe);
  BuiltModel built = build_forecaster(model.settings.model, 1, 1, model.settings.training.optimizer, 0);
  // Shapes first, so that a damaged description cannot ask for memory that the weights do not fill.
  for (const ParameterSpec& spec : built.parameters) {
    const auto found = std::find_if(weights.begin(), weights.end(), [&](const auto& w) { return w.first == spec.name; });
    if (found == weights.end() || found->second.dims != spec.dims) {
      fail("the model's weights lack '", spec.name, "' ", to_string(spec.dims), ": the model folder is damaged. Train again.");
    }
  }
  std::erase_if(built.entries, [](const EntryGraph& e) { return e.name != "predict"; });
  Session session = make_session(built.entries, options);
  for (const auto& [name, value] : weights) session.write(name, value);
  const WindowRange last{series.num_steps(), 1};
  const std::int64_t quantiles = quantile_count(model.settings.model);
  return {series.future_times(model.recipe.horizon),
          to_bands(maker, last, model, predict_windows(session, maker, last, quantiles, 1))};
}

const char* forecaster_title(ForecasterKind kind) {
  switch (kind) {
    case ForecasterKind::kLstm: return "LSTM";
    case ForecasterKind::kGru: return "GRU";
    case ForecasterKind::kTransformer: return "Transformer";
  }
  TG_CHECK(false);
}

}  // namespace tabgrad
