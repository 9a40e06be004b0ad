// JSON from strangers: parsed whole or refused.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

namespace tabgrad {

// Throws Error if the text is no JSON object, is nested deeper than max_depth, or has a name twice in one object (the library
// would keep the last). where: what the text is, for messages, as "m.safetensors: the header".
nlohmann::json parse_strict_json(std::string_view text, const std::string& where, int max_depth);

}  // namespace tabgrad
