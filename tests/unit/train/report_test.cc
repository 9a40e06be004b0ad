// The report: self-contained, escaped, with all its parts; and the numbers on its axes.
#include "train/report.h"

#include <gtest/gtest.h>

#include "train/chart.h"
#include "unit/train/small_run.h"

namespace tabgrad {
namespace {

TEST(ShortNumber, KeepsFourDigitsAndStaysReadable) {
  EXPECT_EQ(short_number(0), "0");
  EXPECT_EQ(short_number(8486), "8,486");
  EXPECT_EQ(short_number(-1234567), "-1,234,567");
  EXPECT_EQ(short_number(12.3456), "12.35");
  EXPECT_EQ(short_number(0.000123456), "0.0001235");
  EXPECT_EQ(short_number(100), "100");
  EXPECT_EQ(short_number(3.0e-9), "3.000e-09");
  EXPECT_EQ(short_number(NAN), "–");
}

TEST(Report, IsSelfContainedAndEscapesNames) {
  Series series = testing::small_series();
  series.target_name = "<b>\"y\" & co</b>";
  series.source = "<script>alert(1)</script>.csv";
  ForecastJob job(series, testing::small_settings(), testing::threads(1));
  testing::run_to_end(job.trainer());
  const ForecastResult result = job.judge();
  const std::string html = report_html(job, job.trainer().state(), result, {"cpu", 1.5, 2.0, job.parameters()});
  EXPECT_EQ(html.find("<script"), std::string::npos);
  EXPECT_EQ(html.find("<b>\""), std::string::npos);
  EXPECT_EQ(html.find("http"), std::string::npos);
  EXPECT_EQ(html.find("nan"), std::string::npos);
  EXPECT_NE(html.find("&lt;b&gt;&quot;y&quot; &amp; co&lt;/b&gt;"), std::string::npos);
  for (const char* part :
       {"seasonal naive", "linear AR", "P10", "best: epoch", "prefers-color-scheme:dark", "season", "polyline"})
    EXPECT_NE(html.find(part), std::string::npos) << part;
}

TEST(Chart, SurvivesOddData) {
  Chart chart;
  chart.lines.push_back({"gap", "truth", {0, 1, 2, 3}, {1, NAN, 3, 4}});
  chart.lines.push_back({"flat", "model", {0, 3}, {2, 2}});
  chart.lines.push_back({"none", "muted", {}, {}});
  EXPECT_EQ(render(chart).find("nan"), std::string::npos);
  ChartLine many{"many", "truth", {}, {}};
  for (int i = 0; i < 100000; ++i) {
    many.x.push_back(i);
    many.y.push_back(i == 50000 ? 9 : 0);  // one peak must survive the thinning
  }
  Chart long_chart;
  long_chart.lines.push_back(many);
  const std::string html = render(long_chart);
  EXPECT_LT(html.size(), 60000u);
  EXPECT_NE(html.find(",37.04 "), std::string::npos);  // 0.04 / 1.08 from the top
  EXPECT_FALSE(render(Chart{}).empty());
}

}  // namespace
}  // namespace tabgrad
