#include "backend/webgpu/native/disk_cache.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <initializer_list>
#include <string>
#include <system_error>

#include "base/error.h"
#include "base/flags.h"
#include "base/fnv.h"

namespace tabgrad::webgpu {
namespace {

namespace fs = std::filesystem;

// Training GPT tiny leaves 4 MB, the whole table of ops 142 MB.
constexpr std::uint64_t kMaxBytes = 256u << 20;

// A file: this, key, value.
struct Header {
  std::array<char, 8> magic{'t', 'g', 'c', 'a', 'c', 'h', 'e', '1'};
  std::uint64_t key_bytes = 0, value_bytes = 0, check = 0;  // check: of key and value
};

std::uint64_t hash_of(std::initializer_list<DiskCache::Bytes> parts) {
  Fnv1a hash;
  for (const DiskCache::Bytes part : parts) hash.bytes({reinterpret_cast<const char*>(part.data()), part.size()});
  return hash.value();
}

std::vector<std::uint8_t> read_all(const fs::path& path) {
  std::error_code error;
  const std::uintmax_t size = fs::file_size(path, error);
  if (error || size > kMaxBytes) return {};
  std::vector<std::uint8_t> bytes(size);
  std::ifstream file(path, std::ios::binary);
  if (!file.read(reinterpret_cast<char*>(bytes.data()), static_cast<std::streamsize>(size))) return {};
  return bytes;
}

void remove_oldest(const fs::path& folder, std::uint64_t max_bytes) {
  struct Kept {
    fs::file_time_type used;
    std::uint64_t bytes;
    fs::path path;
  };
  std::vector<Kept> files;
  std::uint64_t total = 0;
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, error)) {
    std::error_code gone;
    const Kept file{entry.last_write_time(gone), entry.file_size(gone), entry.path()};
    if (gone) continue;
    total += file.bytes;
    files.push_back(file);
  }
  if (total <= max_bytes) return;
  std::ranges::sort(files, {}, &Kept::used);
  for (const Kept& file : files) {
    if (total <= max_bytes / 2) return;
    fs::remove(file.path, error);
    total -= file.bytes;
  }
}

}  // namespace

DiskCache::DiskCache(fs::path folder, std::uint64_t max_bytes) : folder_(std::move(folder)) {
  if (folder_.empty()) return;
  std::error_code error;
  fs::create_directories(folder_, error);
  if (error) {
    folder_.clear();
  } else {
    remove_oldest(folder_, max_bytes);
  }
}

DiskCache DiskCache::of_user() {
  const std::string named = flags::cache();
  if (named == "off") return {{}, 0};
  fs::path folder = named;
  const auto variable = [](const char* name) {
    const char* value = std::getenv(name);
    return fs::path(value ? value : "");
  };
  if (folder.empty() && !variable("XDG_CACHE_HOME").empty()) folder = variable("XDG_CACHE_HOME") / "tabgrad";
  if (folder.empty() && !variable("HOME").empty()) folder = variable("HOME") / ".cache/tabgrad";
  return {folder.empty() ? folder : folder / "webgpu", kMaxBytes};
}

fs::path DiskCache::file_of(Bytes key) const {
  std::array<char, 17> name;
  std::snprintf(name.data(), name.size(), "%016llx", static_cast<unsigned long long>(hash_of({key})));
  return folder_ / name.data();
}

std::vector<std::uint8_t> DiskCache::load(Bytes key) const {
  if (folder_.empty()) return {};
  const fs::path path = file_of(key);
  const std::vector<std::uint8_t> bytes = read_all(path);
  Header header;
  if (bytes.size() < sizeof header) return {};
  std::memcpy(&header, bytes.data(), sizeof header);
  const Bytes rest = Bytes(bytes).subspan(sizeof header);
  if (header.magic != Header{}.magic || header.key_bytes != key.size() || header.key_bytes > rest.size() ||
      header.value_bytes != rest.size() - header.key_bytes || header.check != hash_of({rest}) ||
      !std::ranges::equal(key, rest.first(key.size())))
    return {};
  std::error_code error;
  fs::last_write_time(path, fs::file_time_type::clock::now(), error);  // used just now
  const Bytes value = rest.subspan(key.size());
  return {value.begin(), value.end()};
}

void DiskCache::store(Bytes key, Bytes value) const {
  if (folder_.empty()) return;
  static std::atomic<unsigned> number = 0;
  const fs::path path = file_of(key), fresh = path.string() + str(".", getpid(), ".", number++);
  const Header header{.key_bytes = key.size(), .value_bytes = value.size(), .check = hash_of({key, value})};
  std::ofstream file(fresh, std::ios::binary);
  for (const Bytes part : {Bytes(reinterpret_cast<const std::uint8_t*>(&header), sizeof header), key, value})
    file.write(reinterpret_cast<const char*>(part.data()), static_cast<std::streamsize>(part.size()));
  file.close();
  std::error_code error;
  if (file) fs::rename(fresh, path, error);
  if (!file || error) fs::remove(fresh, error);
}

}  // namespace tabgrad::webgpu
