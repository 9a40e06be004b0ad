// CSV reader for the shell and the page: text in chunks in, typed columns out.
//
// Does: finds byte-order mark, delimiter, decimal comma, header and missing cells by itself, or takes the user's word;
// types each column as number, time or text. Does not: open files (data/atomic_file.h does), keep the text, keep the cells
// of text columns, or decode UTF-16 (refused with advice).
//
// Invariants:
// - Memory beyond the columns (8 bytes a cell) is one record and the sample that the dialect is found on (64 KiB).
// - The result does not depend on how the text is cut into chunks.
// - Rows in messages are lines of the file, from 1.
// - Broken structure (ragged rows, an open quote) throws at once. A bad cell only spoils its column: the Error comes when
//   that column is asked for, so that an unused column of notes never stops anyone.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "data/time.h"

namespace tabgrad {

struct CsvOptions {
  std::string name = "input";       // the file's name, for messages
  char delimiter = 0;               // ',', ';', '\t' or '|'; 0: found in the text
  char decimal = 0;                 // '.' or ','; 0: found in the text
  std::optional<bool> header{};     // whether the first row holds names; nullopt: found in the text
  std::optional<bool> day_first{};  // how 01/02/2020 is read; nullopt: decided by the column
};

enum class ColumnKind { kEmpty, kNumber, kTime, kText };  // kEmpty: every cell is missing
const char* column_kind_name(ColumnKind kind);

struct Column {
  std::string name;  // valid UTF-8, unique in its table
  ColumnKind kind = ColumnKind::kEmpty;
  TimeFormat time_format = TimeFormat::kIso;  // when kind is kTime
  std::vector<double> values;                 // numbers, or seconds (data/time.h); NaN where missing; empty for kText
  std::int64_t missing = 0;
  std::string problem;  // why the column cannot be used as numbers or times, with row and cell; empty if it can
};

struct Table {
  std::string source;  // CsvOptions::name
  std::vector<Column> columns;
  std::int64_t num_rows = 0;
  char delimiter = ',';
  char decimal = '.';
  bool has_header = true;
  std::vector<std::string> notices;  // plain sentences for the user: what was guessed, skipped or renamed

  // The file's line of record `row` (from 0).
  std::int64_t line_of(std::int64_t row) const;
  // nullptr when there is none of that name.
  const Column* find(std::string_view name) const;
  // Throws Error that lists the columns when there is none of that name.
  const Column& existing_column(std::string_view name) const;
  // The column, all of whose cells are numbers or missing. Throws Error naming file, row, cell and what to do.
  const Column& number_column(std::string_view name) const;

  // (record, line) wherever the line is not the one after the record before it.
  std::vector<std::pair<std::int64_t, std::int64_t>> line_jumps;
};

class CsvReader {
 public:
  explicit CsvReader(CsvOptions options);
  ~CsvReader();
  CsvReader(const CsvReader&) = delete;
  CsvReader& operator=(const CsvReader&) = delete;

  // Throws Error on broken structure; the reader is of no use afterwards.
  void feed(std::string_view chunk);
  // Ends the text. Throws Error on an empty file, a header without rows, an open quote.
  Table finish();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

Table read_csv(std::string_view text, CsvOptions options = {});

}  // namespace tabgrad
