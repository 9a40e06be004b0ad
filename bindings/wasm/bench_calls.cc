// The calls of benchmarks: "bench.…". What they measure with is src/bench; who asks is packages/tabgrad/src/bench.
//
// One model at a time, with weights and batches that the page makes, so that libraries beside ours can be given the same ones.
#include <cstring>
#include <memory>
#include <optional>

#include "backend/cpu/kernels.h"
#include "bench/ablation.h"
#include "bench/foretell.h"
#include "bench/lstm_model.h"
#include "bench/peak.h"
#include "bench/train_bench.h"
#include "calls.h"
#include "models/gpt.h"
#include "page_json.h"

namespace tabgrad::wasm {
namespace {

struct Product {
  cpu::Gemm gemm;
  std::vector<float> a, b, c, scratch;
};

struct State {
  SessionOptions options;
  std::unique_ptr<bench::TrainBench> model;
  std::string first = "tokens", second = "targets";  // the inputs, in the order in which batches hold them
  std::int64_t first_count = 0, second_count = 0;    // elements of a batch
  std::optional<GptConfig> gpt;
  NamedTensors parameters;  // as written
  std::unique_ptr<Product> product;
};
State& state() {
  static State s;
  return s;
}

double number(const Json& args, const char* key) { return args.at(key).get<double>(); }
std::int64_t whole(const Json& args, const char* key) { return static_cast<std::int64_t>(number(args, key)); }
std::string text(const Json& args, const char* key) { return args.at(key).get<std::string>(); }

SessionOptions options_for(const Json& args) {
  SessionOptions options = state().options;
  options.device = device_of(args);
  return options;
}

GptConfig gpt_config(const Json& args) {
  GptConfig c;
  c.layers = whole(args, "layers");
  c.width = whole(args, "width");
  c.heads = whole(args, "heads");
  c.context = whole(args, "context");
  c.batch = whole(args, "batch");
  check_gpt(c);
  return c;
}

StepWork work_from(const Json& launches) {
  StepWork work;
  for (const Json& l : launches) work.push_back({l.at(0).get<double>(), l.at(1).get<double>(), l.at(2).get<double>()});
  return work;
}

std::int64_t elements_of(const Session& session, const std::string& name) {
  for (const Buffer& b : session.program().buffers)
    if (b.name == name) return num_elements(b.dims);
  TG_CHECK(false);
}

void free_model() {
  State& s = state();
  s.model.reset();
  s.parameters = {};
  s.product.reset();
}

void load(const Json& args, std::string_view, Reply& reply) {
  State& s = state();
  free_model();
  s.gpt.reset();
  const SessionOptions options = options_for(args);
  if (args.at("kind") == "gpt") {
    s.gpt = gpt_config(args);
    s.first = "tokens";
    s.second = "targets";
    s.model = std::make_unique<bench::TrainBench>(build_gpt(*s.gpt), gpt_optimizer(), kGptLearningRate, options);
  } else {
    // Adam without clipping, at rate 1e-3: what the peers' LSTM examples train with.
    OptimizerConfig adam;
    adam.kind = OptimizerConfig::Kind::kAdam;
    adam.weight_decay = 0;
    s.first = "x";
    s.second = "y";
    s.model = std::make_unique<bench::TrainBench>(
        build_lstm({whole(args, "units"), whole(args, "steps"), whole(args, "features"), whole(args, "batch")}, adam, 0.0),
        adam, 1e-3, options);
  }
  s.first_count = elements_of(s.model->session(), s.first);
  s.second_count = elements_of(s.model->session(), s.second);
  reply.json = {{"flops", total_flops(s.model->work())}, {"launches", work_json(s.model->work())}};
}

void write(const Json& args, std::string_view data, Reply&) {
  const std::string name = text(args, "name");
  std::vector<float> values(data.size() / sizeof(float));
  std::memcpy(values.data(), data.data(), values.size() * sizeof(float));
  const auto count = static_cast<std::int64_t>(values.size());
  state().model->session().write(name, values.data(), count);
  state().parameters.push_back({name, HostTensor::of({count}, std::move(values))});
}

// data: `count` batches one after another, each its first input, then its second.
void steps(const Json& args, std::string_view data, Reply& reply) {
  State& s = state();
  const auto count = whole(args, "count");
  const std::int64_t both = s.first_count + s.second_count;
  TG_CHECK(static_cast<std::int64_t>(data.size()) == 4 * count * both);
  std::vector<std::int32_t> batches(static_cast<std::size_t>(count * both));  // of words: floats are written as their bits
  std::memcpy(batches.data(), data.data(), data.size());
  const auto put = [&](const std::string& name, const std::int32_t* words, std::int64_t elements) {
    if (s.gpt)
      s.model->session().write(name, words, elements);
    else
      s.model->session().write(name, reinterpret_cast<const float*>(words), elements);
  };
  const std::vector<float> losses = s.model->steps(count, [&](std::int64_t i) {
    put(s.first, batches.data() + i * both, s.first_count);
    put(s.second, batches.data() + i * both + s.first_count, s.second_count);
  });
  reply.json = {{"losses", reply.array(std::span<const float>(losses))}};
}

// Of the GPT with the parameters as written, whatever steps have done since; one array, parameter after parameter.
void gradients(const Json& args, std::string_view data, Reply& reply) {
  State& s = state();
  if (!s.gpt) fail("gradients are there for language models only");
  bench::GradientInputs inputs{s.parameters, {}, {}};
  const std::size_t half = data.size() / 2;
  for (auto* ids : {&inputs.tokens, &inputs.targets}) ids->resize(half / sizeof(std::int32_t));
  std::memcpy(inputs.tokens.data(), data.data(), half);
  std::memcpy(inputs.targets.data(), data.data() + half, half);
  const bench::Gradients found = args.at("exact").get<bool>() ? bench::exact_gpt_gradients(*s.gpt, inputs)
                                                              : bench::gpt_gradients(*s.gpt, inputs, options_for(args));
  Json sizes = Json::array();
  std::vector<double> values;
  for (const std::vector<double>& g : found) {
    sizes.push_back(g.size());
    values.insert(values.end(), g.begin(), g.end());
  }
  reply.json = {{"sizes", std::move(sizes)}, {"values", reply.array(std::span<const double>(values))}};
}

// A product on the CPU: with data (A, then B, as stored) it is made, and run `repeats` times; "c" is in the reply where asked for.
void product(const Json& args, std::string_view data, Reply& reply) {
  State& s = state();
  ThreadPool& pool = *s.options.pool;
  if (!data.empty()) {
    s.product = std::make_unique<Product>();
    Product& p = *s.product;
    const auto m = whole(args, "m"), n = whole(args, "n"), k = whole(args, "k");
    TG_CHECK(data.size() == sizeof(float) * static_cast<std::size_t>(m * k + k * n));
    p.a.resize(static_cast<std::size_t>(m * k));
    p.b.resize(static_cast<std::size_t>(k * n));
    p.c.resize(static_cast<std::size_t>(m * n));
    std::memcpy(p.a.data(), data.data(), sizeof(float) * p.a.size());
    std::memcpy(p.b.data(), data.data() + sizeof(float) * p.a.size(), sizeof(float) * p.b.size());
    const bool ta = args.at("form") == "tn", tb = args.at("form") == "nt";
    cpu::Gemm& g = p.gemm;
    g.m = m;
    g.n = n;
    g.k = k;
    g.a = p.a.data();
    g.a_m = ta ? 1 : k;
    g.a_k = ta ? m : 1;
    g.b = p.b.data();
    g.b_k = tb ? 1 : n;
    g.b_n = tb ? k : 1;
    g.c = p.c.data();
    g.c_m = n;
    p.scratch.resize(static_cast<std::size_t>(cpu::gemm_scratch_floats(g, pool.threads())));
  }
  TG_CHECK(s.product != nullptr);
  Product& p = *s.product;
  for (auto left = whole(args, "repeats"); left > 0; --left)
    cpu::gemm(p.gemm, pool, {p.scratch.data(), static_cast<std::int64_t>(p.scratch.size())});
  if (args.value("result", false)) reply.json = {{"c", reply.array(std::span<const float>(p.c))}};
}

// steps: [{name, ms, launches}] → the cost model and how well it foretells each.
void fit(const Json& args, std::string_view, Reply& reply) {
  std::vector<MeasuredStep> measured;
  for (const Json& s : args.at("steps"))
    measured.push_back({text(s, "name"), work_from(s.at("launches")), 1e-3 * number(s, "ms")});
  reply.json = cost_json(fit_with_residuals(measured));
}

CostModel cost_from(const Json& j) {
  return {1e-6 * number(j, "overhead_us"), 1e9 * number(j, "gflops"), 1e9 * number(j, "gbytes_per_s"),
          1e6 * number(j, "half_mflop")};
}

// devices: {wasm: cost, …}, presets, steps, seconds → the time of each preset's step on each device, and the size to take.
void foretell(const Json& args, std::string_view, Reply& reply) {
  const auto page_name = [](const std::string& device) { return device == "cpu" ? std::string("wasm") : device; };
  std::map<std::string, CostModel> devices;
  for (const auto& [device, cost] : args.at("devices").items()) devices[device_of({{"device", device}})] = cost_from(cost);
  const auto list = bench::foretell(devices, args.at("presets").get<std::vector<std::string>>());
  const bench::Recommended best = bench::recommend(list, number(args, "steps"), number(args, "seconds"));
  Json rows = Json::array();
  for (const bench::Foretold& f : list) rows.push_back({{"preset", f.preset}, {"device", page_name(f.device)}, {"ms", f.ms}});
  reply.json = {{"rows", std::move(rows)}, {"best", nullptr}};
  if (!best.preset.empty())
    reply.json["best"] = {{"preset", best.preset}, {"device", page_name(best.device)}, {"seconds", best.seconds}};
}

const Call kCalls[] = {
    {"bench.load", load},
    {"bench.write", write},
    {"bench.steps", steps},
    {"bench.gradients", gradients},
    {"bench.product", product},
    {"bench.fit", fit},
    {"bench.foretell", foretell},
    {"bench.calibrate",
     [](const Json& args, std::string_view, Reply& reply) {
       reply.json = cost_json(bench::calibrate(options_for(args), number(args, "seconds")));
     }},
    {"bench.predict",
     [](const Json& args, std::string_view, Reply& reply) {
       reply.json = 1e3 * predict(cost_from(args.at("cost")), work_from(args.at("launches"))).seconds;
     }},
    {"bench.free", [](const Json&, std::string_view, Reply&) { free_model(); }},
    {"bench.peak",
     [](const Json& args, std::string_view, Reply& reply) {
       const bench::Peak peak = bench::measure_peak(options_for(args), number(args, "seconds"));
       reply.json = {{"gflops", 1e-9 * peak.flops}, {"gbytes_per_s", 1e-9 * peak.bytes}};
     }},
    {"bench.replay",
     [](const Json& args, std::string_view, Reply& reply) {
       reply.json = bench::replay_json(bench::time_replay(options_for(args), number(args, "seconds")));
     }},
    {"bench.ablation",
     [](const Json& args, std::string_view, Reply& reply) {
       reply.json = bench::ablation_json(
           bench::run_ablation(gpt_config(args), options_for(args), number(args, "seconds"), args.at("quick").get<bool>()));
     }},
};

}  // namespace

void init_bench(const SessionOptions& options) { state().options = options; }

std::span<const Call> bench_calls() { return kCalls; }

}  // namespace tabgrad::wasm
