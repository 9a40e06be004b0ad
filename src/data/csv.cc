#include "data/csv.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <unordered_map>
#include <utility>

#include "base/error.h"
#include "data/csv_dialect.h"

namespace tabgrad {
namespace {

using csv::Cells;
using csv::Cut;
using csv::excerpt;
using csv::NumberCell;

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr std::size_t kPieceBytes = 1 << 20;      // a long chunk is taken in pieces, so that the buffer stays small
constexpr std::size_t kMaxRecordBytes = 4 << 20;  // a longer record is no CSV row but an open quote or another format
constexpr std::size_t kMaxColumns = 16384;

const char* delimiter_name(char c) {
  switch (c) {
    case ',': return "comma";
    case ';': return "semicolon";
    case '\t': return "tab";
    case '|': return "bar";
    default: return "other";
  }
}

// One column while it is being read: takes its kind from its first cell that is not missing.
struct ColumnBuilder {
  Column column;
  TimeColumnParser times;
  NumberCell number = NumberCell::kNotNumber;  // what the last cell was
  std::int64_t bad = 0;

  // False when the cell does not fit; why() tells the reason.
  bool add(std::string_view cell, char* decimal, const CsvOptions& options) {
    if (csv::is_missing(cell)) {
      add_missing();
      return true;
    }
    double value = kNaN;
    if (column.kind == ColumnKind::kEmpty || column.kind == ColumnKind::kNumber) {
      number = csv::parse_number(cell, decimal, &value);
      if (column.kind == ColumnKind::kEmpty) choose_kind(cell, options);
    }
    bool fits = false;
    switch (column.kind) {
      case ColumnKind::kEmpty: break;
      case ColumnKind::kNumber:
        fits = number == NumberCell::kNumber;
        column.values.push_back(fits ? value : kNaN);
        break;
      case ColumnKind::kTime:
        fits = times.add(cell);
        if (!fits) times.add_missing();
        break;
      case ColumnKind::kText: break;
    }
    bad += fits ? 0 : 1;
    return fits;
  }

  std::string why(char decimal) const {
    if (column.kind == ColumnKind::kTime) return std::string(times.reason());
    switch (number) {
      case NumberCell::kNumber: return "";
      case NumberCell::kNotNumber:
        return "is not a number. Correct the cell (NA where a value is missing), or choose another column.";
      case NumberCell::kTooLarge: return "is too large for a number (over 1.8e308). Correct the cell, or write NA.";
      case NumberCell::kInfinite: return "is infinite. Correct the cell, or write NA where a value is missing.";
      case NumberCell::kThousands:
        return "has thousands separators, which are refused since they are easily mistaken. Write the number without them.";
      case NumberCell::kOtherDecimal:
        return str("is written with another decimal mark than '", decimal == ',' ? ',' : '.',
                   "', which holds for this file. Write all numbers alike, or set the decimal mark.");
    }
    TG_CHECK(false);
  }

  void add_missing() {
    ++column.missing;
    if (column.kind == ColumnKind::kTime) {
      times.add_missing();
    } else if (column.kind != ColumnKind::kText) {
      column.values.push_back(kNaN);
    }
  }

  Column finish(std::vector<std::string>* notices) {
    const std::size_t cells = column.kind == ColumnKind::kTime ? times.size() : column.values.size();
    if (2 * bad > static_cast<std::int64_t>(cells) - column.missing) {  // text whose first cell looked like something else
      column.kind = ColumnKind::kText;
      column.values = {};
    } else if (column.kind == ColumnKind::kTime) {
      column.time_format = times.format();
      column.values = times.finish(column.name, notices);
    }
    return std::move(column);
  }

 private:
  void choose_kind(std::string_view cell, const CsvOptions& options) {
    if (number != NumberCell::kNotNumber) {
      column.kind = ColumnKind::kNumber;
      return;
    }
    times = TimeColumnParser(options.day_first);
    if (TimeColumnParser(options.day_first).add(cell)) {
      column.kind = ColumnKind::kTime;
      for (std::size_t i = 0; i < column.values.size(); ++i) times.add_missing();
    } else {
      column.kind = ColumnKind::kText;
    }
    column.values = {};
  }
};

}  // namespace

struct CsvReader::Impl {
  CsvOptions options;
  Table table;
  char decimal = 0;
  std::vector<ColumnBuilder> builders;

  std::string buffer;    // text not yet cut into records
  bool started = false;  // the dialect is known
  bool have_columns = false;
  std::int64_t line = 1;       // line of the file at the buffer's start
  std::int64_t last_line = 0;  // line of the last record added
  Cells cells;
  std::vector<std::int64_t> blank_lines;  // in a one-column file: maybe missing cells, if a row follows
  std::int64_t comments = 0, blank_rows = 0, long_rows = 0;
  std::string comment_above;  // the last comment before the first record: perhaps the header (numpy.savetxt)

  std::string at_row(std::int64_t row_line) const { return str(options.name, ": row ", row_line); }

  void take(std::string_view piece, bool last) {
    const bool has_line_end = piece.find_first_of("\r\n") != std::string_view::npos;
    if (piece.find('\0') != std::string_view::npos && started) refuse_zero_byte();
    buffer.append(piece);
    if (!started) {
      if (!last && buffer.size() < csv::kSampleBytes + 16) return;  // 16: a byte-order mark and 'sep=;' are no sample
      start(last);
    } else if (!last && !has_line_end && buffer.size() <= kMaxRecordBytes) {
      return;
    }
    std::string_view rest = buffer;
    while (!rest.empty()) {
      const std::size_t used = rest[0] == '#' ? take_comment(rest, last) : take_record(rest, last);
      if (used == 0) break;
      rest.remove_prefix(used);
    }
    if (rest.size() > kMaxRecordBytes) {
      fail(at_row(line), ": the row is longer than ", kMaxRecordBytes >> 20,
           " MiB. A quote that is never closed begins in it, or the file is no CSV.");
    }
    buffer.erase(0, buffer.size() - rest.size());
  }

  void start(bool whole_file) {
    std::string_view text = buffer;
    if (text.starts_with("\xEF\xBB\xBF")) {
      buffer.erase(0, 3);
      text = buffer;
    }
    if (text.starts_with("\xFF\xFE") || text.starts_with("\xFE\xFF")) {
      fail(options.name, ": the file is UTF-16 text. Save it as UTF-8 (in Excel: 'CSV UTF-8') and try again.");
    }
    if (text.starts_with("PK\x03\x04") || text.starts_with("\x1F\x8B")) {
      fail(options.name, ": the file is an archive or an Excel workbook. Export the sheet as CSV, or unpack the file.");
    }
    if (text.find('\0') != std::string_view::npos) refuse_zero_byte();
    if (text.size() > 6 && text.starts_with("sep=") && (text[5] == '\n' || text[5] == '\r')) {  // Excel's hint
      if (options.delimiter == 0) options.delimiter = text[4];
      buffer.erase(0, text[5] == '\r' && text[6] == '\n' ? 7 : 6);
      text = buffer;
      ++line;
    }
    const bool has_more = !whole_file || text.size() > csv::kSampleBytes;
    const csv::Dialect dialect =
        csv::find_dialect(text.substr(0, csv::kSampleBytes), has_more, options.delimiter, options.header);
    table.delimiter = dialect.delimiter;
    table.has_header = dialect.header;
    decimal = options.decimal != 0 ? options.decimal : dialect.delimiter == ',' ? '.' : '\0';
    started = true;
  }

  [[noreturn]] void refuse_zero_byte() const {
    fail(at_row(line), " or soon after holds a zero byte: the file is UTF-16 or not text. Save it as UTF-8 CSV.");
  }

  // Bytes of the comment line at the front of `text`; 0 when its end is not there yet.
  std::size_t take_comment(std::string_view text, bool last) {
    const std::size_t end = std::min(text.find_first_of("\r\n"), text.size());
    if (!last && end + 1 >= text.size()) return 0;
    ++comments;
    ++line;
    if (!have_columns) comment_above = csv::trim(text.substr(1, end - 1));
    return std::min(text.size(), end + (text.substr(end).starts_with("\r\n") ? 2 : 1));
  }

  // Bytes of the record at the front of `text`; 0 when it is not whole yet.
  std::size_t take_record(std::string_view text, bool last) {
    std::size_t used = 0;
    switch (csv::cut_record(text, table.delimiter, last, &cells, &used)) {
      case Cut::kIncomplete: return 0;
      case Cut::kOpenQuote:
        if (last) fail(at_row(line), ": a quote (\") opens a cell and is never closed. Close it, or remove it.");
        return 0;
      case Cut::kRecord: break;
    }
    const std::int64_t record_line = line;
    line += cells.lines;
    const bool blank = std::all_of(cells.text.begin(), cells.text.end(), [](std::string_view c) { return c.empty(); });
    if (!blank) {
      have_columns ? add_row(record_line) : add_first(record_line);
    } else if (builders.size() == 1) {
      blank_lines.push_back(record_line);
    } else if (cells.text.size() > 1) {
      ++blank_rows;
    }
    return used;
  }

  void add_first(std::int64_t record_line) {
    if (cells.text.size() > kMaxColumns) {
      fail(at_row(record_line), " has ", cells.text.size(), " columns, more than ", kMaxColumns, ". Is this a CSV file?");
    }
    have_columns = true;
    builders.resize(cells.text.size());
    if (table.has_header) {
      name_columns(cells.text);
      return;
    }
    std::vector<std::string_view> names(cells.text.size());
    Cells comment;
    std::size_t used = 0;
    if (!options.header && comments > 0 && names.size() > 1 &&
        csv::cut_record(comment_above, table.delimiter, true, &comment, &used) == Cut::kRecord &&
        comment.text.size() == names.size()) {
      names = comment.text;
      table.has_header = true;
      table.notices.push_back("The column names were taken from the comment above the first row.");
    } else if (!options.header) {
      table.notices.push_back(str("There is no header row; the columns are named column1 to column", names.size(), "."));
    }
    name_columns(names);
    add_row(record_line);
  }

  void name_columns(const std::vector<std::string_view>& names) {
    std::unordered_map<std::string, int> seen;
    for (std::size_t c = 0; c < names.size(); ++c) {
      std::string name = names[c].empty() ? str("column", c + 1) : csv::to_utf8(names[c]);
      if (!csv::is_utf8(names[c])) table.notices.push_back(str("Column name ", excerpt(names[c]), " was read as Latin-1."));
      if (const int copies = ++seen[name]; copies > 1) {
        std::string renamed;
        for (int i = copies; renamed.empty() || seen.count(renamed) != 0; ++i) renamed = str(name, ".", i);
        table.notices.push_back(str("Two columns are named '", name, "'; column ", c + 1, " is called '", renamed, "' here."));
        ++seen[renamed];
        name = renamed;
      }
      builders[c].column.name = name;
    }
  }

  void add_row(std::int64_t record_line) {
    for (std::int64_t blank : blank_lines) {
      count_row(blank);
      builders[0].add_missing();
    }
    blank_lines.clear();
    const std::size_t width = builders.size();
    if (cells.text.size() < width || !fits_without_blank_tail(width)) {
      fail(at_row(record_line), " has ", cells.text.size(), cells.text.size() == 1 ? " cell" : " cells", " where ",
           table.has_header ? "the header" : "the first row", " has ", width, " (cells are split at each ",
           delimiter_name(table.delimiter), "). Correct the row, or set the delimiter.");
    }
    count_row(record_line);
    for (std::size_t c = 0; c < width; ++c) {
      ColumnBuilder& builder = builders[c];
      if (!builder.add(cells.text[c], &decimal, options) && builder.column.problem.empty()) {
        builder.column.problem = str(at_row(record_line), ", column '", builder.column.name, "': ", excerpt(cells.text[c]), " ",
                                     builder.why(decimal));
      }
    }
  }

  // Cells beyond the header are borne when they are blank: many programs end each row with a delimiter.
  bool fits_without_blank_tail(std::size_t width) {
    if (cells.text.size() == width) return true;
    ++long_rows;
    return std::all_of(cells.text.begin() + static_cast<std::ptrdiff_t>(width), cells.text.end(),
                       [](std::string_view c) { return c.empty(); });
  }

  void count_row(std::int64_t row_line) {
    if (table.line_jumps.empty() || row_line != last_line + 1) table.line_jumps.emplace_back(table.num_rows, row_line);
    last_line = row_line;
    ++table.num_rows;
  }

  Table finish() {
    take("", true);
    if (!have_columns) fail(options.name, ": the file is empty. It needs a header row and rows of numbers.");
    if (table.num_rows == 0) fail(options.name, ": there is a header but no row below it. Add the data.");
    table.source = options.name;
    table.decimal = decimal == ',' ? ',' : '.';
    if (decimal == ',' && options.decimal == 0)
      table.notices.push_back("Numbers are read with a decimal comma (1,5 is one and a half).");
    if (comments > 0) table.notices.push_back(str("Lines that begin with '#' were skipped: ", comments, "."));
    if (blank_rows > 0) table.notices.push_back(str("Rows with only blank cells were skipped: ", blank_rows, "."));
    if (long_rows > 0) table.notices.push_back(str("Rows with blank cells beyond the header: ", long_rows, "."));
    for (ColumnBuilder& builder : builders) table.columns.push_back(builder.finish(&table.notices));
    return std::move(table);
  }
};

const char* column_kind_name(ColumnKind kind) {
  switch (kind) {
    case ColumnKind::kEmpty: return "empty";
    case ColumnKind::kNumber: return "number";
    case ColumnKind::kTime: return "time";
    case ColumnKind::kText: return "text";
  }
  TG_CHECK(false);
}

std::int64_t Table::line_of(std::int64_t row) const {
  const auto after =
      std::upper_bound(line_jumps.begin(), line_jumps.end(), row, [](std::int64_t r, const auto& j) { return r < j.first; });
  TG_CHECK(after != line_jumps.begin());
  const auto& [first_row, line] = *std::prev(after);
  return line + (row - first_row);
}

const Column* Table::find(std::string_view name) const {
  const auto it = std::find_if(columns.begin(), columns.end(), [&](const Column& c) { return c.name == name; });
  return it == columns.end() ? nullptr : &*it;
}

const Column& Table::existing_column(std::string_view name) const {
  if (const Column* column = find(name)) return *column;
  std::string list;
  for (std::size_t c = 0; c < columns.size() && c < 20; ++c) {
    list += str(c == 0 ? "" : ", ", columns[c].name, " (", column_kind_name(columns[c].kind), ")");
  }
  fail(source, ": there is no column ", excerpt(name), ". The columns are: ", list, columns.size() > 20 ? ", …" : "", ".");
}

const Column& Table::number_column(std::string_view name) const {
  const Column& column = existing_column(name);
  if (!column.problem.empty()) fail(column.problem);
  if (column.kind == ColumnKind::kEmpty)
    fail(source, ": column '", column.name, "' has no value in any row. Choose another one.");
  if (column.kind == ColumnKind::kTime) {
    fail(source, ": column '", column.name, "' holds times, not numbers. Choose another one.");
  }
  return column;
}

CsvReader::CsvReader(CsvOptions options) : impl_(std::make_unique<Impl>()) {
  const char d = options.delimiter;
  if (d == '"' || d == '\n' || d == '\r' || d == '#' || d == ' ' || d == '.') {
    fail("A CSV's delimiter cannot be a quote, a line end, a blank, '.' or '#'.");
  }
  if (options.decimal != 0 && options.decimal != '.' && options.decimal != ',') fail("The decimal mark must be '.' or ','.");
  if (options.decimal == ',' && d == ',') fail("Comma cannot be both delimiter and decimal mark.");
  impl_->options = std::move(options);
}

CsvReader::~CsvReader() = default;

void CsvReader::feed(std::string_view chunk) {
  while (!chunk.empty()) {
    impl_->take(chunk.substr(0, kPieceBytes), false);
    chunk.remove_prefix(std::min(kPieceBytes, chunk.size()));
  }
}

Table CsvReader::finish() { return impl_->finish(); }

Table read_csv(std::string_view text, CsvOptions options) {
  CsvReader reader(std::move(options));
  reader.feed(text);
  return reader.finish();
}

}  // namespace tabgrad
