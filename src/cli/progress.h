// How a command talks while it works: a live line on a terminal, plain lines elsewhere; and Ctrl-C as a request.
//
// Does: draws one line over and over, keeps printed lines apart from it, turns SIGINT and SIGTERM into a flag. Does not:
// know what is trained.
//
// Invariant: nothing but finished lines reaches a file or pipe.
#pragma once

#include <chrono>
#include <cstdio>
#include <string>

namespace tabgrad::cli {

class Progress {
 public:
  // out: where people read, stdout or stderr.
  explicit Progress(std::FILE* out);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  bool live() const { return live_; }
  // True when the live line may be drawn anew: at most ten times a second.
  bool due() const;
  // Replaces the live line: a bar of `part` in [0, 1] where there is room, then the text. Nothing unless live().
  void draw(double part, const std::string& text);
  // A finished line, above the live one.
  void print(const std::string& line);
  // Removes the live line.
  void clear();

 private:
  std::FILE* out_;
  bool live_ = false, drawn_ = false;
  std::chrono::steady_clock::time_point last_;
};

// While it lives, the first SIGINT or SIGTERM only sets a flag; the second ends the process as usual.
class StopRequest {
 public:
  StopRequest();
  ~StopRequest();
  StopRequest(const StopRequest&) = delete;
  StopRequest& operator=(const StopRequest&) = delete;
  static bool requested();
};

// "0:42", "12:03", "2:05:00".
std::string clock_text(double seconds);

}  // namespace tabgrad::cli
