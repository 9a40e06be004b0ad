// What a table holds, for a person who has not chosen anything yet: which column is the clock, which could be the target,
// and a thinned picture of every number column.
//
// Does: asks make_series what it would find. Does not: fail on data that cannot be forecast; it says so in a notice.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "data/series.h"

namespace tabgrad {

struct Overview {
  std::string time;              // the column found to be the clock, as make_series names it; "" when rows are just in order
  std::string step;              // "1 day"; "" when unknown
  std::string first, last;       // points of time, for people
  std::string suggested_target;  // "" when there is nothing to forecast
  std::vector<double> times;     // of the preview's rows, rising; NaN nowhere
  std::vector<std::pair<std::string, std::vector<double>>> columns;  // number columns at those rows; NaN where missing
  std::vector<std::string> notices;
};

// preview: rows of the picture, at most.
Overview overview_of(const Table& table, std::int64_t preview);

// Extremes of a column's values; NaN when it has none.
std::pair<double, double> extremes(const Column& column);

}  // namespace tabgrad
