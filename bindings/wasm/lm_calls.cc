// The rows of the language model's calls. Progress of what takes long within one call goes to the module's option `progress`.
#include <emscripten.h>

#include <memory>

#include "calls.h"
#include "lm.h"

EM_JS(void, tg_progress, (double done, double all), { Module['progress'] ?.(done, all); })

namespace tabgrad::wasm {
namespace {

std::unique_ptr<LmSession>& state() {
  static std::unique_ptr<LmSession> session;
  return session;
}
LmSession& lm() {
  TG_CHECK(state() != nullptr);
  return *state();
}
std::string text(const Json& args, const char* key) { return args.at(key).get<std::string>(); }

const Call kCalls[] = {
    {"lm.presets", [](const Json&, std::string_view, Reply& reply) { lm().presets(reply); }},
    {"lm.defaults",
     [](const Json& args, std::string_view, Reply& reply) {
       lm().defaults(args.value("kind", "gpt"), text(args, "preset"), args.value("optimizer", ""), reply);
     }},
    {"lm.learn", [](const Json&, std::string_view, Reply&) { lm().learn(); }},
    {"lm.learn.feed", [](const Json&, std::string_view data, Reply&) { lm().learn_feed(data); }},
    {"lm.learn.end", [](const Json& args, std::string_view,
                        Reply& reply) { lm().learn_end(args.at("vocabulary").get<std::int64_t>(), tg_progress, reply); }},
    {"lm.tokenizer", [](const Json& args, std::string_view data,
                        Reply& reply) { lm().use_tokenizer(text(args, "kind"), args.value("file", ""), data, reply); }},
    {"lm.tokenizer.json", [](const Json&, std::string_view, Reply& reply) { lm().tokenizer_json(reply); }},
    {"lm.read", [](const Json& args, std::string_view, Reply&) { lm().read(args.value("onlyCheck", false)); }},
    {"lm.read.feed", [](const Json&, std::string_view data, Reply&) { lm().read_feed(data); }},
    {"lm.read.next", [](const Json&, std::string_view, Reply&) { lm().read_next(); }},
    {"lm.read.end",
     [](const Json& args, std::string_view, Reply& reply) { lm().read_end(args.at("validation").get<double>(), reply); }},
    {"lm.read.kept", [](const Json& args, std::string_view data,
                        Reply& reply) { lm().read_kept(data, args.at("validation").get<double>(), reply); }},
    {"lm.tokens", [](const Json&, std::string_view, Reply& reply) { lm().tokens(reply); }},
    {"lm.plan", [](const Json& args, std::string_view,
                   Reply& reply) { lm().plan(args.at("settings"), args.value("from", false), device_of(args), reply); }},
    {"lm.train", [](const Json& args, std::string_view,
                    Reply& reply) { lm().train(args.at("settings"), args.value("from", false), device_of(args), reply); }},
    {"lm.restore", [](const Json& args, std::string_view data,
                      Reply& reply) { lm().restore(data, args.at("ended").get<bool>(), device_of(args), reply); }},
    {"lm.advance",
     [](const Json& args, std::string_view, Reply& reply) { lm().advance(args.at("milliseconds").get<double>(), reply); }},
    {"lm.history", [](const Json&, std::string_view, Reply& reply) { lm().history(reply); }},
    {"lm.stop", [](const Json&, std::string_view, Reply&) { lm().stop(); }},
    {"lm.save", [](const Json&, std::string_view, Reply& reply) { lm().save(reply); }},
    {"lm.close", [](const Json&, std::string_view, Reply&) { lm().close(); }},
    {"lm.model.file", [](const Json& args, std::string_view data, Reply&) { lm().model_file(text(args, "name"), data); }},
    {"lm.model.open", [](const Json& args, std::string_view, Reply& reply) { lm().model_open(text(args, "where"), reply); }},
    {"lm.model.close", [](const Json&, std::string_view, Reply&) { lm().model_close(); }},
    {"lm.write", [](const Json& args, std::string_view, Reply& reply) { lm().write(args, reply); }},
    {"lm.write.more",
     [](const Json& args, std::string_view, Reply& reply) {
       lm().write_more(args.at("milliseconds").get<double>(), args.at("most").get<std::int64_t>(), reply);
     }},
    {"lm.attention",
     [](const Json& args, std::string_view, Reply& reply) {
       lm().attention(text(args, "source"), text(args, "text"), args.at("layer").get<std::int64_t>(), reply);
     }},
    {"lm.download", [](const Json& args, std::string_view, Reply& reply) { lm().download(text(args, "source"), reply); }},
};

}  // namespace

void init_lm(const SessionOptions& options) { state() = std::make_unique<LmSession>(options); }

std::span<const Call> lm_calls() { return kCalls; }

}  // namespace tabgrad::wasm
