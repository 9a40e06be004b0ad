#include "data/csv_dialect.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstring>

#include "base/utf8.h"
#include "data/time.h"

namespace tabgrad::csv {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }
char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

bool equals_ignoring_case(std::string_view a, std::string_view lower_b) {
  return a.size() == lower_b.size() &&
         std::equal(a.begin(), a.end(), lower_b.begin(), [](char x, char y) { return lower(x) == y; });
}

// 1 for a blank byte, 2 for a no-break space in UTF-8.
std::size_t blank_at_front(std::string_view s) {
  if (!s.empty() && (s[0] == ' ' || s[0] == '\t')) return 1;
  return s.size() >= 2 && s[0] == '\xC2' && s[1] == '\xA0' ? 2 : 0;
}
std::size_t blank_at_back(std::string_view s) {
  if (!s.empty() && (s.back() == ' ' || s.back() == '\t')) return 1;
  return s.size() >= 2 && s[s.size() - 2] == '\xC2' && s.back() == '\xA0' ? 2 : 0;
}

enum class Parsed { kOk, kNo, kTooLarge, kInfinite };

// A number with a decimal point.
Parsed parse_plain(std::string_view s, double* value) {
  if (!s.empty() && s[0] == '+' && s.size() > 1 && s[1] != '-') s.remove_prefix(1);
  const auto [end, error] = std::from_chars(s.data(), s.data() + s.size(), *value);
  if (error == std::errc::invalid_argument || end != s.data() + s.size()) return Parsed::kNo;
  if (error == std::errc::result_out_of_range) {
    const std::size_t e = s.find_first_of("eE");
    const bool tiny = (e != std::string_view::npos && e + 1 < s.size() && s[e + 1] == '-') || s.substr(0, 3) == "0.0" ||
                      s.substr(0, 4) == "-0.0";
    *value = 0;
    return tiny ? Parsed::kOk : Parsed::kTooLarge;
  }
  if (std::isnan(*value)) return Parsed::kNo;
  return std::isinf(*value) ? Parsed::kInfinite : Parsed::kOk;
}

Parsed parse_with_comma(std::string_view s, double* value) {
  std::array<char, 64> buffer;
  if (s.size() > buffer.size() || s.find('.') != std::string_view::npos) return Parsed::kNo;
  std::replace_copy(s.begin(), s.end(), buffer.begin(), ',', '.');
  return parse_plain({buffer.data(), s.size()}, value);
}

// 1,234 · 1.234.567,8 · 1 234 · 1'234: one to three digits, groups of three behind one kind of mark, maybe decimals.
// The mark must not be `decimal`.
bool has_thousands_marks(std::string_view s, char decimal) {
  std::size_t i = !s.empty() && (s[0] == '-' || s[0] == '+') ? 1 : 0;
  const auto digits = [&](std::size_t from) {
    std::size_t n = 0;
    while (from + n < s.size() && is_digit(s[from + n])) ++n;
    return n;
  };
  const std::size_t lead = digits(i);
  if (lead < 1 || lead > 3) return false;
  i += lead;
  std::string_view mark;
  for (std::string_view candidate : {",", ".", " ", "'", "_", "\xC2\xA0", "\xE2\x80\xAF", "\xE2\x80\x99"}) {
    if (s.substr(i).starts_with(candidate) && candidate[0] != decimal) mark = candidate;
  }
  if (mark.empty()) return false;
  while (s.substr(i).starts_with(mark)) {
    if (digits(i + mark.size()) != 3) return false;
    i += mark.size() + 3;
  }
  if (i == s.size()) return true;
  return (s[i] == '.' || s[i] == ',') && i + 1 + digits(i + 1) == s.size();
}

enum class CellKind { kMissing, kValue, kText };  // kValue: number or time

CellKind kind_of(std::string_view cell, char delimiter) {
  if (is_missing(cell)) return CellKind::kMissing;
  char decimal = delimiter == ',' ? '.' : '\0';
  double value = 0;
  const NumberCell number = parse_number(cell, &decimal, &value);
  if (number != NumberCell::kNotNumber) return CellKind::kValue;
  return TimeColumnParser().add(cell) ? CellKind::kValue : CellKind::kText;
}

using Records = std::vector<std::vector<std::string>>;

Records sample_records(std::string_view sample, bool has_more, char delimiter) {
  constexpr std::size_t kMaxRecords = 200;
  Records records;
  Cells cells;
  std::size_t used = 0;
  while (!sample.empty() && records.size() < kMaxRecords) {
    if (sample[0] == '#') {
      sample.remove_prefix(std::min(sample.find_first_of("\r\n"), sample.size()));
      sample.remove_prefix(sample.empty() ? 0 : 1);
      continue;
    }
    if (cut_record(sample, delimiter, true, &cells, &used) != Cut::kRecord) break;
    sample.remove_prefix(used);
    if (sample.empty() && has_more && !records.empty()) break;
    if (std::all_of(cells.text.begin(), cells.text.end(), [](std::string_view c) { return c.empty(); })) continue;
    records.emplace_back(cells.text.begin(), cells.text.end());
  }
  return records;
}

// Header "value", rows "1,5": the commas are decimal ones.
bool is_one_column_with_decimal_commas(const Records& by_comma) {
  if (by_comma.size() < 2 || by_comma[0].size() != 1) return false;
  bool any = false;
  for (std::size_t r = 1; r < by_comma.size(); ++r) {
    const std::size_t n = by_comma[r].size();
    if (n > 2) return false;
    for (const std::string& cell : by_comma[r]) {
      if (kind_of(cell, ',') == CellKind::kText) return false;
    }
    any = any || n == 2;
  }
  return any;
}

// Share of records that have the commonest number of cells, 0 when that number is 1.
double agreement(const Records& records) {
  std::vector<std::size_t> sizes;
  for (const auto& r : records) sizes.push_back(r.size());
  std::sort(sizes.begin(), sizes.end());
  std::size_t best_size = 1, best_count = 0;
  for (std::size_t i = 0; i < sizes.size();) {
    std::size_t j = i;
    while (j < sizes.size() && sizes[j] == sizes[i]) ++j;
    if (j - i > best_count) {
      best_count = j - i;
      best_size = sizes[i];
    }
    i = j;
  }
  return best_size == 1 ? 0 : static_cast<double>(best_count) / static_cast<double>(sizes.size());
}

char find_delimiter(std::string_view sample, bool has_more) {
  if (is_one_column_with_decimal_commas(sample_records(sample, has_more, ','))) return ';';
  // Commas come last: they are also decimal marks and part of prose.
  char best = ',';
  double best_agreement = 0;
  for (char candidate : {'\t', ';', '|', ','}) {
    const double a = agreement(sample_records(sample, has_more, candidate));
    if (a > best_agreement) {
      best = candidate;
      best_agreement = a;
    }
  }
  return best;
}

bool find_header(const Records& records, char delimiter) {
  if (records.empty()) return true;
  bool first_has_value = false;
  for (std::size_t c = 0; c < records[0].size(); ++c) {
    const CellKind first = kind_of(records[0][c], delimiter);
    first_has_value = first_has_value || first == CellKind::kValue;
    if (first != CellKind::kText) continue;
    for (std::size_t r = 1; r < std::min<std::size_t>(records.size(), 20); ++r) {  // 20 rows: past a few missing cells
      if (c >= records[r].size()) continue;
      const CellKind below = kind_of(records[r][c], delimiter);
      if (below == CellKind::kValue) return true;  // a name above numbers
      if (below == CellKind::kText) break;
    }
  }
  return !first_has_value;
}

}  // namespace

Cut cut_record(std::string_view text, char delimiter, bool last, Cells* cells, std::size_t* used) {
  cells->text.clear();
  cells->unescaped.clear();
  cells->lines = 0;
  const std::size_t size = text.size();
  std::size_t i = 0;
  while (true) {
    std::size_t start = i;
    while (i < size && text[i] == ' ') ++i;
    if (i < size && text[i] == '"') {
      const std::size_t open = ++i;
      std::size_t close = 0;
      bool doubled = false;
      while (true) {
        if (i == size) return Cut::kOpenQuote;
        if (text[i] == '"') {
          if (i + 1 == size && !last) return Cut::kIncomplete;
          if (i + 1 == size || text[i + 1] != '"') break;
          doubled = true;
          ++i;
        } else if (text[i] == '\n' || (text[i] == '\r' && i + 1 < size && text[i + 1] != '\n')) {
          ++cells->lines;
        }
        ++i;
      }
      close = i++;
      const std::size_t tail = i;
      while (i < size && text[i] != delimiter && text[i] != '\n' && text[i] != '\r') ++i;
      std::string_view cell = text.substr(open, close - open);
      const std::string_view rest = trim(text.substr(tail, i - tail));
      if (doubled || !rest.empty()) {
        std::string plain;
        for (std::size_t k = 0; k < cell.size(); ++k) {
          plain += cell[k];
          if (cell[k] == '"') ++k;
        }
        cells->unescaped.push_back(plain.append(rest));
        cell = cells->unescaped.back();
      }
      cells->text.push_back(trim(cell));
    } else {
      while (i < size && text[i] != delimiter && text[i] != '\n' && text[i] != '\r') ++i;
      cells->text.push_back(trim(text.substr(start, i - start)));
    }
    if (i == size) {
      if (!last) return Cut::kIncomplete;
      *used = size;
      return Cut::kRecord;
    }
    if (text[i] == delimiter) {
      ++i;
      continue;
    }
    if (text[i] == '\r' && i + 1 == size && !last) return Cut::kIncomplete;  // LF may follow
    *used = i + (text[i] == '\r' && i + 1 < size && text[i + 1] == '\n' ? 2 : 1);
    ++cells->lines;
    return Cut::kRecord;
  }
}

std::string_view trim(std::string_view s) {
  while (std::size_t n = blank_at_front(s)) s.remove_prefix(n);
  while (std::size_t n = blank_at_back(s)) s.remove_suffix(n);
  return s;
}

bool is_missing(std::string_view cell) {
  if (cell.empty()) return true;
  if (cell.size() > 4 || is_digit(cell[0])) return false;
  for (std::string_view word : {"na", "n/a", "#n/a", "nan", "-nan", "null", "none", "-", "?"}) {
    if (equals_ignoring_case(cell, word)) return true;
  }
  return false;
}

NumberCell parse_number(std::string_view cell, char* decimal, double* value) {
  Parsed parsed = Parsed::kNo;
  if (*decimal != ',') parsed = parse_plain(cell, value);
  const bool has_comma = parsed == Parsed::kNo && cell.find(',') != std::string_view::npos;
  if (*decimal == ',' || (*decimal == 0 && has_comma)) {
    parsed = parse_with_comma(cell, value);
    if (parsed == Parsed::kOk && has_comma) *decimal = ',';
  } else if (*decimal == 0 && parsed == Parsed::kOk && cell.find('.') != std::string_view::npos) {
    *decimal = '.';
  }
  switch (parsed) {
    case Parsed::kOk: return NumberCell::kNumber;
    case Parsed::kTooLarge: return NumberCell::kTooLarge;
    case Parsed::kInfinite: return NumberCell::kInfinite;
    case Parsed::kNo: break;
  }
  if (has_thousands_marks(cell, *decimal)) return NumberCell::kThousands;
  const bool other = *decimal == ',' ? parse_plain(cell, value) == Parsed::kOk : parse_with_comma(cell, value) == Parsed::kOk;
  return other ? NumberCell::kOtherDecimal : NumberCell::kNotNumber;
}

Dialect find_dialect(std::string_view sample, bool has_more, char delimiter, std::optional<bool> header) {
  Dialect dialect;
  dialect.delimiter = delimiter != 0 ? delimiter : find_delimiter(sample, has_more);
  dialect.header = header ? *header : find_header(sample_records(sample, has_more, dialect.delimiter), dialect.delimiter);
  return dialect;
}

bool is_utf8(std::string_view text) {
  while (!text.empty()) {
    const Utf8Char c = first_char(text);
    if (c.kind != Utf8Char::kValid) return false;
    text.remove_prefix(c.bytes);
  }
  return true;
}

std::string to_utf8(std::string_view text) {
  if (is_utf8(text)) return std::string(text);
  std::string out;
  for (char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x80) {
      out += c;
    } else {
      out += static_cast<char>(0xC0 | (byte >> 6));
      out += static_cast<char>(0x80 | (byte & 0x3F));
    }
  }
  return out;
}

std::string excerpt(std::string_view cell) {
  constexpr std::size_t kMaxBytes = 40;
  std::string text = to_utf8(cell.substr(0, kMaxBytes + 4));
  const bool cut = text.size() > kMaxBytes;
  if (cut) {
    std::size_t end = kMaxBytes;
    while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80) --end;  // not inside a character
    text.resize(end);
  }
  for (char& c : text) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7F) c = ' ';
  }
  return "'" + text + (cut ? "…'" : "'");
}

}  // namespace tabgrad::csv
