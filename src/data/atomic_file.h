// Files on disk: read whole, read as CSV in chunks, written so that a crash or a full disk never leaves half a file.
//
// Does: everything the rest of src/data keeps out of its parsers. Does not exist for pages: WASM builds leave it out.
//
// Invariant: write_file_atomically either replaces the file by the whole new content or leaves what was there; the
// temporary file is in the same folder, synced before the rename, and removed on every failure.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "data/csv.h"

namespace tabgrad {

// Throws Error naming path and the system's reason.
void write_file_atomically(const std::string& path, std::string_view bytes);

// The whole file. Throws Error naming path and reason, or when it is larger than max_bytes.
std::string read_file(const std::string& path, std::uint64_t max_bytes = std::uint64_t{4} << 30);

// Gives the file's bytes to `take`, 1 MiB at a time. Throws Error naming path and reason.
void read_file_in_chunks(const std::string& path, const std::function<void(std::string_view)>& take);

// Reads 1 MiB at a time. options.name is set to the path when it is still "input".
Table read_csv_file(const std::string& path, CsvOptions options = {});

}  // namespace tabgrad
