#include "bench/ablation.h"

#include <map>

#include "bench/run_timer.h"
#include "bench/statistics.h"
#include "graph/compose/compose.h"
#include "models/gpt.h"
#include "nn/train_step.h"

namespace tabgrad::bench {
namespace {

struct Variant {
  std::string name;
  bool fuse = true, claim = true;
  std::optional<Composite> alone{};
};

std::vector<Variant> variants(bool quick) {
  if (quick) return {{"merging alone", true, false}, {"everything", true, true}};
  std::vector<Variant> list{{"nothing", false, false}, {"merging alone", true, false}};
  // What a GPT has.
  for (const Composite c : {Composite::kSoftmax, Composite::kLayerNorm, Composite::kCrossEntropy, Composite::kAttention,
                            Composite::kSumSquares, Composite::kAdam})
    list.push_back({std::string(composite_name(c)) + " alone", false, true, c});
  list.push_back({"all kernels alone", false, true});
  list.push_back({"everything", true, true});
  return list;
}

std::int64_t launches_of(const Session& session, const std::string& entry) {
  for (const Entry& e : session.program().entries)
    if (e.name == entry) return static_cast<std::int64_t>(e.launches.size());
  TG_CHECK(false);
}

// The whole logits are of no use here; one of them tells the end of a run.
BuiltModel generation_with_probe(const GptConfig& config) {
  BuiltModel model = build_gpt_generation(config);
  for (EntryGraph& entry : model.entries) {
    if (entry.name != "decode") continue;
    for (const auto& [name, value] : entry.graph.outputs) {
      if (name != "decode.logits") continue;
      const Tensor logits{&entry.graph, value};
      entry.graph.outputs.push_back({"probe", reshape(slice(logits, logits.rank() - 1, 0, 1), {}).value});
      break;
    }
  }
  return model;
}

}  // namespace

std::vector<AblationRow> run_ablation(const GptConfig& config, const SessionOptions& options, double seconds, bool quick) {
  std::vector<AblationRow> rows;
  // What a kernel that an entry has no use for would repeat is left out: it has as many launches as with nothing.
  std::map<std::string, std::int64_t> plain;
  const auto add = [&](Session& session, const Variant& v, const char* entry, const char* output) {
    const std::int64_t launches = launches_of(session, entry);
    const bool first = plain.emplace(entry, launches).second;
    if (!first && v.alone && launches == plain[entry]) return;
    rows.push_back({entry, v.name, launches, 1e3 * median(time_runs(session, entry, output, seconds))});
  };
  const BuiltModel train = build_gpt(config), generation = generation_with_probe(config);
  for (const Variant& v : variants(quick)) {
    SessionOptions o = options;
    o.fuse = v.fuse;
    o.claim = v.claim;
    o.claim_alone = v.alone;
    {
      Session session = make_session(train.entries, o);
      write_initial_values(session, train.parameters, 1);
      set_step_uniforms(session, gpt_optimizer(), kGptLearningRate, 1);
      add(session, v, "train_step", "loss");
    }
    Session session = make_session(generation.entries, o);
    write_initial_values(session, generation.parameters, 1);
    const auto position = static_cast<std::int32_t>(config.context / 2);
    session.write("decode.position", &position, 1);
    add(session, v, "decode", "probe");
  }
  return rows;
}

nlohmann::ordered_json ablation_json(const std::vector<AblationRow>& rows) {
  nlohmann::ordered_json json = nlohmann::ordered_json::array();
  for (const AblationRow& r : rows)
    json.push_back({{"entry", r.entry}, {"variant", r.variant}, {"launches", r.launches}, {"ms", r.ms}});
  return json;
}

Replay time_replay(const SessionOptions& options, double seconds) {
  constexpr int kLaunches = 100;
  Graph g;
  Tensor at = input(g, "a", {256});
  const Tensor yes = input(g, "b", {256}), no = input(g, "c", {256});
  for (int i = 0; i < kLaunches; ++i) at = i % 2 == 0 ? select(at, yes, no) : select(at, no, yes);
  g.outputs = {{"result", at.value}, {"probe", sum(at, {0}).value}};
  SessionOptions o = options;
  o.fuse = false;
  Session session = make_session({{"replay", std::move(g)}}, o);
  write_some_inputs(session);
  Replay replay;
  replay.launches = static_cast<std::int64_t>(session.program().entries.front().launches.size());
  std::vector<double> us;
  for (const double t : time_runs(session, "replay", "probe", seconds))
    us.push_back(1e6 * t / static_cast<double>(replay.launches));
  replay.us_median = median(us);
  replay.us_p10 = quantile(us, 0.1);
  replay.us_p90 = quantile(us, 0.9);
  return replay;
}

nlohmann::ordered_json replay_json(const Replay& r) {
  return {{"launches", r.launches}, {"us_median", r.us_median}, {"us_p10", r.us_p10}, {"us_p90", r.us_p90}};
}

}  // namespace tabgrad::bench
