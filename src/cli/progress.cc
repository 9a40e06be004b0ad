#include "cli/progress.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <csignal>
#include <cstdlib>

namespace tabgrad::cli {
namespace {

constexpr int kBarCells = 24;
constexpr int kTextCells = 84;  // what the text needs; a narrower terminal gets no bar
constexpr auto kInterval = std::chrono::milliseconds(100);

volatile std::sig_atomic_t stop_requested = 0;

void on_signal(int signal) {
  stop_requested = 1;
  std::signal(signal, SIG_DFL);  // the next one ends the process
}

int terminal_width(std::FILE* file) {
  winsize size{};
  if (ioctl(fileno(file), TIOCGWINSZ, &size) != 0 || size.ws_col == 0) return 80;
  return size.ws_col;
}

}  // namespace

Progress::Progress(std::FILE* out) : out_(out), last_(std::chrono::steady_clock::now() - kInterval) {
  const char* term = std::getenv("TERM");
  live_ = isatty(fileno(out)) == 1 && term != nullptr && std::string(term) != "dumb";
}

Progress::~Progress() { clear(); }

bool Progress::due() const { return live_ && std::chrono::steady_clock::now() - last_ >= kInterval; }

void Progress::draw(double part, const std::string& text) {
  if (!live_) return;
  last_ = std::chrono::steady_clock::now();
  drawn_ = true;
  std::string bar;
  const int width = terminal_width(out_);
  if (width >= kTextCells + kBarCells + 2) {
    const int full = static_cast<int>(std::clamp(part, 0.0, 1.0) * kBarCells);
    for (int i = 0; i < kBarCells; ++i) bar += i < full ? "━" : "─";
    bar += "  ";
  }
  // The text is ASCII; a line longer than the terminal would wrap and not be erased.
  std::fprintf(out_, "\r\x1b[K%s%.*s", bar.c_str(), std::max(1, width - 1 - (bar.empty() ? 0 : kBarCells + 2)), text.c_str());
  std::fflush(out_);
}

void Progress::print(const std::string& line) {
  clear();
  std::fprintf(out_, "%s\n", line.c_str());
  std::fflush(out_);
}

void Progress::clear() {
  if (!drawn_) return;
  std::fputs("\r\x1b[K", out_);
  std::fflush(out_);
  drawn_ = false;
}

StopRequest::StopRequest() {
  stop_requested = 0;
  std::signal(SIGINT, on_signal);
  std::signal(SIGTERM, on_signal);
}

StopRequest::~StopRequest() {
  std::signal(SIGINT, SIG_DFL);
  std::signal(SIGTERM, SIG_DFL);
}

bool StopRequest::requested() { return stop_requested != 0; }

std::string clock_text(double seconds) {
  const auto total = static_cast<long long>(std::llround(std::max(0.0, std::min(seconds, 3.6e8))));
  std::array<char, 32> text;
  if (total < 3600) {
    std::snprintf(text.data(), text.size(), "%lld:%02lld", total / 60, total % 60);
  } else {
    std::snprintf(text.data(), text.size(), "%lld:%02lld:%02lld", total / 3600, total / 60 % 60, total % 60);
  }
  return text.data();
}

}  // namespace tabgrad::cli
