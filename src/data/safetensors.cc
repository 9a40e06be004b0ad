#include "data/safetensors.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>
#include <vector>

#include "base/error.h"
#include "data/csv_dialect.h"
#include "data/strict_json.h"

namespace tabgrad {
namespace {

using nlohmann::json;

static_assert(std::endian::native == std::endian::little, "the data is copied as it is in the file");

constexpr std::uint64_t kMaxHeaderBytes = 100'000'000;  // the format's own limit
constexpr int kMaxJsonDepth = 4;                        // header, tensor, shape; deeper is no safetensors header
constexpr const char* kMetadataKey = "__metadata__";

struct FileType {
  const char* name;
  std::uint64_t bytes;
};
constexpr FileType kTypes[] = {{"F32", 4}, {"I32", 4}, {"F64", 8}, {"F16", 2}, {"BF16", 2}};

struct Entry {
  std::string name;
  FileType type{};
  Dims dims;
  std::uint64_t elements = 0, begin = 0, end = 0;
};

std::string quoted(const std::string& name) { return csv::excerpt(name); }

float half_to_float(std::uint16_t half) {
  const std::uint32_t sign = std::uint32_t{half & 0x8000u} << 16;
  const std::uint32_t exponent = (half >> 10) & 0x1Fu, mantissa = half & 0x3FFu;
  if (exponent == 0) {  // zero or subnormal: mantissa·2⁻²⁴, exact in float
    const float value = std::ldexp(static_cast<float>(mantissa), -24);
    return sign != 0 ? -value : value;
  }
  const std::uint32_t float_exponent = exponent == 31 ? 255 : exponent + 112;  // 127 - 15
  return std::bit_cast<float>(sign | (float_exponent << 23) | (mantissa << 13));
}

template <typename T>
T load(const char* at) {
  T value;
  std::memcpy(&value, at, sizeof value);
  return value;
}

std::uint64_t unsigned_of(const json& value, const std::string& where) {
  if (!value.is_number_unsigned()) fail(where, " is not a whole number from 0. The file is damaged.");
  return value.get<std::uint64_t>();
}

Entry read_entry(const std::string& file, const std::string& name, const json& value, std::uint64_t data_bytes) {
  const std::string where = str(file, ": tensor ", quoted(name));
  Entry entry;
  entry.name = name;
  if (!value.is_object() || value.size() != 3 || !value.contains("dtype") || !value.contains("shape") ||
      !value.contains("data_offsets")) {
    fail(where, " does not have exactly dtype, shape and data_offsets. The file is damaged.");
  }
  const json &dtype = value["dtype"], &shape = value["shape"], &offsets = value["data_offsets"];
  const FileType* type = std::find_if(std::begin(kTypes), std::end(kTypes), [&](const FileType& t) { return dtype == t.name; });
  if (type == std::end(kTypes)) {
    fail(where, " is of type ", dtype.is_string() ? quoted(dtype.get<std::string>()) : "?",
         "; F32, I32, F64, F16 and BF16 can be read. Convert the file.");
  }
  entry.type = *type;
  if (!shape.is_array()) fail(where, ": the shape is not a list. The file is damaged.");
  entry.elements = 1;
  for (const json& size : shape) {
    const std::uint64_t n = unsigned_of(size, where + ": a size in its shape");
    // Sizes are held to what the data could carry, so that no product overflows; a zero size ends all doubt.
    if (n > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max()))
      fail(where, ": the shape is too large. The file is damaged.");
    if (n != 0 && entry.elements > std::numeric_limits<std::int64_t>::max() / n)
      fail(where, ": the shape is too large. The file is damaged.");
    entry.elements *= n;
    entry.dims.push_back(static_cast<std::int64_t>(n));
  }
  if (!offsets.is_array() || offsets.size() != 2) fail(where, ": data_offsets is not a pair. The file is damaged.");
  entry.begin = unsigned_of(offsets[0], where + ": an offset");
  entry.end = unsigned_of(offsets[1], where + ": an offset");
  if (entry.begin > entry.end || entry.end > data_bytes) {
    fail(where, " lies at bytes ", entry.begin, " to ", entry.end, " of ", data_bytes, ". The file is damaged or cut short.");
  }
  const std::uint64_t bytes = entry.end - entry.begin;
  if (bytes % entry.type.bytes != 0 || bytes / entry.type.bytes != entry.elements) {
    fail(where, " has ", bytes, " bytes for shape ", to_string(entry.dims), " of ", entry.type.name, ". The file is damaged.");
  }
  return entry;
}

HostTensor read_tensor(const Entry& entry, const char* data) {
  HostTensor tensor;
  tensor.dims = entry.dims;
  const std::size_t n = static_cast<std::size_t>(entry.elements);
  const std::string_view type = entry.type.name;
  if (type == "I32") {
    tensor.dtype = DType::kI32;
    tensor.i32.resize(n);
    if (n > 0) std::memcpy(tensor.i32.data(), data, n * 4);
    return tensor;
  }
  tensor.f32.resize(n);
  if (type == "F32") {
    if (n > 0) std::memcpy(tensor.f32.data(), data, n * 4);
    return tensor;
  }
  for (std::size_t i = 0; i < n; ++i) {
    if (type == "F64") {
      tensor.f32[i] = static_cast<float>(load<double>(data + 8 * i));
    } else if (type == "F16") {
      tensor.f32[i] = half_to_float(load<std::uint16_t>(data + 2 * i));
    } else {
      tensor.f32[i] = std::bit_cast<float>(std::uint32_t{load<std::uint16_t>(data + 2 * i)} << 16);
    }
  }
  return tensor;
}

}  // namespace

std::string write_safetensors(const NamedTensors& tensors, const std::map<std::string, std::string>& metadata) {
  json header = json::object();
  if (!metadata.empty()) header[kMetadataKey] = metadata;
  std::uint64_t offset = 0;
  std::set<std::string> names;
  for (const auto& [name, tensor] : tensors) {
    if (name == kMetadataKey || !names.insert(name).second) fail("Tensor name ", quoted(name), " is reserved or used twice.");
    const std::uint64_t bytes = static_cast<std::uint64_t>(storage_words(tensor.dtype, tensor.size())) * 4;
    header[name] = {{"dtype", tensor.dtype == DType::kI32 ? "I32" : "F32"},
                    {"shape", tensor.dims},
                    {"data_offsets", {offset, offset + bytes}}};
    offset += bytes;
  }
  std::string text;
  try {
    text = header.dump();
  } catch (const json::exception&) {
    fail("A tensor name or metadata text is not valid UTF-8.");
  }
  text.resize((text.size() + 7) / 8 * 8, ' ');  // the format pads the header with blanks
  const std::uint64_t header_bytes = text.size();
  std::string out;
  out.reserve(8 + text.size() + offset);
  out.append(reinterpret_cast<const char*>(&header_bytes), 8);
  out += text;
  for (const auto& [name, tensor] : tensors) {
    const bool ids = tensor.dtype == DType::kI32;
    const std::size_t n = ids ? tensor.i32.size() : tensor.f32.size();
    TG_CHECK(static_cast<std::int64_t>(n) == tensor.size());
    const void* data = ids ? static_cast<const void*>(tensor.i32.data()) : tensor.f32.data();
    if (n > 0) out.append(static_cast<const char*>(data), n * 4);
  }
  return out;
}

Safetensors read_safetensors(std::string_view bytes, const std::string& name) {
  if (bytes.size() < 8) fail(name, ": has ", bytes.size(), " bytes, too few for a safetensors file.");
  // Eight bytes, checked above; not text.
  const std::uint64_t header_bytes = load<std::uint64_t>(bytes.data());  // NOLINT(bugprone-suspicious-stringview-data-usage)
  if (header_bytes > kMaxHeaderBytes || header_bytes > bytes.size() - 8) {
    fail(name, ": claims a header of ", header_bytes, " bytes and has ", bytes.size() - 8,
         ". The file is cut short or no safetensors file.");
  }
  const std::string_view header_text = bytes.substr(8, header_bytes);
  const json header = parse_strict_json(header_text, name + ": the header", kMaxJsonDepth);
  const std::string_view data = bytes.substr(8 + header_bytes);

  Safetensors file;
  std::vector<Entry> entries;
  for (const auto& [key, value] : header.items()) {
    if (key != kMetadataKey) {
      entries.push_back(read_entry(name, key, value, data.size()));
      continue;
    }
    if (!value.is_object()) fail(name, ": the metadata is no list of texts. The file is damaged.");
    for (const auto& [word, text] : value.items()) {
      if (!text.is_string()) fail(name, ": metadata ", quoted(word), " is no text. The file is damaged.");
      file.metadata[word] = text.get<std::string>();
    }
  }
  std::stable_sort(entries.begin(), entries.end(),
                   [](const Entry& a, const Entry& b) { return std::pair(a.begin, a.end) < std::pair(b.begin, b.end); });
  std::uint64_t covered = 0;
  for (const Entry& entry : entries) {
    if (entry.begin != covered) {
      fail(name, ": tensor ", quoted(entry.name),
           entry.begin < covered ? " overlaps the one before it" : " leaves a hole before it", ". The file is damaged.");
    }
    covered = entry.end;
  }
  if (covered != data.size())
    fail(name, ": ", data.size() - covered, " bytes at the end belong to no tensor. The file is damaged.");
  for (const Entry& entry : entries) file.tensors.emplace_back(entry.name, read_tensor(entry, data.data() + entry.begin));
  return file;
}

}  // namespace tabgrad
