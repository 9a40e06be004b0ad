// Options that change a run's settings: declared once, applied over defaults, or compared with an interrupted run's.
//
// Does not: know the settings; they only need a to_json() that shows every field.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/error.h"

namespace tabgrad::cli {

template <typename Settings>
class SettingsOptions {
 public:
  // apply: what the given value does to the settings. Options are applied in the order in which they were added.
  template <typename Value>
  CLI::Option* add(CLI::App& app, const char* name, const char* help, std::function<void(Settings&, const Value&)> apply) {
    const auto value = std::make_shared<Value>();
    CLI::Option* option = app.add_option(name, *value, help);
    if constexpr (std::is_same_v<Value, std::vector<double>> || std::is_same_v<Value, std::vector<std::string>>) {
      option->delimiter(',');
    } else {
      option->take_last();
    }
    applies_.emplace_back(option, [value, apply](Settings& s) { apply(s, *value); });
    return option;
  }

  void apply(Settings& settings) const {
    for (const auto& [option, change] : applies_)
      if (option->count() > 0) change(settings);
  }

  // Throws Error naming the first given option that differs from the run in the folder `out`.
  void check_same(const Settings& interrupted, const std::string& out) const {
    // All at once first: an option may stand for several fields that later ones refine (--optimizer sets --lr's default).
    const std::string before = to_json(interrupted);
    Settings all = interrupted;
    apply(all);
    if (to_json(all) == before) return;
    for (const auto& [option, change] : applies_) {
      Settings one = interrupted;
      if (option->count() > 0) change(one);
      if (to_json(one) != before) differs(option->get_name().c_str(), out);
    }
  }

  [[noreturn]] static void differs(const char* option, const std::string& out) {
    fail(option, " differs from the interrupted run in ", out,
         ". Leave the option out to go on with that run, or start a new one in another folder.");
  }

 private:
  std::vector<std::pair<CLI::Option*, std::function<void(Settings&)>>> applies_;
};

}  // namespace tabgrad::cli
