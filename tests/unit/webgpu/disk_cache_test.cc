// The folder of compiled shaders: gives back what was stored, shrugs at damage, stays within its bound.
#include "backend/webgpu/native/disk_cache.h"

#include <gtest/gtest.h>

#include <fstream>
#include <string>
#include <thread>

namespace tabgrad::webgpu {
namespace {

namespace fs = std::filesystem;

class DiskCacheTest : public testing::Test {
 protected:
  DiskCacheTest() { fs::remove_all(folder_); }
  ~DiskCacheTest() override { fs::remove_all(folder_); }

  static DiskCache::Bytes bytes(const std::string& text) {
    return {reinterpret_cast<const std::uint8_t*>(text.data()), text.size()};
  }
  static std::string load(const DiskCache& cache, const std::string& key) {
    const std::vector<std::uint8_t> value = cache.load(bytes(key));
    return {value.begin(), value.end()};
  }
  std::vector<fs::path> files() const { return {fs::directory_iterator(folder_), fs::directory_iterator()}; }

  const std::string name_ = testing::UnitTest::GetInstance()->current_test_info()->name();
  const fs::path folder_ = fs::path(testing::TempDir()) / ("tabgrad-disk-cache-" + name_);
};

TEST_F(DiskCacheTest, GivesBackWhatWasStored) {
  const DiskCache cache(folder_ / "made", 1000);
  EXPECT_EQ(load(cache, "shader"), "");
  cache.store(bytes("shader"), bytes("binary"));
  cache.store(bytes("another"), bytes("thing"));
  EXPECT_EQ(load(cache, "shader"), "binary");
  cache.store(bytes("shader"), bytes("newer binary"));
  EXPECT_EQ(load(DiskCache(folder_ / "made", 1000), "shader"), "newer binary");
  EXPECT_EQ(load(cache, "another"), "thing");
}

TEST_F(DiskCacheTest, DamageIsAsIfNothingWasStored) {
  const DiskCache cache(folder_, 1000);
  cache.store(bytes("shader"), bytes("binary"));
  ASSERT_EQ(files().size(), 1u);
  const fs::path path = files()[0];
  std::string whole(fs::file_size(path), '\0');
  std::ifstream(path, std::ios::binary).read(whole.data(), static_cast<std::streamsize>(whole.size()));
  for (std::size_t at = 0; at < whole.size(); ++at) {
    std::string damaged = whole;
    damaged[at] = static_cast<char>(damaged[at] ^ 4);
    std::ofstream(path, std::ios::binary) << damaged;
    EXPECT_EQ(load(cache, "shader"), "") << at;
    std::ofstream(path, std::ios::binary) << whole.substr(0, at);
    EXPECT_EQ(load(cache, "shader"), "") << at;
  }
  cache.store(bytes("shader"), bytes("binary"));
  EXPECT_EQ(load(cache, "shader"), "binary");
}

TEST_F(DiskCacheTest, TheLongestUnusedGoFirst) {
  const std::string value(100, 'v');
  {
    const DiskCache cache(folder_, 1 << 20);
    for (int i = 0; i < 8; ++i) {
      cache.store(bytes(std::to_string(i)), bytes(value));
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    EXPECT_EQ(load(cache, "0"), value);  // used again
  }
  const DiskCache cache(folder_, 1000);  // each takes 133 bytes
  EXPECT_EQ(files().size(), 3u);
  EXPECT_EQ(load(cache, "0"), value);
  EXPECT_EQ(load(cache, "7"), value);
  EXPECT_EQ(load(cache, "1"), "");
}

TEST_F(DiskCacheTest, AFolderThatCannotBeIsNoError) {
  std::ofstream(folder_.string() + "-file") << "no folder";
  const DiskCache cache(folder_.string() + "-file", 1000), none({}, 1000);
  for (const DiskCache* c : {&cache, &none}) {
    c->store(bytes("shader"), bytes("binary"));
    EXPECT_EQ(load(*c, "shader"), "");
  }
  fs::remove(folder_.string() + "-file");
}

}  // namespace
}  // namespace tabgrad::webgpu
