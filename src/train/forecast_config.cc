#include "train/forecast_config.h"

#include <cmath>
#include <optional>

#include "base/error.h"
#include "train/json_fields.h"
#include "train/optimizer_fields.h"

namespace tabgrad {
namespace {

constexpr std::int64_t kFormatVersion = 1;
constexpr std::int64_t kMaxWindow = 100'000, kMaxHorizon = 100'000;

std::string fill_word(const std::optional<FillMethod>& fill) {
  if (!fill) return "auto";
  switch (*fill) {
    case FillMethod::kDrop: return "drop";
    case FillMethod::kPrevious: return "previous";
    case FillMethod::kLinear: return "linear";
    case FillMethod::kError: return "error";
  }
  TG_CHECK(false);
}
std::optional<FillMethod> fill_from_word(const std::string& word) {
  if (word == "auto") return std::nullopt;
  return fill_method_from(word);
}

const char* unit_name(TimeStep::Unit unit) {
  switch (unit) {
    case TimeStep::Unit::kCounter: return "rows";
    case TimeStep::Unit::kSeconds: return "seconds";
    case TimeStep::Unit::kWeekdays: return "weekdays";
    case TimeStep::Unit::kMonths: return "months";
  }
  TG_CHECK(false);
}
TimeStep::Unit unit_from(const std::string& word) {
  for (TimeStep::Unit u :
       {TimeStep::Unit::kCounter, TimeStep::Unit::kSeconds, TimeStep::Unit::kWeekdays, TimeStep::Unit::kMonths}) {
    if (word == unit_name(u)) return u;
  }
  fail("unit '", word, "' is not known");
}

template <typename Fields>
void fields(Fields& f, SplitFractions& s) {
  f.number("train", s.train, 0, 1);
  f.number("validation", s.validation, 0, 1);
  f.number("test", s.test, 0, 1);
}

template <typename Fields>
void fields(Fields& f, ForecasterConfig& m) {
  f.word("kind", m.kind, forecaster_kind_name, forecaster_kind_from);
  f.integer("window", m.window, 1, kMaxWindow);
  f.integer("horizon", m.horizon, 1, kMaxHorizon);
  f.integer("channels", m.channels, 1, kMaxCount);
  f.integer("future_channels", m.future_channels, 0, kMaxCount);
  f.integer("units", m.units, 1, 1 << 16);
  f.integer("layers", m.layers, 1, 1024);
  f.integer("heads", m.heads, 1, 1 << 16);
  f.number("dropout", m.dropout, 0, 0.999);
  f.flag("gru_reset_after", m.gru_reset_after);
  f.integer("head_units", m.head_units, 1, 1 << 16);
  f.word("loss", m.loss, loss_kind_name, loss_kind_from);
  f.number("huber_delta", m.huber_delta, 0, 1e9);
  f.numbers("quantiles", m.quantiles);
}

template <typename Fields>
void fields(Fields& f, TrainerConfig& t) {
  f.integer("epochs", t.epochs, 1, 1'000'000);
  f.integer("batch", t.batch, 1, 1'000'000);
  f.integer("eval_batch", t.eval_batch, 1, 1'000'000);
  f.integer("patience", t.patience, 0, kMaxCount);
  rate_fields(f, t);
}

template <typename Fields>
void fields(Fields& f, ForecastSettings& s) {
  f.text("target", s.series.target);
  f.text("time", s.series.time);
  f.texts("features", s.series.features);
  f.word("missing", s.series.fill, fill_word, fill_from_word);
  f.group("split", [&](auto& g) { fields(g, s.split); });
  f.integer("season", s.season, 0, kMaxWindow);
  f.word("normalise", s.normalise, normalise_name, normalise_from);
  f.word("predict", s.predict, predict_name, predict_from);
  f.text("calendar", s.calendar);
  f.group("model", [&](auto& g) { fields(g, s.model); });
  f.group("training", [&](auto& g) { fields(g, s.training); });
  f.number("clip", s.clip, 0, 1e30);
}

template <typename Fields>
void fields(Fields& f, Scaler& s) {
  f.word("kind", s.kind, scaler_kind_name, scaler_kind_from);
  f.number("offset", s.offset);
  f.number("scale", s.scale, 0);
}

template <typename Fields>
void fields(Fields& f, WindowRecipe& r) {  // window, horizon, normalise, predict and calendar are those of the settings
  f.integer("season", r.season, 1, kMaxWindow);
  f.group("target", [&](auto& g) { fields(g, r.target); });
  f.number("least_spread", r.least_spread, 1e-300);
  f.number("target_size", r.target_size, 1e-300);
  f.list("features", r.features, [](auto& g, Channel& c) {
    g.text("name", c.name);
    fields(g, c.scaler);
  });
}

template <typename Fields>
void fields(Fields& f, TimeStep& s) {
  f.word("unit", s.unit, unit_name, unit_from);
  f.number("size", s.size, 1e-9, 1e12);
  f.flag("month_end", s.month_end);
}

template <typename Fields>
void fields(Fields& f, Metrics& m) {
  f.figure("rmse", m.rmse);
  f.figure("mae", m.mae);
  f.figure("smape", m.smape);
  f.figure("mase", m.mase);
}

template <typename Fields>
void fields(Fields& f, ForecastModel& m, std::string& weights_hash) {
  std::int64_t version = kFormatVersion;
  f.integer("tabgrad_forecast_model", version, kFormatVersion, kFormatVersion);
  f.group("settings", [&](auto& g) { fields(g, m.settings); });
  f.group("step", [&](auto& g) { fields(g, m.step); });
  f.group("windows", [&](auto& g) { fields(g, m.recipe); });
  f.numbers("band_low", m.band_low);
  f.numbers("band_high", m.band_high);
  f.integer("best_epoch", m.best_epoch, 0, kMaxCount);
  f.integer("steps", m.steps, 0, std::int64_t{1} << 60);
  f.group("test", [&](auto& g) { fields(g, m.metrics); });
  f.list("baselines", m.baselines, [](auto& g, NamedMetrics& b) {
    g.text("name", b.name);
    fields(g, b.metrics);
  });
  f.text("weights_hash", weights_hash);
}

// What the fields say together; ranges of single ones are checked as they are read.
void check_model(ForecastModel& m, const std::string& file) {
  const auto need = [&](bool good, const char* what) {
    if (!good) fail(file, ": ", what, ". The file is damaged or was changed by hand.");
  };
  try {
    check_settings(m.settings);
    m.recipe.window = m.settings.model.window;
    m.recipe.horizon = m.settings.model.horizon;
    m.recipe.normalise = m.settings.normalise;
    m.recipe.predict = m.settings.predict;
    m.recipe.calendar.clear();
    if (!m.settings.calendar.empty()) m.recipe.calendar = calendar_from(m.settings.calendar, m.step);
  } catch (const Error& e) {
    fail(file, ": ", e.what());
  }
  need(m.recipe.season <= m.recipe.window, "'windows.season' is longer than 'settings.model.window'");
  need(m.recipe.target.scale > 0, "'windows.target.scale' is not above 0");
  need(m.recipe.features.size() == m.settings.series.features.size(), "'windows.features' and 'settings.features' differ");
  need(m.settings.model.channels == m.recipe.channels(),
       "'settings.model.channels' does not fit the features and calendar columns");
  need(m.settings.model.future_channels == m.recipe.calendar_channels(),
       "'settings.model.future_channels' does not fit the calendar");
  const auto horizon = static_cast<std::size_t>(m.recipe.horizon);
  need(m.band_low.size() == m.band_high.size() && (m.band_low.empty() || m.band_low.size() == horizon),
       "'band_low' and 'band_high' do not have one number for each step");
}

}  // namespace

double default_learning_rate(ForecasterKind model, OptimizerConfig::Kind optimizer) {
  if (optimizer == OptimizerConfig::Kind::kSgd) return 0.03;
  if (optimizer == OptimizerConfig::Kind::kLion) return 3e-4;
  return model == ForecasterKind::kTransformer ? 3e-3 : 5e-3;
}

ForecastSettings default_settings(ForecasterKind kind) {
  ForecastSettings settings;
  settings.model = default_forecaster(kind);
  settings.model.horizon = 12;
  settings.training.learning_rate = default_learning_rate(kind, settings.training.optimizer.kind);
  return settings;
}

void check_settings(const ForecastSettings& s) {
  check_forecaster(s.model);
  check_trainer(s.training);
  if (s.model.window > kMaxWindow) fail("--window ", s.model.window, " is too long: at most ", kMaxWindow, ".");
  if (s.model.horizon > kMaxHorizon) fail("--horizon ", s.model.horizon, " is too long: at most ", kMaxHorizon, ".");
  if (!(s.clip >= 0)) fail("--clip ", s.clip, " is not possible: give a gradient norm above 0, or 0 for no clipping.");
  if (!(s.training.optimizer.weight_decay >= 0)) fail("--weight-decay ", s.training.optimizer.weight_decay, " is below 0.");
  const double total = s.split.train + s.split.validation + s.split.test;
  if (!(s.split.train > 0 && s.split.validation >= 0 && s.split.test > 0 && std::fabs(total - 1) < 1e-6)) {
    fail("--split ", s.split.train, ",", s.split.validation, ",", s.split.test,
         " is not possible: give the parts for training, validation and test, such as 0.7,0.1,0.2. They add up to 1; only "
         "validation may be 0.");
  }
}

std::string to_json(const ForecastSettings& settings) {
  Json json;
  FieldWriter writer(json);
  ForecastSettings copy = settings;
  fields(writer, copy);
  return json.dump(2, ' ', false, Json::error_handler_t::replace);
}

ForecastSettings settings_from_json(const std::string& text, const std::string& file) {
  const Json json = parse_json(text, file);
  FieldReader reader(json, file, "");
  ForecastSettings settings;
  fields(reader, settings);
  try {
    check_settings(settings);
  } catch (const Error& e) {
    fail(file, ": ", e.what());
  }
  return settings;
}

std::string to_json(const ForecastModel& model, const std::string& weights_hash) {
  Json json;
  FieldWriter writer(json);
  ForecastModel copy = model;
  std::string hash = weights_hash;
  fields(writer, copy, hash);
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

ForecastModel model_from_json(const std::string& text, const std::string& file, std::string* weights_hash) {
  const Json json = parse_json(text, file);
  FieldReader reader(json, file, "");
  ForecastModel model;
  fields(reader, model, *weights_hash);
  check_model(model, file);
  return model;
}

}  // namespace tabgrad
