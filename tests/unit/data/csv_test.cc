// What people drop in (a table of odd files), and the promises that hold for every file: chunks do not matter, no crash.
#include "data/csv.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <string>
#include <vector>

#include "base/error.h"
#include "data/csv_dialect.h"
#include "data/time.h"
#include "unit/data/error_of.h"

namespace tabgrad {
namespace {

using testing::HasSubstr;

// "x=1 2 . | day=2020-01-01 | word text": every column's values, '.' where missing.
std::string summary(const Table& table) {
  std::string out;
  for (const Column& column : table.columns) {
    out += (out.empty() ? "" : " | ") + column.name;
    if (column.kind == ColumnKind::kText) out += " text";
    if (column.kind == ColumnKind::kEmpty) out += " empty";
    const char* separator = "=";
    for (double v : column.values) {
      out += separator + (std::isnan(v) ? "." : column.kind == ColumnKind::kTime ? format_time(v) : str(v));
      separator = " ";
    }
  }
  return out;
}

struct Case {
  const char* what;
  std::string text;
  std::string expected;
};

TEST(Csv, ReadsWhatPeopleDropIn) {
  const std::vector<Case> cases = {
      {"plain", "a,b\n1,2\n3,4\n", "a=1 3 | b=2 4"},
      {"no last line end", "a,b\n1,2\n3,4", "a=1 3 | b=2 4"},
      {"byte-order mark",
       "\xEF\xBB\xBF"
       "a,b\n1,2\n",
       "a=1 | b=2"},
      {"CRLF", "a,b\r\n1,2\r\n3,4\r\n", "a=1 3 | b=2 4"},
      {"CR", "a,b\r1,2\r3,4\r", "a=1 3 | b=2 4"},
      {"quoted comma in the header", "day,\"a, b\"\n2020-01-01,2\n", "day=2020-01-01 | a, b=2"},
      {"quoted comma, doubled quote, line end", "w,x\n\"a,b\",1\n\"say \"\"hi\"\"\",2\n\"two\nlines\",3\n", "w text | x=1 2 3"},
      {"quoted numbers", "\"a\",\"b\"\n\"1\",\"2.5\"\n", "a=1 | b=2.5"},
      {"doubled quote in a name", "\"a \"\"x\"\"\",b\n1,2\n", "a \"x\"=1 | b=2"},
      {"semicolon", "a;b\n1.5;2\n", "a=1.5 | b=2"},
      {"semicolon and decimal comma", "a;b\n1,5;2\n2,25;3\n", "a=1.5 2.25 | b=2 3"},
      {"decimal comma after whole numbers", "a;b\n1;2\n2,5;3\n", "a=1 2.5 | b=2 3"},
      {"decimal comma of three digits", "a;b\n1,234;2\n", "a=1.234 | b=2"},
      {"semicolon without a header", "1,5;2,5\n3,5;4\n", "column1=1.5 3.5 | column2=2.5 4"},
      {"tab and decimal comma", "a\tb\n1,5\t2\n", "a=1.5 | b=2"},
      {"bar", "a|b\n1|2\n3|4\n", "a=1 3 | b=2 4"},
      {"commas in text do not outvote semicolons", "n;t\n1;x, y\n2;z, w\n", "n=1 2 | t text"},
      {"Excel's hint", "sep=;\na;b\n1;2\n", "a=1 | b=2"},
      {"missing", "a,b\n1,\nNA,2\nnan,NULL\nN/A,-\n?,3\nnone,#N/A\n", "a=1 . . . . . | b=. 2 . . 3 ."},
      {"missing before the kind is known", "a,b\n,1\n,2\n2020-01-05,3\n", "a=. . 2020-01-05 | b=1 2 3"},
      {"empty column", "a,b\n1,\n2,\n", "a=1 2 | b empty=. ."},
      {"blank and comment lines", "# made by hand\n\na,b\n\n1,2\n# note\n3,4\n\n", "a=1 3 | b=2 4"},
      {"header in a comment", "# a,b\n1,2\n3,4\n", "a=1 3 | b=2 4"},
      {"rows of blank cells", "a,b\n1,2\n,\n3,4\n,\n", "a=1 3 | b=2 4"},
      {"a delimiter at each row's end", "a,b\n1,2,\n3,4,\n", "a=1 3 | b=2 4"},
      {"blanks around cells", " a , b \n 1 , 2 \n", "a=1 | b=2"},
      {"one column", "x\n1\n2\n3\n", "x=1 2 3"},
      {"one column, missing inside", "x\n1\n\n3\n\n", "x=1 . 3"},
      {"one column, decimal comma", "x\n1,5\n2,5\n", "x=1.5 2.5"},
      {"one column, no header", "1\n2\n3\n", "column1=1 2 3"},
      {"no header", "2020-01-01,5,rain\n2020-01-02,6,sun\n", "column1=2020-01-01 2020-01-02 | column2=5 6 | column3 text"},
      {"years as names", "day,2019,2020\n2020-01-01,1,2\n", "day=2020-01-01 | 2019=1 | 2020=2"},
      {"names above missing cells", "a,b\nNA,NA\n1,2\n", "a=. 1 | b=. 2"},
      {"blank name", "a,,c\n1,2,3\n", "a=1 | column2=2 | c=3"},
      {"names twice", "x,x,x.2\n1,2,3\n", "x=1 | x.2=2 | x.2.2=3"},
      {"Latin-1 name", "Temp\xE9,b\n1,2\n", "Tempé=1 | b=2"},
      {"signs and exponents", "a\n+1\n-2.5e3\n.5\n5.\n1E-400\n", "a=1 -2500 0.5 5 0"},
      {"quote inside a cell", "a,b\n5\" pipe,1\n6\" pipe,2\n", "a text | b=1 2"},
      {"month-first dates", "d,x\n01/02/2020,1\n01/13/2020,2\n", "d=2020-01-02 2020-01-13 | x=1 2"},
      {"day-first dates", "d;x\n31.01.2020;1,5\n01.02.2020;2\n", "d=2020-01-31 2020-02-01 | x=1.5 2"},
      {"zone", "t,x\n2020-01-01T00:00:00+02:00,1\n2020-01-01T01:00+02:00,2\n", "t=2020-01-01 2020-01-01 01:00 | x=1 2"},
      {"month names", "d,x\nJan 1 2000,1\n\"Feb 1, 2000\",2\n", "d=2000-01-01 2000-02-01 | x=1 2"},
      {"no-break space",
       "a;b\n\xC2\xA0"
       "1;2\n",
       "a=1 | b=2"},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.what);
    std::string got;
    EXPECT_NO_THROW(got = summary(read_csv(c.text)));
    EXPECT_EQ(got, c.expected);
  }
}

TEST(Csv, RefusesBrokenFilesWithRowAndAdvice) {
  const std::vector<Case> cases = {
      {"empty", "", "f.csv: the file is empty"},
      {"blank lines only", "\n\n\r\n", "f.csv: the file is empty"},
      {"header only", "a,b\n", "a header but no row"},
      {"short row", "a,b\n1,2\n3\n", "f.csv: row 3 has 1 cell where the header has 2"},
      {"long row", "a,b\n1,2\n3,4,5\n", "f.csv: row 3 has 3 cells where the header has 2"},
      {"the row is the file's line", "# c\n\na,b\n\"x\ny\",2\n3\n", "row 6 has 1 cell"},
      {"open quote", "a,b\n1,2\n\"3,4\n5,6\n", "f.csv: row 3: a quote (\") opens a cell and is never closed"},
      {"UTF-16",
       std::string("\xFF\xFE"
                   "a\0,\0",
                   6),
       "UTF-16"},
      {"UTF-16 without a mark", std::string("a\0,\0b\0\n\0", 8), "zero byte"},
      {"Excel", "PK\x03\x04....", "Excel"},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.what);
    EXPECT_THAT(error_of([&] { read_csv(c.text, {.name = "f.csv"}); }), HasSubstr(c.expected));
  }
}

TEST(Csv, ABadCellOnlySpoilsItsColumn) {
  const std::vector<Case> cases = {
      {"text in a number column", "x,y\n1,1\noops,2\n3,3\n", "f.csv: row 3, column 'x': 'oops' is not a number"},
      {"infinite", "x,y\n1,1\n2,1\ninf,2\n", "f.csv: row 4, column 'x': 'inf' is infinite"},
      {"too large", "x,y\n1,1\n1e999,2\n", "row 3, column 'x': '1e999' is too large"},
      {"thousands", "x,y\n\"1,234\",1\n", "row 2, column 'x': '1,234' has thousands separators"},
      {"thousands and decimals", "x;y\n1.234,5;1\n", "row 2, column 'x': '1.234,5' has thousands separators"},
      {"blank as thousands separator", "x,y\n1 234,1\n", "thousands separators"},
      {"another decimal mark", "x;y\n1.5;1\n2,5;1\n3.5;1\n",
       "row 3, column 'x': '2,5' is written with another decimal mark than '.'"},
      {"only text", "x,y\nrain,1\nsun,2\n", "row 2, column 'x': 'rain' is not a number"},
      {"times", "x,y\n2020-01-01,1\n", "column 'x' holds times, not numbers"},
      {"no value", "x,y\n,1\n,2\n", "column 'x' has no value in any row"},
      {"no such column", "a,y\n1,1\n", "f.csv: there is no column 'x'. The columns are: a (number), y (number)."},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.what);
    const Table table = read_csv(c.text, {.name = "f.csv"});
    EXPECT_THAT(error_of([&] { table.number_column("x"); }), HasSubstr(c.expected));
    EXPECT_NO_THROW(table.number_column("y"));
  }
}

TEST(Csv, ADateThatDoesNotFitSpoilsTheTimeColumn) {
  const auto problem = [](const char* text) { return read_csv(text, {.name = "f.csv"}).columns[0].problem; };
  EXPECT_THAT(problem("d,x\n2020-02-28,1\n2020-02-30,2\n"),
              HasSubstr("row 3, column 'd': '2020-02-30' is no day of the calendar"));
  EXPECT_THAT(problem("d,x\n2020-02-28,1\n28.02.2020,2\n"), HasSubstr("another way than those above"));
  EXPECT_THAT(problem("d,x\n13/01/2020,1\n01/14/2020,2\n"), HasSubstr("day comes first"));
  EXPECT_THAT(problem("d,x\n2020-01-01 10:00 EST,1\n2020-01-01,1\n"), HasSubstr("'2020-01-01 10:00 EST' is not a number"));
}

TEST(Csv, TheUsersWordGoesFirst) {
  EXPECT_EQ(summary(read_csv("1,2\n3,4\n", {.header = true})), "1=3 | 2=4");
  EXPECT_EQ(summary(read_csv("a,b\nc,d\n", {.header = false})), "column1 text | column2 text");
  EXPECT_EQ(summary(read_csv("a,b;c\n1,2;3\n", {.delimiter = ';'})), "a,b=1.2 | c=3");
  EXPECT_EQ(summary(read_csv("a;b\n1,5;2\n", {.decimal = ','})), "a=1.5 | b=2");
  EXPECT_EQ(summary(read_csv("d,x\n01/02/2020,1\n", {.day_first = true})), "d=2020-02-01 | x=1");
  EXPECT_EQ(summary(read_csv("d,x\n01/02/2020,1\n", {.day_first = false})), "d=2020-01-02 | x=1");
  EXPECT_THROW(read_csv("a,b\n1,2\n", {.delimiter = '"'}), Error);
  EXPECT_THROW(read_csv("a,b\n1,2\n", {.delimiter = ',', .decimal = ','}), Error);
  EXPECT_THROW(read_csv("a,b\n1,2\n", {.decimal = 'x'}), Error);
}

TEST(Csv, SaysWhatItGuessed) {
  const auto notices = [](const char* text) { return testing::PrintToString(read_csv(text).notices); };
  EXPECT_EQ(notices("a,b\n1,2\n"), "{}");
  EXPECT_THAT(notices("a;b\n1,5;2\n"), HasSubstr("decimal comma"));
  EXPECT_THAT(notices("1,2\n3,4\n"), HasSubstr("no header"));
  EXPECT_THAT(notices("x,x\n3,4\n"), HasSubstr("'x.2'"));
  EXPECT_THAT(notices("d,x\n01/02/2020,1\n02/02/2020,1\n"), HasSubstr("month-first"));
}

TEST(Csv, ManyRowsKeepTheirLines) {
  std::string text = "x,y\n";
  for (int i = 0; i < 50000; ++i) text += str(i, ",", i * 0.5, i % 1000 == 0 ? "\n\n" : "\n");
  const Table table = read_csv(text);
  ASSERT_EQ(table.num_rows, 50000);
  EXPECT_EQ(table.columns[1].values[49999], 24999.5);
  EXPECT_EQ(table.line_of(0), 2);
  EXPECT_EQ(table.line_of(1), 4);
  EXPECT_EQ(table.line_of(49999), 2 + 49999 + 50);
}

TEST(Csv, AnEndlessQuoteIsStoppedEarly) {
  CsvReader reader({.name = "f.csv"});
  reader.feed("a,b\n1,2\n\"");
  const std::string block(1 << 20, 'x');
  EXPECT_THAT(error_of([&] {
                for (int i = 0; i < 8; ++i) reader.feed(block);
              }),
              HasSubstr("f.csv: row 3: the row is longer than 4 MiB"));
}

// The table's text, or the error's first words: what must not depend on the chunks.
std::string outcome(const std::string& text, std::size_t chunk) {
  try {
    CsvReader reader({});
    for (std::size_t i = 0; i < text.size(); i += chunk) reader.feed(std::string_view(text).substr(i, chunk));
    const Table table = reader.finish();
    std::string lines;
    for (std::int64_t r = 0; r < table.num_rows; ++r) lines += str(" ", table.line_of(r));
    return summary(table) + lines;
  } catch (const Error& e) {
    return e.what();
  }
}

TEST(Csv, ChunksDoNotMatter) {
  std::mt19937 random(7);
  const std::vector<std::string> pieces = {
      "1",  "2.5", ",",  ",",   ";",   "\n", "\r\n", "\r",         "\"",         "\"\"",         "a",
      "NA", "#",   "\t", "1,5", "1e9", " ",  "-",    "31.12.2020", "2020-01-02", "\xEF\xBB\xBF", "sep=;\n"};
  for (int trial = 0; trial < 1500; ++trial) {
    std::string text;
    const std::size_t count = random() % 40;
    for (std::size_t i = 0; i < count; ++i) text += pieces[random() % pieces.size()];
    const std::string whole = outcome(text, text.size() + 1);
    for (std::size_t chunk : {1, 2, 3, 7})
      ASSERT_EQ(outcome(text, chunk), whole) << testing::PrintToString(text) << " by " << chunk;
  }
  // Longer than the sample and than one piece.
  std::string text = "t;x;w\r\n";
  for (int i = 0; i < 120000; ++i) text += str(i, ";", i, ",5;\"a\r\nb\"\r\n");
  const std::string whole = outcome(text, text.size());
  for (std::size_t chunk : {100, 4097, 65536, 1 << 20}) EXPECT_EQ(outcome(text, chunk), whole) << chunk;
}

TEST(Csv, NumbersSurviveTheTrip) {
  std::mt19937_64 random(3);
  std::vector<double> values;
  std::string text = "x\n";
  for (int i = 0; i < 2000; ++i) {
    const double v =
        std::ldexp(static_cast<double>(static_cast<std::int64_t>(random())), static_cast<int>(random() % 200) - 150);
    char cell[40];
    std::snprintf(cell, sizeof cell, "%.17g\n", v);
    values.push_back(v);
    text += cell;
  }
  EXPECT_EQ(read_csv(text).columns[0].values, values);
}

TEST(CsvCell, Excerpts) {
  EXPECT_EQ(csv::excerpt("abc"), "'abc'");
  EXPECT_EQ(csv::excerpt("a\nb\x01"), "'a b '");
  EXPECT_EQ(csv::excerpt("\xFF"), "'ÿ'");
  EXPECT_TRUE(csv::is_utf8(csv::excerpt(std::string(60, 'x') + "é")));
  std::string accents;
  for (int i = 0; i < 60; ++i) accents += "é";
  EXPECT_TRUE(csv::is_utf8(csv::excerpt(accents)));
  EXPECT_FALSE(csv::is_utf8("\xC0\x80"));
  EXPECT_FALSE(csv::is_utf8("\xED\xA0\x80"));
  EXPECT_FALSE(csv::is_utf8("\xE2\x82"));
}

}  // namespace
}  // namespace tabgrad
