// The pieces of CSV: cutting records into cells, reading one cell, and finding a file's dialect from a sample.
//
// Does: pure functions on text in memory. Does not: keep columns or lines (data/csv.h does).
//
// Invariants: a quote opens a quoted cell only at the cell's start; inside it "" is one quote and line ends are text.
// Line ends are LF, CRLF or CR.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tabgrad::csv {

inline constexpr std::size_t kSampleBytes = 64 << 10;  // the dialect is found on these

struct Cells {
  std::vector<std::string_view> text;  // without quotes and surrounding blanks
  std::deque<std::string> unescaped;   // what cells with doubled quotes point into
  std::int64_t lines = 0;              // line ends in the record, its own included
};

enum class Cut { kRecord, kIncomplete, kOpenQuote };
// Cuts the first record off `text`. last: no text comes after this, so its end ends the record. kIncomplete and
// kOpenQuote: more text is needed. On kRecord, *used is the record's bytes with its line end.
Cut cut_record(std::string_view text, char delimiter, bool last, Cells* cells, std::size_t* used);

std::string_view trim(std::string_view text);  // spaces, tabs, no-break spaces (U+00A0)
bool is_missing(std::string_view cell);        // blank, NA, N/A, #N/A, NaN, null, none, -, ?

enum class NumberCell { kNumber, kNotNumber, kTooLarge, kInfinite, kThousands, kOtherDecimal };
// decimal: '.' or ','; 0 is undecided, and a cell that shows which it is sets it.
NumberCell parse_number(std::string_view cell, char* decimal, double* value);

struct Dialect {
  char delimiter = ',';
  bool header = true;
};
// From the whole records of the sample. Fields that are set (delimiter ≠ 0, header) are the user's word.
// has_more: the sample is not the whole file, so its last record may be cut short.
Dialect find_dialect(std::string_view sample, bool has_more, char delimiter, std::optional<bool> header);

// A cell for a message: at most 40 bytes, in quotes, control characters and broken UTF-8 replaced.
std::string excerpt(std::string_view cell);
bool is_utf8(std::string_view text);
// Valid UTF-8 as it is; anything else is taken as Latin-1.
std::string to_utf8(std::string_view text);

}  // namespace tabgrad::csv
