// safetensors in memory (round trips, hostile headers) and files on disk.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <bit>
#include <cmath>
#include <csignal>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <random>
#include <string>
#include <vector>

#include "base/error.h"
#include "data/atomic_file.h"
#include "data/safetensors.h"
#include "unit/data/error_of.h"

namespace tabgrad {
namespace {

using testing::HasSubstr;

std::string with_header(const std::string& header, const std::string& data) {
  const std::uint64_t n = header.size();
  std::string bytes(8, '\0');
  std::memcpy(bytes.data(), &n, 8);
  return bytes + header + data;
}

TEST(Safetensors, RoundTrip) {
  const NamedTensors tensors = {{"w", HostTensor::of({2, 3}, {1, -2, 3.5f, 0, NAN, INFINITY})},
                                {"ids", HostTensor::of_ids({2}, {-7, 1 << 30})},
                                {"scalar", HostTensor::of({}, {42})},
                                {"nothing", HostTensor::of({0, 4}, {})},
                                {"naïve \"name\"", HostTensor::of({1}, {1})}};
  const std::string bytes = write_safetensors(tensors, {{"format", "tabgrad"}, {"note", "ü"}});
  std::uint64_t header = 0;
  std::memcpy(&header, bytes.data(), 8);
  EXPECT_EQ(header % 8, 0u);
  const Safetensors file = read_safetensors(bytes, "m");
  EXPECT_EQ(file.metadata.at("note"), "ü");
  ASSERT_EQ(file.tensors.size(), tensors.size());
  for (const auto& [name, tensor] : tensors) {
    const auto it = std::find_if(file.tensors.begin(), file.tensors.end(), [&](const auto& t) { return t.first == name; });
    ASSERT_NE(it, file.tensors.end()) << name;
    EXPECT_EQ(it->second.dims, tensor.dims);
    EXPECT_EQ(it->second.i32, tensor.i32);
    ASSERT_EQ(it->second.f32.size(), tensor.f32.size());
    if (tensor.f32.empty()) continue;
    EXPECT_EQ(std::memcmp(it->second.f32.data(), tensor.f32.data(), 4 * tensor.f32.size()), 0);  // NaN too
  }
  EXPECT_TRUE(read_safetensors(write_safetensors({}), "m").tensors.empty());
  EXPECT_THROW(write_safetensors({{"a", HostTensor::of({}, {1})}, {"a", HostTensor::of({}, {1})}}), Error);
  EXPECT_THROW(write_safetensors({{"__metadata__", HostTensor::of({}, {1})}}), Error);
  EXPECT_THROW(write_safetensors({{"\xFF", HostTensor::of({}, {1})}}), Error);
}

TEST(Safetensors, ConvertsOtherFloats) {
  const auto read = [](const char* type, const void* data, std::size_t bytes, int n) {
    const std::string header = str(R"({"t":{"dtype":")", type, R"(","shape":[)", n, R"(],"data_offsets":[0,)", bytes, "]}}");
    return read_safetensors(with_header(header, std::string(static_cast<const char*>(data), bytes)), "m").tensors[0].second.f32;
  };
  const double doubles[] = {0.1, -1e300};
  EXPECT_EQ(read("F64", doubles, 16, 2), (std::vector<float>{0.1f, -INFINITY}));
  const std::uint16_t bf16[] = {0x3F80, 0xC000};
  EXPECT_EQ(read("BF16", bf16, 4, 2), (std::vector<float>{1, -2}));
  const std::uint16_t f16[] = {0x3C00, 0xC000, 0x0001, 0x8000, 0x7BFF, 0x7C00, 0x03FF, 0x0400};
  EXPECT_EQ(read("F16", f16, 16, 8), (std::vector<float>{1, -2, 0x1p-24f, -0.0f, 65504, INFINITY, 1023 * 0x1p-24f, 0x1p-14f}));
  const std::uint16_t nan16[] = {0x7E00};
  EXPECT_TRUE(std::isnan(read("F16", nan16, 2, 1)[0]));
}

TEST(Safetensors, RefusesDamage) {
  const std::string four(4, '\0'), eight(8, '\0');
  const auto refusal = [](const std::string& bytes) { return error_of([&] { read_safetensors(bytes, "m.safetensors"); }); };
  EXPECT_THAT(refusal(""), HasSubstr("m.safetensors: has 0 bytes"));
  EXPECT_THAT(refusal(std::string(8, '\xFF')), HasSubstr("claims a header"));
  EXPECT_THAT(refusal(with_header("{", "")), HasSubstr("no valid JSON"));
  EXPECT_THAT(refusal(with_header("[]", "")), HasSubstr("no valid JSON"));
  EXPECT_THAT(refusal(with_header("{\"\xFF\":1}", "")), HasSubstr("no valid JSON"));
  EXPECT_THAT(refusal(with_header(R"({"a":[[[[[[1]]]]]]})", "")), HasSubstr("nested"));
  EXPECT_THAT(refusal(with_header("{\"a\":" + std::string(100000, '['), "")), HasSubstr("nested"));
  EXPECT_THAT(refusal(with_header(R"({"a":1})", "")), HasSubstr("tensor 'a' does not have exactly"));
  EXPECT_THAT(refusal(with_header(R"({"__metadata__":{"a":1}})", "")), HasSubstr("metadata 'a' is no text"));
  EXPECT_THAT(refusal(with_header(R"({"__metadata__":[]})", "")), HasSubstr("metadata"));
  const auto one = [](const char* dtype, const char* shape, const char* offsets) {
    return str(R"({"a":{"dtype":)", dtype, R"(,"shape":)", shape, R"(,"data_offsets":)", offsets, "}}");
  };
  EXPECT_EQ(refusal(with_header(one(R"("F32")", "[1]", "[0,4]"), four)), "no error");
  EXPECT_THAT(refusal(with_header(one(R"("I64")", "[1]", "[0,8]"), eight)), HasSubstr("is of type 'I64'"));
  EXPECT_THAT(refusal(with_header(one("7", "[1]", "[0,4]"), four)), HasSubstr("is of type ?"));
  EXPECT_THAT(refusal(with_header(one(R"("F32")", "[2]", "[0,4]"), four)), HasSubstr("has 4 bytes for shape (2)"));
  EXPECT_THAT(refusal(with_header(one(R"("F32")", "[-1]", "[0,4]"), four)), HasSubstr("whole number"));
  EXPECT_THAT(refusal(with_header(one(R"("F32")", "[1.0]", "[0,4]"), four)), HasSubstr("whole number"));
  EXPECT_THAT(refusal(with_header(one(R"("F32")", "1", "[0,4]"), four)), HasSubstr("not a list"));
  EXPECT_THAT(refusal(with_header(one(R"("F32")", "[4294967296,4294967296,4294967296]", "[0,4]"), four)),
              HasSubstr("too large"));
  EXPECT_THAT(refusal(with_header(one(R"("F32")", "[18446744073709551615]", "[0,4]"), four)), HasSubstr("too large"));
  EXPECT_THAT(refusal(with_header(one(R"("F32")", "[1]", "[0,8]"), four)), HasSubstr("lies at bytes 0 to 8 of 4"));
  EXPECT_THAT(refusal(with_header(one(R"("F32")", "[1]", "[4,0]"), four)), HasSubstr("lies at bytes"));
  EXPECT_THAT(refusal(with_header(one(R"("F32")", "[1]", "[0]"), four)), HasSubstr("not a pair"));
  EXPECT_THAT(refusal(with_header(one(R"("F32")", "[1]", "[0,4]"), eight)), HasSubstr("4 bytes at the end"));
  EXPECT_THAT(refusal(with_header(one(R"("F32")", "[1]", "[4,8]"), eight)), HasSubstr("hole"));
  const std::string t = R"({"dtype":"F32","shape":[1],"data_offsets":[0,4]})";
  EXPECT_THAT(refusal(with_header(R"({"a":)" + t + R"(,"b":)" + t + "}", four)), HasSubstr("overlaps"));
  EXPECT_THAT(refusal(with_header(R"({"a":)" + t + R"(,"a":)" + t + "}", four)), HasSubstr("comes twice"));
}

TEST(Safetensors, EveryCutAndFlippedByteIsAnErrorOrTensors) {
  const std::string bytes =
      write_safetensors({{"w", HostTensor::of({2, 2}, {1, 2, 3, 4})}, {"i", HostTensor::of_ids({1}, {5})}}, {{"k", "v"}});
  for (std::size_t n = 0; n < bytes.size(); ++n)
    EXPECT_THROW(read_safetensors(std::string_view(bytes).substr(0, n), "m"), Error);
  std::mt19937 random(1);
  for (int trial = 0; trial < 5000; ++trial) {
    std::string broken = bytes;
    for (int flips = 0; flips < 2; ++flips) broken[random() % broken.size()] = static_cast<char>(random());
    try {
      read_safetensors(broken, "m");
    } catch (const Error&) {
    }
  }
}

class Files : public testing::Test {
 protected:
  void SetUp() override {
    std::string name = testing::TempDir() + "tabgrad-XXXXXX";
    ASSERT_NE(::mkdtemp(name.data()), nullptr);
    folder_ = name;
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  std::size_t count() const {
    return static_cast<std::size_t>(
        std::distance(std::filesystem::directory_iterator(folder_), std::filesystem::directory_iterator()));
  }
  std::filesystem::path folder_;
};

TEST_F(Files, AreReplacedWhole) {
  const std::string path = folder_ / "model.bin";
  write_file_atomically(path, "first");
  write_file_atomically(path, std::string(3'000'000, 'x'));
  EXPECT_EQ(read_file(path), std::string(3'000'000, 'x'));
  write_file_atomically(path, "");
  EXPECT_EQ(read_file(path), "");
  EXPECT_EQ(count(), 1u);
  const mode_t mask = ::umask(0);
  ::umask(mask);
  EXPECT_EQ(static_cast<unsigned>(std::filesystem::status(path).permissions()), 0666u & ~mask);
}

TEST_F(Files, FailuresNameThePathAndLeaveNothing) {
  const std::string path = folder_ / "model.bin";
  write_file_atomically(path, "old");
  EXPECT_THAT(error_of([&] { write_file_atomically(folder_ / "none" / "f", "x"); }),
              HasSubstr("none/f: cannot be written: No such file"));
  std::filesystem::create_directory(folder_ / "taken");
  EXPECT_THAT(error_of([&] { write_file_atomically(folder_ / "taken", "x"); }), HasSubstr("taken: cannot be replaced"));
  EXPECT_EQ(count(), 2u);
  EXPECT_THAT(error_of([&] { read_file(folder_ / "none"); }), HasSubstr("cannot be opened"));
  EXPECT_THAT(error_of([&] { read_file(folder_ / "taken"); }), HasSubstr("is a folder"));
  EXPECT_THAT(error_of([&] { read_file(path, 2); }), HasSubstr("larger than 2 bytes"));
}

TEST_F(Files, AFullDiskKeepsTheOldFile) {  // the limit on a file's size stands in for the disk's
  const std::string path = folder_ / "model.bin";
  write_file_atomically(path, "old");
  rlimit old_limit{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &old_limit), 0);
  const auto old_handler = std::signal(SIGXFSZ, SIG_IGN);
  const rlimit small{100'000, old_limit.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &small), 0);
  const std::string message = error_of([&] { write_file_atomically(path, std::string(1'000'000, 'x')); });
  ::setrlimit(RLIMIT_FSIZE, &old_limit);
  std::signal(SIGXFSZ, old_handler);
  EXPECT_THAT(message, HasSubstr("model.bin: cannot be written: File too large"));
  EXPECT_EQ(read_file(path), "old");
  EXPECT_EQ(count(), 1u);
}

TEST_F(Files, ACsvFileIsReadInPieces) {
  const std::string path = folder_ / "long.csv";
  std::string text = "x,y\n";
  for (int i = 0; i < 300000; ++i) text += str(i, ",", i % 7, "\n");
  write_file_atomically(path, text);
  const Table table = read_csv_file(path);
  EXPECT_EQ(table.num_rows, 300000);
  EXPECT_EQ(table.columns[0].values.back(), 299999);
  write_file_atomically(path, "a,b\n1\n");
  EXPECT_THAT(error_of([&] { read_csv_file(path); }), HasSubstr(path + ": row 2 has 1 cell"));
}

}  // namespace
}  // namespace tabgrad
