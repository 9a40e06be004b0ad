#include "cli/machine.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <fstream>

namespace tabgrad::cli {
namespace {

std::string first_line(const std::filesystem::path& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

}  // namespace

std::string processor_name() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    if (!line.starts_with("model name")) continue;
    const std::size_t colon = line.find(": ");
    if (colon != std::string::npos) return line.substr(colon + 2);
  }
  return "unknown processor";
}

std::optional<double> load_average() {
  double load = 0;
  if (getloadavg(&load, 1) != 1) return std::nullopt;
  return load;
}

std::string power_hints() {
  std::string hints;
  const auto add = [&](const std::string& hint) { hints += (hints.empty() ? "" : ", ") + hint; };
  const std::string governor = first_line("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor");
  if (!governor.empty()) add("governor " + governor);
  std::error_code none;
  for (const auto& supply : std::filesystem::directory_iterator("/sys/class/power_supply", none))
    if (first_line(supply.path() / "type") == "Battery" && first_line(supply.path() / "status") == "Discharging")
      add("on battery");
  return hints;
}

std::string date_text() {
  const std::time_t now = std::time(nullptr);
  std::tm utc{};
  gmtime_r(&now, &utc);
  std::array<char, 32> text;
  std::strftime(text.data(), text.size(), "%Y-%m-%dT%H:%M:%SZ", &utc);
  return text.data();
}

double timer_resolution_ms() {
  using Clock = std::chrono::steady_clock;
  double smallest = 1;
  for (int i = 0; i < 50; ++i) {
    const auto start = Clock::now();
    auto next = Clock::now();
    while (next == start) next = Clock::now();
    smallest = std::min(smallest, std::chrono::duration<double, std::milli>(next - start).count());
  }
  return smallest;
}

}  // namespace tabgrad::cli
