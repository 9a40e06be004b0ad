// What a result must say about the machine that it comes from.
#pragma once

#include <optional>
#include <string>

namespace tabgrad::cli {

// The processor's name as Linux gives it; elsewhere "unknown processor".
std::string processor_name();
// Of the last minute; nothing where the system does not tell.
std::optional<double> load_average();
// What holds speed back or lets it vary, as far as Linux tells: "governor powersave, on battery"; "" where nothing is known.
std::string power_hints();
// Now, in UTC: "2026-12-01T11:23:35Z".
std::string date_text();
// The smallest step of the clock that times are taken with, in milliseconds.
double timer_resolution_ms();

}  // namespace tabgrad::cli
