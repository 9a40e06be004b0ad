// tabgrad bench compare: two results of the same bench beside each other, row by row, with what makes them hard to compare.
//
// Does: reads the schemas with rows that hold times (bench/README.md), ours only. Does not: judge; a warning is printed, the ratio too.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <memory>

#include "bench/statistics.h"
#include "cli/bench/bench.h"
#include "cli/output.h"
#include "data/atomic_file.h"

namespace tabgrad::cli {
namespace {

struct CompareOptions {
  std::string a, b, json;
};

Json read_result(const std::string& path) {
  Json json = Json::parse(read_file(path), nullptr, false);
  if (!json.is_object() || !json.contains("schema") || !json["schema"].is_string() || !json.contains("rows") ||
      !json["rows"].is_array())
    fail(path, " is no result of a bench: JSON with 'schema' and 'rows' is needed");
  return json;
}

// What a row is matched by: its words that name preset, target, shape or method.
std::string row_name(const Json& row) {
  std::string name;
  for (const char* key : {"preset", "name", "method", "target", "threads"}) {
    const auto at = row.find(key);
    if (at == row.end()) continue;
    name += (name.empty() ? "" : " ") + (at->is_string() ? at->get<std::string>() : at->dump());
  }
  return name;
}

std::vector<double> numbers(const Json& row, const char* key) {
  std::vector<double> out;
  const auto at = row.find(key);
  if (at == row.end() || !at->is_array()) return out;
  for (const Json& value : *at)
    if (value.is_number() && value.get<double>() > 0) out.push_back(value.get<double>());
  return out;
}

// A row's median time; 0 where it has none.
double time_of(const Json& row) {
  if (const auto ms = row.find("ms"); ms != row.end() && ms->is_object() && ms->contains("median"))
    return ms->value("median", 0.0);
  for (const char* key : {"ms_median", "us_median"})
    if (const auto at = row.find(key); at != row.end() && at->is_number()) return at->get<double>();
  return 0;
}

void warn_of_differences(const CompareOptions& o, const Json& a, const Json& b, std::vector<std::string>& warnings) {
  for (const char* key : {"runtime", "cpu", "cores", "gpu", "step", "kernel", "baseline", "power"}) {
    const Json left = a.value(key, Json(nullptr)), right = b.value(key, Json(nullptr));
    if (left != right) warnings.push_back(str("other ", key, ": ", left.dump(), " in ", o.a, ", ", right.dump(), " in ", o.b));
  }
  const auto targets = [](const Json& json) { return json.value("targets", Json::array()); };
  for (const Json& left : targets(a)) {
    for (const Json& right : targets(b)) {
      if (left.value("id", "") != right.value("id", "")) continue;
      for (const char* key : {"device", "driver", "threads", "software", "version"}) {
        const auto of = [&](const Json& t) {
          return t.contains("about") && t["about"].is_object() ? t["about"].value(key, Json(nullptr)) : Json(nullptr);
        };
        if (of(left) != of(right))
          warnings.push_back(str(left.value("id", ""), ", other ", key, ": ", of(left).dump(), ", ", of(right).dump()));
      }
    }
  }
}

int compare(const CompareOptions& o) {
  const Json a = read_result(o.a), b = read_result(o.b);
  if (a["schema"] != b["schema"])
    fail(o.a, " is ", a["schema"].dump(), ", ", o.b, " is ", b["schema"].dump(), ": they cannot be compared");
  std::FILE* out = is_stdout(o.json) ? stderr : stdout;
  std::vector<std::string> warnings;
  warn_of_differences(o, a, b, warnings);
  std::vector<std::vector<std::string>> cells{{"row", "first", "second", "first / second [95 %]"}};
  Json rows = Json::array();
  for (const Json& left : a["rows"]) {
    for (const Json& right : b["rows"]) {
      const std::string name = row_name(left);
      if (name != row_name(right)) continue;
      for (const char* key : {"parameters_hash", "batches_hash", "flops"})
        if (left.value(key, Json(nullptr)) != right.value(key, Json(nullptr))) warnings.push_back(str(name, ": other ", key));
      const double first = time_of(left), second = time_of(right);
      if (!(first > 0 && second > 0)) continue;
      const std::vector<double> before = numbers(left, "samples_ms"), after = numbers(right, "samples_ms");
      Json row{{"row", name}, {"first", first}, {"second", second}, {"ratio", first / second}};
      std::string ratio = digits3(first / second);
      if (!before.empty() && !after.empty()) {
        const bench::RatioInterval i = bench::ratio_interval(before, after);
        ratio += " [" + digits3(i.low) + ", " + digits3(i.high) + "]";
        row["low"] = i.low;
        row["high"] = i.high;
      }
      cells.push_back({name, digits3(first), digits3(second), ratio});
      rows.push_back(std::move(row));
    }
  }
  if (rows.empty()) fail(o.a, " and ", o.b, " have no rows in common");
  for (const std::string& line : table(cells)) std::fprintf(out, "%s\n", line.c_str());
  std::fprintf(out, "Above 1: the second is faster. Times in milliseconds (dispatch: microseconds a launch).\n");
  for (const std::string& w : warnings) std::fprintf(out, "warning: %s\n", w.c_str());
  if (!o.json.empty())
    write_output(
        o.json,
        Json{{"schema", "tabgrad-compare/1"}, {"of", a["schema"]}, {"rows", rows}, {"warnings", warnings}}.dump(1) + "\n");
  return kOk;
}

int run(const CompareOptions& o) {
  try {
    return compare(o);
  } catch (const Json::exception& e) {
    fail(o.a, " or ", o.b, " is damaged: ", e.what());
  }
}

}  // namespace

void add_bench_compare(CLI::App& bench, Command& command) {
  CLI::App* sub = bench.add_subcommand("compare", "Two results of the same bench beside each other");
  const auto o = std::make_shared<CompareOptions>();
  sub->add_option("first", o->a, "A result (--json of another bench)")->required()->type_name("FILE");
  sub->add_option("second", o->b, "Another one")->required()->type_name("FILE");
  sub->add_option("--json", o->json, "Also write the comparison as JSON to FILE; - is standard output")->type_name("FILE");
  sub->callback([&command, o] { command = [o] { return run(*o); }; });
}

}  // namespace tabgrad::cli
