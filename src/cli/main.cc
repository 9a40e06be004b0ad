// The tabgrad program: declares the subcommands, runs the chosen one, turns what goes wrong into a message and an exit code.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <new>

#include "base/flags.h"
#include "cli/cli.h"
#include "engine/self_test.h"

namespace tabgrad::cli {

void add_common_options(CLI::App& app, Common& options) {
  app.add_option("--json", options.json, "Also write the result as JSON to FILE; - is standard output")->type_name("FILE");
  app.add_option("--device", options.device,
                 "Where to compute: cpu, or webgpu for a GPU ('tabgrad devices' lists what is there)")
      ->type_name("cpu|webgpu")
      ->capture_default_str();
  app.add_option("--webgpu", options.webgpu,
                 "The library that drives the GPU: dawn, wgpu, or a path; default TABGRAD_WEBGPU, or the first that is found")
      ->type_name("dawn|wgpu|PATH");
  app.add_option("--seed", options.seed,
                 "Seed of initial weights, batches and dropout; the same seed repeats a run bit for bit")
      ->type_name("N")
      ->capture_default_str();
  app.add_option("--threads", options.threads, "CPU threads; 0 means TABGRAD_THREADS, or all cores")
      ->type_name("N")
      ->capture_default_str();
}

void add_precision_option(CLI::App& app, Common& options) {
  app.add_option("--precision", options.precision,
                 "How a GPU stores the activations of a train step: f32, or f16, which takes less memory; it computes in f32 "
                 "either way")
      ->type_name("f32|f16")
      ->capture_default_str();
}

SessionOptions session_options(const Common& options) {
  if (options.threads < 0 || options.threads > 256) fail("--threads must be from 0 to 256, got ", options.threads);
  SessionOptions session;
  session.device = options.device;
  session.webgpu = options.webgpu;
  session.threads = options.threads;
  device_caps(session);  // refuses an unknown device
  if (options.precision != "f32" && options.precision != "f16")
    fail("--precision is f32 or f16, not '", options.precision, "'");
  if (options.precision == "f16" && options.device != "webgpu")
    fail("--precision f16 is for --device webgpu: ", options.device, " stores f32 alone");
  return session;
}

SessionOptions training_options(const Common& options, const std::function<void(const std::string&)>& note) {
  SessionOptions session = session_options(options);
  if (options.precision == "f32") return session;
  const std::string refusal = f16_refusal(session);
  session.f16 = refusal.empty();
  if (!session.f16) note("Activations are stored as f32, not f16: " + refusal);
  return session;
}

namespace {

// The environment variables that change how it runs (base/flags.def).
std::string list_of_flags() {
  std::string lines;
  for (const flags::Info& flag : flags::kAll) {
    std::string name = flag.variable.text;
    name.resize(std::max<std::size_t>(name.size() + 2, 18), ' ');
    lines += name + flag.help + "\n";
  }
  return lines;
}

int run(int argc, char** argv) {
  CLI::App app("tabgrad trains neural networks on this machine, and in browser tabs.", "tabgrad");
  app.require_subcommand(1);
  app.get_formatter()->column_width(34);
  app.set_version_flag("--version", "tabgrad " TABGRAD_VERSION);
  app.add_flag_callback(
         "--help-flags", [] { throw CLI::CallForVersion(list_of_flags(), 0); },
         "List the environment variables that change how it runs")
      ->trigger_on_parse();
  Command command;
  add_devices(app, command);
  add_plan(app, command);
  CLI::App* train = app.add_subcommand("train", "Train a model");
  train->require_subcommand(1);
  add_train_forecast(*train, command);
  add_train_lm(*train, command);
  add_forecast(app, command);
  add_export(app, command);
  add_generate(app, command);
  add_bench(app, command);
  app.footer(
      "For example: tabgrad train forecast --csv sales.csv --target amount --out model");  // after those that would inherit it
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& e) {  // --help
    return app.exit(e);
  } catch (const CLI::ParseError& e) {
    const CLI::App* at = &app;  // the subcommand that was meant, whose --help can help
    std::string words = "tabgrad";
    while (!at->get_subcommands().empty()) {
      at = at->get_subcommands().front();
      words += " " + at->get_name();
    }
    std::string problem = e.what();
    const std::vector<std::string> left = at->remaining();
    if (!left.empty() && !left[0].starts_with("-")) {  // CLI11 would say "A subcommand is required"
      problem = "'" + left[0] + "' is not known";
      std::string known;
      for (const CLI::App* sub : at->get_subcommands([](const CLI::App*) { return true; }))
        known += (known.empty() ? "" : ", ") + sub->get_name();
      if (!known.empty()) problem += "; there are: " + known;
    }
    std::fprintf(stderr, "tabgrad: %s\nTry '%s --help'.\n", problem.c_str(), words.c_str());
    return kBadUse;
  }
  try {
    return command();
  } catch (const Error& e) {
    std::fprintf(stderr, "tabgrad: %s\n", e.what());
    return kBadUse;
  } catch (const std::bad_alloc&) {
    std::fprintf(stderr, "tabgrad: out of memory; a smaller model, batch or window needs less\n");
  } catch (const std::exception& e) {
    std::fprintf(stderr, "tabgrad: this should not have happened: %s\n", e.what());
  }
  return kFailed;
}

}  // namespace
}  // namespace tabgrad::cli

int main(int argc, char** argv) { return tabgrad::cli::run(argc, argv); }
