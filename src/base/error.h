// Errors of tabgrad.
//
// Error: the user can mend it (bad option, bad file, shapes that do not fit). The text names the place
// ("[matmul] layer 'head': (32,48) x (64,12)") and what to do. Thrown only while reading, building or compiling.
// TG_CHECK: a mistake of ours. It throws too (InternalError), since aborting would kill a browser tab.
#pragma once

#include <sstream>
#include <stdexcept>
#include <string>

namespace tabgrad {

class Error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

class InternalError : public std::logic_error {
 public:
  using std::logic_error::logic_error;
};

// Joins its arguments with operator<<: str("row ", 7, ": ", cell).
template <typename... Args>
std::string str(const Args&... args) {
  std::ostringstream out;
  (out << ... << args);
  return out.str();
}

template <typename... Args>
[[noreturn]] void fail(const Args&... args) {
  throw Error(str(args...));
}

[[noreturn]] inline void check_failed(const char* condition, const char* file, int line) {
  throw InternalError(str(file, ":", line, ": internal check failed: ", condition));
}

}  // namespace tabgrad

#define TG_CHECK(condition) ((condition) ? static_cast<void>(0) : ::tabgrad::check_failed(#condition, __FILE__, __LINE__))
