// `tabgrad train lm`: text in, a language model out that Hugging Face's tools can load.
//
// Does: reads the text, makes the tokenizer, drives an LmJob with a progress line and samples, saves model and checkpoint on
// the way. Does not: know how models or batches work.
//
// Ends: Ctrl-C and the time limit keep the best weights, write everything and exit 0; a run that diverged keeps them too and
// exits 1.
#include <CLI/CLI.hpp>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <memory>

#include "base/clock.h"
#include "cli/cli.h"
#include "cli/lm/files.h"
#include "cli/output.h"
#include "cli/progress.h"
#include "cli/settings_options.h"
#include "data/atomic_file.h"
#include "lm/lm_job.h"
#include "plan/plan.h"

namespace tabgrad::cli {
namespace {

namespace fs = std::filesystem;

constexpr const char* kTokensFile = "tokens.safetensors";
constexpr std::int64_t kSampleTokens = 160;
constexpr double kNatsPerBit = 0.6931471805599453;

struct LmOptions {
  std::vector<std::string> text;
  std::string preset = "small", model = "gpt", tokenizer = "byte", out, from, prompt = "\n";
  bool resume = false;
  double max_minutes = 0, checkpoint_seconds = 10;
  std::int64_t sample_every = 0;
  CLI::Option *preset_option = nullptr, *model_option = nullptr, *tokenizer_option = nullptr;
  SettingsOptions<LmSettings> given;

  void declare(CLI::App& app);
};

void LmOptions::declare(CLI::App& app) {
  using S = LmSettings;
  using Text = std::string;
  using Count = std::int64_t;
  app.add_option("--text", text, "the text to learn from; several files one after another")->type_name("FILE")->required();
  preset_option =
      app.add_option("--preset", preset, "tiny, small, medium, large, xl, huge, massive or mega (small)")->take_last();
  model_option = app.add_option("--model", model, "gpt, lstm or gru (gpt)")->take_last();
  tokenizer_option = app.add_option("--tokenizer", tokenizer, "byte, bpe:VOCABULARY, or a tokenizer.json (byte)")->take_last();
  app.add_option("--out", out, "folder for the model and its checkpoint")->type_name("DIR");
  app.add_flag("--resume", resume, "go on with the interrupted run in --out");
  app.add_option("--from", from, "start from the weights of this model folder, with its sizes and tokenizer")->type_name("DIR");
  app.add_option("--sample-every", sample_every, "show what the model writes, each so many steps (only at the end)");
  app.add_option("--prompt", prompt, "how the samples begin");
  app.add_option("--checkpoint-seconds", checkpoint_seconds, "at least this long between two checkpoints (10)")
      ->check(CLI::NonNegativeNumber);
  app.add_option("--max-minutes", max_minutes, "stop training after this time")->check(CLI::NonNegativeNumber);

  given.add<Count>(app, "--steps", "training steps (1500)", [](S& s, const Count& v) { s.training.steps = v; });
  given.add<Count>(app, "--batch", "texts at once", [](S& s, const Count& v) { s.model.batch = v; });
  given.add<Count>(app, "--accumulate", "batches a step, where one step's texts do not fit at once (1)",
                   [](S& s, const Count& v) { s.training.accumulate = v; });
  given.add<double>(app, "--lr", "learning rate at its peak (0.003)",
                    [](S& s, const double& v) { s.training.learning_rate = v; });
  given.add<Text>(app, "--schedule", "constant, linear, cosine or step (cosine)",
                  [](S& s, const Text& v) { s.training.schedule = schedule_kind_from(v); });
  given.add<double>(app, "--warmup", "part of all steps in which the rate rises (0.05)",
                    [](S& s, const double& v) { s.training.warmup = v; });
  given.add<double>(app, "--lr-floor", "part of the learning rate at which linear and cosine end (0)",
                    [](S& s, const double& v) { s.training.lr_floor = v; });
  given.add<Text>(app, "--optimizer", "sgd, adam, adamw, lion or muon (adamw)",
                  [](S& s, const Text& v) { use_optimizer(s, optimizer_kind_from(v)); });
  given.add<double>(app, "--weight-decay", "of matrices and embeddings (0.1 with adamw)",
                    [](S& s, const double& v) { s.training.optimizer.weight_decay = v; });
  given.add<double>(app, "--clip", "largest gradient norm; 0 for none (1)", [](S& s, const double& v) { s.clip = v; });
  given.add<Count>(app, "--eval-every", "steps between validations (100)",
                   [](S& s, const Count& v) { s.training.eval_every = v; });
  given.add<Count>(app, "--eval-batches", "batches of a validation on the way (20)",
                   [](S& s, const Count& v) { s.training.eval_batches = v; });
  given.add<double>(app, "--validation", "part of the text, its end, to judge by (0.1)",
                    [](S& s, const double& v) { s.validation = v; });

  given.add<bool>(app, "--recompute",
                  "true: layers' activations are computed again in the backward pass, which needs less memory (false)",
                  [](S& s, const bool& v) { s.recompute = v; });

  given.add<Count>(app, "--layers", "Transformer blocks, or recurrent layers",
                   [](S& s, const Count& v) { s.model.layers = v; });
  given.add<Count>(app, "--width,--units", "numbers a token is described by; units of a recurrent layer",
                   [](S& s, const Count& v) { s.model.width = v; });
  given.add<Count>(app, "--heads", "attention heads", [](S& s, const Count& v) { s.model.heads = v; });
  given.add<Count>(app, "--kv-heads", "key and value heads (as many as heads)",
                   [](S& s, const Count& v) { s.model.kv_heads = v; });
  given.add<Count>(app, "--context", "tokens that the model sees at once", [](S& s, const Count& v) { s.model.context = v; });
  given.add<Count>(app, "--mlp-width", "hidden numbers of a block's MLP (4 times the width)",
                   [](S& s, const Count& v) { s.model.mlp_width = v; });
  given.add<Text>(app, "--positions", "learned, sinusoidal, rope, alibi or none (learned)",
                  [](S& s, const Text& v) { s.model.positions = position_kind_from(v); });
  given.add<Text>(app, "--norm", "layer_norm or rms_norm (layer_norm)",
                  [](S& s, const Text& v) { s.model.norm = norm_kind_from(v); });
  given.add<Text>(app, "--mlp", "gelu, gelu_tanh, swiglu or relu2 (gelu)",
                  [](S& s, const Text& v) { s.model.mlp = mlp_kind_from(v); });
  given.add<bool>(app, "--tied", "true: the head is the token embedding (true)", [](S& s, const bool& v) { s.model.tied = v; });
  given.add<bool>(app, "--qk-norm", "true: norm queries and keys (false)", [](S& s, const bool& v) { s.model.qk_norm = v; });
  given.add<double>(app, "--dropout", "part of the values dropped in training (0)",
                    [](S& s, const double& v) { s.model.dropout = v; });
  given.add<double>(app, "--label-smoothing", "part of the target spread over all tokens (0)",
                    [](S& s, const double& v) { s.model.label_smoothing = v; });
}

class TrainLm {
 public:
  TrainLm(const LmOptions& options, const Common& common, bool seed_given)
      : o_(options), common_(common), seed_given_(seed_given), progress_(is_stdout(common.json) ? stderr : stdout) {}

  int run() {
    session_options(common_);  // refuses an unknown device before anything is read
    if (o_.resume && o_.out.empty()) fail("--resume needs --out, the folder of the interrupted run.");
    if (o_.resume && !o_.from.empty()) fail("--resume does not go with --from: the run goes on from its own weights.");
    const fs::path json_folder = fs::path(common_.json).parent_path();
    if (!json_folder.empty() && !fs::is_directory(json_folder))  // said now rather than after the training
      fail("--json ", common_.json, ": there is no folder ", json_folder.string(), ".");
    if (!o_.out.empty()) prepare_folder(o_.out);
    std::optional<LmCheckpoint> checkpoint;
    if (o_.resume) checkpoint = read_lm_checkpoint(o_.out);
    if (o_.resume && !checkpoint) progress_.print(o_.out + " holds no checkpoint: training starts from the beginning.");
    std::optional<LmModel> start;
    if (!o_.from.empty()) start = read_lm_folder(o_.from);
    LmSettings settings = settings_for(checkpoint, start);
    const Tokenizer tokenizer = start ? start->tokenizer : make_tokenizer(settings.tokenizer, checkpoint.has_value());
    // Bytes are their own tokens: keeping them would save nothing.
    const bool keep = !o_.out.empty() && settings.tokenizer != "byte";
    Corpus corpus = read_corpus(tokenizer, o_.text, settings.validation, keep ? (fs::path(o_.out) / kTokensFile).string() : "",
                                [&](const std::string& line) { progress_.print(line); });
    const SessionOptions session = training_options(common_, [&](const std::string& line) { progress_.print(line); });
    LmJob job(std::move(corpus), tokenizer, settings, session, start ? &start->weights : nullptr);
    describe(job);
    if (checkpoint) {
      job.restore(*checkpoint);
      progress_.print(str("Resumed at step ", job.trainer().state().step, " of ", settings.training.steps, "."));
    } else if (!o_.out.empty()) {
      save_checkpoint(job);  // so that a run killed at once can be resumed with its settings and tokenizer
    }
    train(job);
    finish(job);
    return job.trainer().state().end == EndReason::kDiverged ? 1 : 0;
  }

 private:
  LmSettings settings_for(const std::optional<LmCheckpoint>& checkpoint, const std::optional<LmModel>& start) {
    LmSettings settings;
    if (checkpoint) {
      settings = checkpoint->settings;
      if (o_.preset_option->count() > 0 && o_.preset != settings.model.name) o_.given.differs("--preset", o_.out);
      if (o_.model_option->count() > 0 && o_.model != lm_kind_name(settings.model.kind)) o_.given.differs("--model", o_.out);
      if (o_.tokenizer_option->count() > 0 && o_.tokenizer != settings.tokenizer) o_.given.differs("--tokenizer", o_.out);
      if (seed_given_ && common_.seed != settings.training.seed) o_.given.differs("--seed", o_.out);
      o_.given.check_same(settings, o_.out);
    } else {
      settings = default_lm_settings(o_.preset, lm_kind_from(o_.model));
      settings.tokenizer = o_.tokenizer;
      settings.training.seed = common_.seed;
      if (start) {
        const std::int64_t batch = settings.model.batch;
        settings.model = start->config;
        settings.model.batch = batch;
        if (o_.model_option->count() > 0 && o_.model != lm_kind_name(start->config.kind))
          fail("--model ", o_.model, ": the model in --from ", o_.from, " is of kind ", lm_kind_name(start->config.kind), ".");
        settings.tokenizer = o_.from;
      }
      o_.given.apply(settings);
      if (start && lm_parameters(settings.model) != lm_parameters(start->config))
        fail("--from ", o_.from, ": the sizes of its model cannot be changed. Leave out the options that name other sizes.");
      check_settings(settings);
    }
    settings.training.max_seconds = o_.max_minutes * 60;
    return settings;
  }

  Tokenizer make_tokenizer(const std::string& word, bool resumed) {
    if (resumed) return read_tokenizer((fs::path(o_.out) / kTokenizerFile).string());
    constexpr std::string_view kBpe = "bpe:";
    if (word == "byte") return Tokenizer::bytes();
    if (!word.starts_with(kBpe)) return read_tokenizer(word);
    const auto start = std::chrono::steady_clock::now();
    const Tokenizer tokenizer = train_tokenizer(word.substr(kBpe.size()), o_.text, [&](std::int64_t made, std::int64_t wanted) {
      if (progress_.live() && progress_.due())
        progress_.draw(static_cast<double>(made) / static_cast<double>(wanted),
                       str("tokenizer: ", made, " of ", wanted, " tokens"));
    });
    progress_.print(str("Tokenizer: ", tokenizer.vocabulary(), " tokens learned in ", fixed(seconds_since(start), 1), " s"));
    return tokenizer;
  }

  void describe(LmJob& job) {
    const Corpus& c = job.corpus();
    const LmConfig& m = job.settings().model;
    progress_.print(str("Text: ", c.bytes(), " bytes, ", c.size(), " tokens (", fixed(c.bytes_per_token(), 2),
                        " bytes each); training ", c.training_tokens(), ", validation ", c.validation_tokens()));
    const std::string sizes =
        m.recurrent() ? str(" layers of ", m.width, " units") : str(" layers, width ", m.width, ", ", m.heads, " heads");
    progress_.print(str("Model: ", lm_kind_name(m.kind), ", ", m.layers, sizes, ", context ", m.context, ", ", job.parameters(),
                        " parameters, on ", job.session().device()));
    progress_.print(
        str("Memory: ", (memory_use(job.session().program()).total() + (1 << 19)) >> 20, " MiB for the model and a step"));
    for (const std::string& notice : job.notices()) progress_.print("  note: " + notice);
  }

  void save_checkpoint(LmJob& job) {
    try {
      if (!tokenizer_saved_) write_file_atomically((fs::path(o_.out) / kTokenizerFile).string(), job.tokenizer().to_json());
      tokenizer_saved_ = true;
      write_file_atomically(lm_checkpoint_path(o_.out), job.checkpoint());
    } catch (const Error& e) {
      progress_.print(str("note: no checkpoint could be saved: ", e.what()));
    }
    saved_ = std::chrono::steady_clock::now();
  }

  void train(LmJob& job) {
    const StopRequest stop_on_signal;
    LmTrainer& trainer = job.trainer();
    const auto start = std::chrono::steady_clock::now();
    saved_ = start;
    const std::int64_t first_step = trainer.state().step;
    std::int64_t sampled = first_step;
    for (LmTrainer::Event event = trainer.advance(); event != LmTrainer::Event::kEnd; event = trainer.advance()) {
      if (StopRequest::requested()) trainer.request_stop();
      const LmTrainerState& s = trainer.state();
      const bool evaluated = event == LmTrainer::Event::kEvaluation;
      if (!o_.out.empty() && !trainer.validating() && seconds_since(saved_) >= o_.checkpoint_seconds) save_checkpoint(job);
      if (o_.sample_every > 0 && s.step >= sampled + o_.sample_every && !trainer.validating()) {
        sampled = s.step;
        show_sample(job);
      }
      if (!evaluated && !progress_.due()) continue;
      const double rate = static_cast<double>(s.step - first_step) / std::max(seconds_since(start), 1e-9);
      const std::string line = progress_line(job, rate);
      if (progress_.live() && !evaluated) {
        progress_.draw(static_cast<double>(s.step) / static_cast<double>(trainer.config().steps), line);
      } else if (evaluated) {
        progress_.print(line);
      }
    }
    seconds_ = seconds_since(start);
    if (!o_.out.empty() && trainer.state().end != EndReason::kDiverged) save_checkpoint(job);
    progress_.print(str(trainer.state().message, " ", trainer.state().step - first_step, " steps in ", clock_text(seconds_),
                        ", ", fixed(trainer.timer().ms_per_step(), 2), " ms a step."));
  }

  std::string progress_line(LmJob& job, double rate) const {
    const LmTrainer& trainer = job.trainer();
    const LmTrainerState& s = trainer.state();
    std::string line = str("step ", s.step, "/", trainer.config().steps);
    if (s.step > 0) line += "  loss " + fixed(recent_loss(s), 3);
    if (!s.validation_loss.empty()) line += "  validation " + fixed(s.validation_loss.back(), 3);
    if (s.step > 0 && rate > 0) {
      line += str("  lr ", fixed(trainer.last_rate() * 1e3, 3), "e-3  ", std::llround(rate * job.step_tokens()), " tokens/s  ",
                  fixed(job.step_flops() * rate * 1e-9, 1), " GFLOP/s  ETA ",
                  clock_text(static_cast<double>(trainer.config().steps - s.step) / rate));
    }
    return line;
  }

  // The mean of the last twenty steps: a single batch says little.
  static double recent_loss(const LmTrainerState& s) {
    const std::size_t n = std::min<std::size_t>(20, s.train_loss.size());
    double sum = 0;
    for (std::size_t i = s.train_loss.size() - n; i < s.train_loss.size(); ++i) sum += s.train_loss[i];
    return sum / static_cast<double>(n);
  }

  void show_sample(LmJob& job) {
    SamplingOptions options;
    options.seed = job.settings().training.seed;
    const std::string text = job.sample(o_.prompt, kSampleTokens, options);
    progress_.print(
        str("--- what it writes after step ", job.trainer().state().step, " (temperature ", options.temperature, ")"));
    progress_.print(printable(o_.prompt + text));
    progress_.print("---");
  }

  void finish(LmJob& job) {
    const LmTrainerState& s = job.trainer().state();
    show_sample(job);
    if (s.best_step >= 0 && !s.validation_loss.empty()) {
      validation_ = job.trainer().validate_all();
      progress_.print(str("Best weights, of step ", s.best_step, ", on the whole validation part: loss ", fixed(validation_, 4),
                          " nats a token, perplexity ", fixed(std::exp(validation_), 2), ", ",
                          fixed(validation_ / job.corpus().bytes_per_token() / kNatsPerBit, 3), " bits a byte."));
    }
    if (o_.out.empty()) {
      progress_.print("Nothing was saved: give --out DIR to keep the model.");
    } else {
      write_lm_folder(o_.out, job.model());
      progress_.print(str("The model is in ", o_.out, ": tabgrad generate --model ", o_.out, " --prompt '…'"));
      if (s.end == EndReason::kStopped || s.end == EndReason::kTimeLimit)
        progress_.print("To go on with this run: the same command with --resume.");
    }
    if (!common_.json.empty()) write_output(common_.json, summary(job).dump(2) + "\n");
  }

  Json summary(LmJob& job) const {
    const LmTrainerState& s = job.trainer().state();
    const LmConfig& m = job.settings().model;
    const double ms = job.trainer().timer().ms_per_step();
    Json json;
    json["device"] = job.session().device();
    json["precision"] = job.session().program().f16 ? "f16" : "f32";
    json["preset"] = m.name;
    json["model"] = lm_kind_name(m.kind);
    json["params"] = job.parameters();
    json["tokens"] = job.corpus().size();
    json["bytes"] = job.corpus().bytes();
    json["seed"] = job.settings().training.seed;
    json["init_hash"] = job.initial_hash();
    json["steps"] = s.step;
    json["ms_per_step"] = ms;
    json["tokens_per_s"] = ms > 0 ? 1e3 * job.step_tokens() / ms : 0;
    json["gflops"] = ms > 0 ? job.step_flops() / ms * 1e-6 : 0;
    json["train_seconds"] = seconds_;
    json["peak_bytes"] = memory_use(job.session().program()).total();
    json["ended"] = s.message;
    json["train_loss"] = s.train_loss;
    json["grad_norm"] = s.grad_norm;
    json["val_step"] = s.validation_step;
    json["val_loss"] = s.validation_loss;
    if (s.best_step >= 0 && !s.validation_loss.empty()) {
      json["best_step"] = s.best_step;
      json["best_val_loss"] = validation_;  // on the whole part
      json["val_nats_per_byte"] = validation_ / job.corpus().bytes_per_token();
    }
    json["notices"] = job.notices();
    return json;
  }

  const LmOptions& o_;
  const Common& common_;
  bool seed_given_;
  Progress progress_;
  std::chrono::steady_clock::time_point saved_;
  bool tokenizer_saved_ = false;
  double seconds_ = 0, validation_ = 0;
};

}  // namespace

void add_train_lm(CLI::App& train, Command& command) {
  CLI::App* sub = train.add_subcommand("lm", "Train a language model on text, from scratch or from a model folder");
  sub->footer("For example: tabgrad train lm --text book.txt --preset small --out model");
  const auto common = std::make_shared<Common>();
  const auto options = std::make_shared<LmOptions>();
  options->declare(*sub);
  add_common_options(*sub, *common);
  add_precision_option(*sub, *common);
  sub->callback([&command, sub, common, options] {
    const bool seed_given = sub->get_option("--seed")->count() > 0;
    command = [common, options, seed_given] { return TrainLm(*options, *common, seed_given).run(); };
  });
}

}  // namespace tabgrad::cli
