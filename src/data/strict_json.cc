#include "data/strict_json.h"

#include <unordered_set>
#include <vector>

#include "base/error.h"
#include "data/csv_dialect.h"

namespace tabgrad {

using nlohmann::json;

json parse_strict_json(std::string_view text, const std::string& where, int max_depth) {
  std::vector<std::unordered_set<std::string>> names;
  const auto check = [&](int depth, json::parse_event_t event, json& value) {
    if (depth > max_depth) fail(where, " is nested too deeply. The file is damaged.");
    if (event == json::parse_event_t::object_start) names.emplace_back();
    if (event == json::parse_event_t::object_end && !names.empty()) names.pop_back();
    if (event == json::parse_event_t::key && !names.back().insert(value.get<std::string>()).second) {
      fail(where, " has the name ", csv::excerpt(value.get<std::string>()), ", which comes twice. The file is damaged.");
    }
    return true;
  };
  try {
    json parsed = json::parse(text, check);
    if (parsed.is_object()) return parsed;
  } catch (const json::exception&) {
  }
  fail(where, " is no valid JSON object. The file is damaged or of another kind.");
}

}  // namespace tabgrad
