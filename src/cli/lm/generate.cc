// `tabgrad generate`: text that goes on from a prompt, by a model folder of ours or of Hugging Face's GPT-2 kind.
#include <CLI/CLI.hpp>
#include <chrono>
#include <cstdio>
#include <memory>

#include "cli/cli.h"
#include "cli/lm/files.h"
#include "cli/output.h"
#include "cli/progress.h"
#include "data/tokenizer/bpe_trainer.h"

namespace tabgrad::cli {
namespace {

struct GenerateOptions {
  std::string model, prompt = "\n";
  std::int64_t max_tokens = 256;
  std::vector<std::string> stop;
  SamplingOptions sampling;
  Common common;
};

int generate(const GenerateOptions& o) {
  check_sampling(o.sampling);
  const SessionOptions options = session_options(o.common);
  if (o.max_tokens < 1) fail("--max-tokens ", o.max_tokens, " is not possible: give a whole number from 1.");
  const LmModel model = read_lm_folder(o.model);
  BuiltModel generation = build_lm_generation(model.config, o.sampling.on_device);
  if (o.sampling.on_device) generation.entries.push_back(sampling_entry(model.config.vocabulary));
  Session session = make_session(generation.entries, options);
  for (const auto& [name, value] : model.weights) session.write(name, value);
  SamplingOptions sampling = o.sampling;
  sampling.seed = o.common.seed;
  Generator generator(session, model.config, sampling);
  const std::vector<std::int32_t> prompt = model.tokenizer.encode(o.prompt);
  generator.start(prompt);
  const std::int32_t end_of_text = model.tokenizer.added_token(kEndOfText).value_or(-1);

  std::FILE* out = is_stdout(o.common.json) ? stderr : stdout;
  std::fputs(printable(o.prompt).c_str(), out);
  const StopRequest stop_on_signal;
  const auto start = std::chrono::steady_clock::now();
  Utf8Decoder decoder(model.tokenizer);
  std::string text;
  std::size_t shown = 0, longest_stop = 1;
  for (const std::string& word : o.stop) longest_stop = std::max(longest_stop, word.size());
  std::vector<std::int32_t> ids;
  std::string ended = "all tokens are written";
  // Shows what cannot be part of a stop string any more.
  const auto show = [&](std::size_t until) {
    if (until <= shown) return;
    std::fputs(printable(text.substr(shown, until - shown)).c_str(), out);
    std::fflush(out);
    shown = until;
  };
  for (std::int64_t i = 0; i < o.max_tokens && ended[0] == 'a'; ++i) {
    const std::int32_t id = generator.next();
    if (id == end_of_text) {
      ended = "end of text";
      break;
    }
    ids.push_back(id);
    text += id < model.tokenizer.vocabulary() ? decoder.feed(id) : "";
    for (const std::string& word : o.stop) {
      const std::size_t at = word.empty() ? std::string::npos : text.find(word);
      if (at == std::string::npos) continue;
      text.resize(at);
      ended = "stop string";
    }
    if (StopRequest::requested()) ended = "stopped on request";
    if (text.size() >= longest_stop) {
      std::size_t until = text.size() - (longest_stop - 1);
      while (until > 0 && (static_cast<unsigned char>(text[until - 1]) & 0xC0) == 0x80 && until < text.size() &&
             (static_cast<unsigned char>(text[until]) & 0xC0) == 0x80)
        --until;  // not in the middle of a character
      show(until);
    }
  }
  if (ended != "stop string") text += decoder.finish();
  show(text.size());
  std::fputs("\n", out);
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  if (!o.common.json.empty()) {
    write_output(o.common.json, Json{{"device", session.device()},
                                     {"prompt_tokens", prompt.size()},
                                     {"text", text},
                                     {"tokens", ids},
                                     {"ended", ended},
                                     {"tokens_per_s", static_cast<double>(ids.size()) / seconds}}
                                        .dump(2, ' ', false, Json::error_handler_t::replace) +
                                    "\n");
  }
  return kOk;
}

}  // namespace

void add_generate(CLI::App& app, Command& command) {
  CLI::App* sub = app.add_subcommand("generate", "Write text with a trained language model");
  sub->footer("For example: tabgrad generate --model model --prompt 'Call me '");
  const auto o = std::make_shared<GenerateOptions>();
  sub->add_option("--model", o->model, "Folder that 'train lm --out' wrote, or of a GPT-2 model of Hugging Face's")
      ->type_name("DIR")
      ->required();
  sub->add_option("--prompt", o->prompt, "The text to go on from (a new line)")->type_name("TEXT");
  sub->add_option("--max-tokens", o->max_tokens, "Tokens to write")->type_name("N")->capture_default_str();
  sub->add_option("--temperature", o->sampling.temperature, "0 takes the likeliest token, 1 draws as the model was trained")
      ->type_name("T")
      ->capture_default_str();
  sub->add_option("--top-k", o->sampling.top_k, "Draw among the K likeliest tokens; 0: all")->type_name("K");
  sub->add_option("--top-p", o->sampling.top_p, "Draw among the likeliest tokens that have this probability together")
      ->type_name("P")
      ->capture_default_str();
  sub->add_option("--repetition-penalty", o->sampling.repetition_penalty, "Above 1: tokens of the text so far are less likely")
      ->type_name("X")
      ->capture_default_str();
  sub->add_flag("--sample-on-device", o->sampling.on_device,
                "Draw where the model runs, so that only the token comes back; other draws for a seed than without");
  sub->add_option("--stop", o->stop, "End before this text appears; may be given several times")->type_name("TEXT");
  add_common_options(*sub, o->common);
  sub->callback([&command, o] { command = [o] { return generate(*o); }; });
}

}  // namespace tabgrad::cli
