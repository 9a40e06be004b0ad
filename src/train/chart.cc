#include "train/chart.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <limits>

namespace tabgrad {

const char* const kChartCss = R"css(
.chart{margin:1rem 0 2.6rem}
.chart .plot{position:relative;height:17rem;margin:0 .25rem 1.75rem 3.6rem}
.chart svg{position:absolute;inset:0;width:100%;height:100%;overflow:visible}
.chart svg *{vector-effect:non-scaling-stroke}
.chart .grid{stroke:var(--grid);stroke-width:1}
.chart .division{stroke:var(--muted);stroke-width:1;stroke-dasharray:4 4}
.chart .line{fill:none;stroke-width:2;stroke-linejoin:round;stroke-linecap:round}
.chart .line.truth{stroke:var(--ink);stroke-width:1.5}
.chart .line.model{stroke:var(--accent)}
.chart .line.second{stroke:var(--second)}
.chart .line.muted{stroke:var(--muted);stroke-width:1.5}
.chart .band{fill:var(--accent);opacity:.18}
.chart .y,.chart .x{position:absolute;font-size:.75rem;color:var(--muted);white-space:nowrap;font-variant-numeric:tabular-nums}
.chart .y{right:calc(100% + .5rem);transform:translateY(-50%)}
.chart .x{top:calc(100% + .45rem);transform:translateX(-50%)}
.chart .x.first{transform:none}
.chart .x.last{transform:translateX(-100%)}
.chart .dot{position:absolute;width:.6rem;height:.6rem;border-radius:50%;transform:translate(-50%,-50%);border:2px solid var(--page)}
.chart .dot.truth,.chart .key.truth{background:var(--ink)}
.chart .dot.model,.chart .key.model{background:var(--accent)}
.chart .dot.second,.chart .key.second{background:var(--second)}
.chart .dot.muted,.chart .key.muted{background:var(--muted)}
.chart figcaption{display:flex;flex-wrap:wrap;gap:.25rem 1.1rem;font-size:.8125rem;color:var(--muted);margin-bottom:.7rem}
.chart .key{display:inline-block;width:1rem;height:3px;border-radius:2px;vertical-align:middle;margin-right:.4rem}
.chart .key.band{height:.7rem;opacity:.3;background:var(--accent)}
.chart .key.point{width:.6rem;height:.6rem;border-radius:50%}
@media(max-width:34rem){.chart .plot{height:13rem;margin-left:3.1rem}.chart .x.minor{display:none}}
)css";

namespace {

constexpr double kSize = 1000;            // of the SVG's own square, which is stretched
constexpr std::size_t kMaxPoints = 2000;  // beyond, each bucket keeps its lowest and highest point
constexpr double kMargin = 0.04;          // of the y range, above and below

struct Range {
  double low = std::numeric_limits<double>::infinity(), high = -low;
  void add(double v) {
    if (!std::isfinite(v)) return;
    low = std::min(low, v);
    high = std::max(high, v);
  }
  void widen_if_flat() {
    if (!(low <= high)) *this = {.low = 0, .high = 1};
    if (low == high) {
      const double pad = low == 0 ? 1 : std::fabs(low) * 0.05;
      low -= pad;
      high += pad;
    }
  }
};

std::string fixed(double v) {
  std::array<char, 32> text;
  std::snprintf(text.data(), text.size(), "%.2f", v);
  return text.data();
}

// Maps data to the square and to per cent.
class Scale {
 public:
  Scale(Range x, Range y, bool log_y) : x_(x), y_(y), log_(log_y) {}
  double x(double v) const { return (v - x_.low) / (x_.high - x_.low); }
  double y(double v) const {  // from the top
    const double low = log_ ? std::log(y_.low) : y_.low, high = log_ ? std::log(y_.high) : y_.high;
    return 1 - ((log_ ? std::log(v) : v) - low) / (high - low);
  }
  std::string point(double px, double py) const { return fixed(x(px) * kSize) + "," + fixed(y(py) * kSize) + " "; }

 private:
  Range x_, y_;
  bool log_;
};

// 1, 2 or 5 times a power of ten, for about `count` steps.
double nice_step(double range, int count) {
  const double raw = range / count, power = std::pow(10, std::floor(std::log10(raw)));
  for (double m : {1.0, 2.0, 5.0}) {
    if (m * power >= raw) return m * power;
  }
  return 10 * power;
}

std::vector<double> y_ticks(const Range& range, bool log_y) {
  std::vector<double> ticks;
  if (log_y) {
    for (double power = std::pow(10, std::floor(std::log10(range.low))); power <= range.high; power *= 10) {
      for (double m : {1.0, 2.0, 5.0}) {
        if (m * power >= range.low && m * power <= range.high) ticks.push_back(m * power);
      }
    }
    if (ticks.size() >= 2 && ticks.size() <= 8) return ticks;
    ticks.clear();
  }
  const double step = nice_step(range.high - range.low, 5);
  for (double i = std::ceil(range.low / step); i * step <= range.high && ticks.size() < 20; ++i)
    ticks.push_back(i * step + 0.0);  // no -0
  return ticks;
}

std::string polyline(const ChartLine& line, const Scale& scale) {
  std::string points, out;
  const auto flush = [&] {
    if (!points.empty()) out += "<polyline class=\"line " + line.style + "\" points=\"" + points + "\"/>";
    points.clear();
  };
  const std::size_t n = line.x.size(), bucket = n > kMaxPoints ? (2 * n + kMaxPoints - 1) / kMaxPoints : 1;
  for (std::size_t i = 0; i < n; i += bucket) {
    std::size_t low = i, high = i;
    for (std::size_t j = i; j < std::min(n, i + bucket); ++j) {
      if (line.y[j] < line.y[low]) low = j;
      if (line.y[j] > line.y[high]) high = j;
    }
    const auto add = [&](std::size_t j) {
      if (std::isfinite(line.y[j])) {
        points += scale.point(line.x[j], line.y[j]);
      } else {
        flush();  // a gap
      }
    };
    add(std::min(low, high));
    if (low != high) add(std::max(low, high));
  }
  flush();
  return out;
}

std::string polygon(const ChartBand& band, const Scale& scale) {
  std::string points;
  const std::size_t step = std::max<std::size_t>(1, band.x.size() / kMaxPoints);
  for (std::size_t i = 0; i < band.x.size(); i += step) points += scale.point(band.x[i], band.high[i]);
  for (std::size_t i = band.x.size(); i-- > 0;) {
    if (i % step == 0) points += scale.point(band.x[i], band.low[i]);
  }
  return "<polygon class=\"band\" points=\"" + points + "\"/>";
}

std::string key(const std::string& style, const std::string& label) {
  if (label.empty()) return "";
  return "<span><span class=\"key " + style + "\"></span>" + escape_html(label) + "</span>";
}

}  // namespace

std::string escape_html(std::string_view text) {
  std::string out;
  for (char c : text) {
    switch (c) {
      case '&': out += "&amp;"; break;
      case '<': out += "&lt;"; break;
      case '>': out += "&gt;"; break;
      case '"': out += "&quot;"; break;
      case '\'': out += "&#39;"; break;
      default: out += c;
    }
  }
  return out;
}

std::string short_number(double value) {
  if (!std::isfinite(value)) return "–";
  std::array<char, 64> text;
  const double size = std::fabs(value);
  if (size != 0 && (size < 1e-4 || size >= 1e9)) {
    std::snprintf(text.data(), text.size(), "%.3e", value);
    return text.data();
  }
  const int digits = size == 0 ? 0 : std::clamp(3 - static_cast<int>(std::floor(std::log10(size))), 0, 7);
  std::snprintf(text.data(), text.size(), "%.*f", digits, value);
  std::string s = text.data();
  if (s.find('.') != std::string::npos) {
    s.erase(s.find_last_not_of('0') + 1);
    if (s.back() == '.') s.pop_back();
  }
  const std::size_t start = s[0] == '-' ? 1 : 0, end = std::min(s.find('.'), s.size());
  for (std::size_t i = end; i > start + 3;) s.insert(i -= 3, ",");
  return s;
}

std::string render(const Chart& chart) {
  Range x, y;
  for (const ChartLine& line : chart.lines) {
    for (double v : line.x) x.add(v);
    for (double v : line.y) y.add(v);
  }
  for (const ChartBand& band : chart.bands) {
    for (double v : band.x) x.add(v);
    for (double v : band.low) y.add(v);
    for (double v : band.high) y.add(v);
  }
  x.widen_if_flat();
  y.widen_if_flat();
  if (chart.log_y) {
    const double margin = std::pow(y.high / y.low, kMargin);
    y = {.low = y.low / margin, .high = y.high * margin};
  } else {
    const double margin = (y.high - y.low) * kMargin;
    y = {.low = y.low - margin, .high = y.high + margin};
  }
  const Scale scale(x, y, chart.log_y);

  std::string svg, labels, keys;
  for (double tick : y_ticks(y, chart.log_y)) {
    const double at = scale.y(tick);
    svg += "<line class=\"grid\" x1=\"0\" x2=\"1000\" y1=\"" + fixed(at * kSize) + "\" y2=\"" + fixed(at * kSize) + "\"/>";
    labels += "<span class=\"y\" style=\"top:" + fixed(at * 100) + "%\">" + short_number(tick) + "</span>";
  }
  for (double division : chart.divisions) {
    const std::string at = fixed(scale.x(division) * kSize);
    svg += "<line class=\"division\" x1=\"" + at + "\" x2=\"" + at + "\" y1=\"0\" y2=\"1000\"/>";
  }
  for (std::size_t i = 0; i < chart.x_ticks.size(); ++i) {
    const double at = scale.x(chart.x_ticks[i].first);
    std::string place = i % 2 == 1 ? " minor" : "";
    if (at < 0.05) place += " first";
    if (at > 0.95) place += " last";
    labels += "<span class=\"x" + place + "\" style=\"left:" + fixed(at * 100) + "%\">" + escape_html(chart.x_ticks[i].second) +
              "</span>";
  }
  for (const ChartBand& band : chart.bands) {
    svg += polygon(band, scale);
    keys += key("band", band.label);
  }
  for (const ChartLine& line : chart.lines) {
    svg += polyline(line, scale);
    keys += key(line.style, line.label);
  }
  for (const ChartMark& mark : chart.marks) {
    labels += "<span class=\"dot " + mark.style + "\" style=\"left:" + fixed(scale.x(mark.x) * 100) +
              "%;top:" + fixed(scale.y(mark.y) * 100) + "%\"></span>";
    keys += key("point " + mark.style, mark.label);
  }
  return "<figure class=\"chart\"><figcaption>" +
         (chart.y_title.empty() ? "" : "<strong>" + escape_html(chart.y_title) + "</strong>") + keys +
         "</figcaption><div class=\"plot\" role=\"img\" aria-label=\"" + escape_html(chart.description) +
         "\"><svg viewBox=\"0 0 1000 1000\" preserveAspectRatio=\"none\" aria-hidden=\"true\">" + svg + "</svg>" + labels +
         "</div></figure>\n";
}

}  // namespace tabgrad
