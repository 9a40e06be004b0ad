// The functions that JavaScript calls. One of them does everything: a request of JSON text and bytes goes in, a reply of JSON
// text and bytes comes out, so that a new call needs a row in kCalls and nothing else.
//
// Does: finds the call, turns what is thrown into a status and a text. Does not: hold state of a job (forecast.h does).
//
// Invariants: nothing thrown crosses into JavaScript. Request and reply lie in memory that is reused from call to call.
#include <malloc.h>

#include <memory>
#include <new>
#include <string>
#include <string_view>

#include "calls.h"
#include "engine/self_test.h"
#include "forecast.h"

namespace tabgrad::wasm {
namespace {

struct Api {
  std::shared_ptr<ThreadPool> pool;
  std::unique_ptr<ForecastSession> forecast;
  std::string request;  // JSON, then bytes
  Reply reply;
  std::string text;  // reply.json, or what went wrong
};
Api& api() {
  static Api state;
  return state;
}

ForecastSession& forecast() {
  TG_CHECK(api().forecast != nullptr);
  return *api().forecast;
}

const Call kCalls[] = {
    {"init",
     [](const Json& args, std::string_view, Reply& reply) {
       api().pool = std::make_shared<ThreadPool>(args.at("threads").get<int>());
       SessionOptions options;
       options.pool = api().pool;
       api().forecast = std::make_unique<ForecastSession>(options);
       init_lm(options);
       init_bench(options);
       reply.json = {{"threads", api().pool->threads()}};
     }},
    {"open", [](const Json& args, std::string_view, Reply&) { forecast().open(args.at("name").get<std::string>()); }},
    {"feed", [](const Json&, std::string_view data, Reply&) { forecast().feed(data); }},
    {"close", [](const Json&, std::string_view, Reply& reply) { forecast().close(reply); }},
    {"defaults",
     [](const Json& args, std::string_view, Reply& reply) { forecast().defaults(args.at("kind").get<std::string>(), reply); }},
    {"plan",
     [](const Json& args, std::string_view, Reply& reply) { forecast().plan(args.at("settings"), device_of(args), reply); }},
    {"train",
     [](const Json& args, std::string_view, Reply& reply) { forecast().train(args.at("settings"), device_of(args), reply); }},
    {"restore", [](const Json& args, std::string_view data,
                   Reply& reply) { forecast().restore(data, args.at("ended").get<bool>(), device_of(args), reply); }},
    {"advance", [](const Json& args, std::string_view,
                   Reply& reply) { forecast().advance(args.at("milliseconds").get<double>(), reply); }},
    {"stop", [](const Json&, std::string_view, Reply&) { forecast().stop(); }},
    {"save", [](const Json&, std::string_view, Reply& reply) { forecast().save(reply); }},
    {"judge",
     [](const Json& args, std::string_view, Reply& reply) {
       forecast().judge({args.at("seconds").get<double>(), args.at("msPerStep").get<double>()}, reply);
     }},
    {"download",
     [](const Json& args, std::string_view, Reply& reply) { forecast().download(args.at("kind").get<std::string>(), reply); }},
    {"selftest",
     [](const Json& args, std::string_view, Reply& reply) {
       SessionOptions options;
       options.pool = api().pool;
       options.device = device_of(args);
       try {
         reply.json = self_test(options);
       } catch (const Error& e) {
         reply.json = e.what();
       }
     }},
    {"memory",
     [](const Json&, std::string_view, Reply& reply) { reply.json = {{"used", static_cast<double>(mallinfo().uordblks)}}; }},
};

enum Status : int { kOk = 0, kUserError = 1, kInternalError = 2, kOutOfMemory = 3 };

int call(std::size_t json_bytes) {
  Api& a = api();
  a.reply.clear();
  const std::string_view request = a.request;
  const Json json = Json::parse(request.substr(0, json_bytes));
  const std::string name = json.at("call").get<std::string>();
  for (const std::span<const Call> calls : {std::span<const Call>(kCalls), lm_calls(), bench_calls()}) {
    for (const Call& c : calls) {
      if (c.name != name) continue;
      c.handler(json.at("args"), request.substr(json_bytes), a.reply);
      a.text = a.reply.json.dump(-1, ' ', false, Json::error_handler_t::replace);
      return kOk;
    }
  }
  check_failed(("a call named " + name).c_str(), __FILE__, __LINE__);
}

}  // namespace
}  // namespace tabgrad::wasm

extern "C" {

// Where JavaScript puts the next request; valid until the next tg_reserve. Null when there is no memory for it.
__attribute__((export_name("tg_reserve"))) char* tg_reserve(std::size_t bytes) {
  try {
    std::string& request = tabgrad::wasm::api().request;
    request.resize(bytes);
    return request.data();
  } catch (const std::bad_alloc&) {
    return nullptr;
  }
}

// The request's first json_bytes are {"call": name, "args": {…}}; the rest is data. Returns a Status; other than kOk, the
// text says what happened.
__attribute__((export_name("tg_call"))) int tg_call(std::size_t json_bytes) {
  using namespace tabgrad::wasm;
  std::string& text = api().text;
  try {
    return call(json_bytes);
  } catch (const tabgrad::Error& e) {
    text = e.what();
    return kUserError;
  } catch (const std::bad_alloc&) {
    text = "Out of memory.";
    return kOutOfMemory;
  } catch (const std::exception& e) {
    text = e.what();
    return kInternalError;
  }
}

__attribute__((export_name("tg_text"))) const char* tg_text() { return tabgrad::wasm::api().text.data(); }
__attribute__((export_name("tg_text_bytes"))) std::size_t tg_text_bytes() { return tabgrad::wasm::api().text.size(); }
__attribute__((export_name("tg_data"))) const void* tg_data() { return tabgrad::wasm::api().reply.bytes().data(); }
__attribute__((export_name("tg_data_bytes"))) std::size_t tg_data_bytes() { return tabgrad::wasm::api().reply.bytes().size(); }
}
