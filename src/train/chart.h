// Line charts as HTML with inline SVG: no scripts, colours by CSS variables, text that stays readable at any width.
//
// Does: draws lines, bands, marked points and vertical divisions with ticks and a legend. Does not: know what is drawn; the
// page that holds a chart gives the style (kChartCss).
//
// How: the SVG is stretched to the width that there is, with strokes that do not scale; labels and points are HTML placed in
// per cent. So a chart on a phone has the same text size as on a desk.
//
// Invariant: every text is escaped.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tabgrad {

// "&", "<", ">" and quotes as entities.
std::string escape_html(std::string_view text);
// Four significant digits, thousands apart, no exponent between 1e-4 and 1e9: "8,486", "0.7312"; "–" when not finite.
std::string short_number(double value);

struct ChartLine {
  std::string label;  // in the legend; "" for none
  std::string style;  // a colour class of kChartCss: "truth", "model", "second", "muted"
  std::vector<double> x, y;
};
struct ChartBand {
  std::string label;
  std::vector<double> x, low, high;
};
struct ChartMark {
  std::string label, style;
  double x = 0, y = 0;
};
struct Chart {
  std::string description;  // for those who do not see it
  std::string y_title;
  std::vector<ChartBand> bands;
  std::vector<ChartLine> lines;
  std::vector<ChartMark> marks;
  std::vector<std::pair<double, std::string>> x_ticks;  // position and label, rising
  std::vector<double> divisions;                        // vertical lines
  bool log_y = false;                                   // all y are above 0
};
std::string render(const Chart& chart);

extern const char* const kChartCss;

}  // namespace tabgrad
