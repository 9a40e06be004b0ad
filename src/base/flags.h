// Flags from the table flags.def, read from the environment when asked for.
#pragma once

#include <algorithm>
#include <climits>
#include <cstdlib>
#include <string>

namespace tabgrad::flags {

namespace detail {
inline int from_environment(const char* variable, int otherwise) {
  const char* text = std::getenv(variable);
  if (!text || !*text) return otherwise;
  return static_cast<int>(std::clamp<long>(std::strtol(text, nullptr, 10), INT_MIN, INT_MAX));
}
// "threads" → "TABGRAD_THREADS"
struct Variable {
  char text[32] = "TABGRAD_";
  constexpr explicit Variable(const char* flag) {
    int at = 8;
    for (; *flag; ++flag) text[at++] = static_cast<char>(*flag >= 'a' && *flag <= 'z' ? *flag - 'a' + 'A' : *flag);
  }
};
}  // namespace detail

// flags::debug(), flags::nofuse(), …
#define TG_FLAG(name, otherwise, help)                          \
  inline int name() {                                           \
    static constexpr detail::Variable kVariable(#name);         \
    return detail::from_environment(kVariable.text, otherwise); \
  }
#define TG_TEXT_FLAG(name, help)                        \
  inline std::string name() {                           \
    static constexpr detail::Variable kVariable(#name); \
    const char* text = std::getenv(kVariable.text);     \
    return text ? text : "";                            \
  }
#include "base/flags.def"
#undef TG_FLAG
#undef TG_TEXT_FLAG

struct Info {
  detail::Variable variable;
  const char* help;
};
inline constexpr Info kAll[] = {
#define TG_FLAG(name, otherwise, help) {detail::Variable(#name), help},
#define TG_TEXT_FLAG(name, help) {detail::Variable(#name), help},
#include "base/flags.def"
#undef TG_FLAG
#undef TG_TEXT_FLAG
};

}  // namespace tabgrad::flags
