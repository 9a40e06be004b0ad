#include "data/atomic_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <utility>
#include <vector>

#include "base/error.h"

namespace tabgrad {
namespace {

[[noreturn]] void fail_errno(const std::string& what, int error) {
  const char* advice = "";
  if (error == ENOSPC || error == EDQUOT) advice = " Free some space or choose another folder.";
  if (error == EACCES || error == EPERM || error == EROFS) advice = " Choose a place you may use.";
  if (error == ENOENT) advice = " Check the path.";
  fail(what, ": ", std::strerror(error), ".", advice);
}

// An open file descriptor that closes itself.
class File {
 public:
  explicit File(int fd) : fd_(fd) {}
  ~File() {
    if (fd_ >= 0) ::close(fd_);
  }
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  int fd() const { return fd_; }
  void reset(int fd) { fd_ = fd; }
  int close() { return ::close(std::exchange(fd_, -1)); }

 private:
  int fd_;
};

// A new file beside `path`, removed at the end unless kept.
class TemporaryFile {
 public:
  explicit TemporaryFile(const std::string& path) : file_(-1) {
    static std::atomic<unsigned> counter{0};
    for (int attempt = 0; attempt < 100; ++attempt) {  // a crashed process with our id may have left its own
      name_ = str(path, ".tmp-", ::getpid(), "-", counter++);
      const int fd = ::open(name_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
      if (fd >= 0 || errno != EEXIST) {
        if (fd < 0) fail_errno(path + ": cannot be written", errno);
        file_.reset(fd);
        return;
      }
    }
    fail(path, ": cannot be written: too many temporary files stand beside it. Delete ", path, ".tmp-*.");
  }
  ~TemporaryFile() {
    if (!kept_) ::unlink(name_.c_str());
  }
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;
  File& file() { return file_; }
  const std::string& name() const { return name_; }
  void keep() { kept_ = true; }

 private:
  std::string name_;
  File file_;
  bool kept_ = false;
};

std::string folder_of(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  return slash == std::string::npos ? "." : slash == 0 ? "/" : path.substr(0, slash);
}

int open_to_read(const std::string& path) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) fail_errno(path + ": cannot be opened", errno);
  struct stat info{};
  if (::fstat(fd, &info) == 0 && S_ISDIR(info.st_mode)) {
    ::close(fd);
    fail(path, ": is a folder, not a file.");
  }
  return fd;
}

// Bytes read, 0 at the end.
std::size_t read_some(int fd, char* out, std::size_t size, const std::string& path) {
  while (true) {
    const ssize_t n = ::read(fd, out, size);
    if (n >= 0) return static_cast<std::size_t>(n);
    if (errno != EINTR) fail_errno(path + ": cannot be read", errno);
  }
}

}  // namespace

void write_file_atomically(const std::string& path, std::string_view bytes) {
  TemporaryFile temporary(path);
  File& file = temporary.file();
  while (!bytes.empty()) {
    const ssize_t n = ::write(file.fd(), bytes.data(), bytes.size());
    if (n >= 0) {
      bytes.remove_prefix(static_cast<std::size_t>(n));
    } else if (errno != EINTR) {
      fail_errno(path + ": cannot be written", errno);
    }
  }
  if (::fsync(file.fd()) != 0 || file.close() != 0) fail_errno(path + ": cannot be written", errno);
  if (::rename(temporary.name().c_str(), path.c_str()) != 0) fail_errno(path + ": cannot be replaced", errno);
  temporary.keep();
  // The rename itself reaches the disk with its folder. Some file systems cannot sync a folder; the file is whole anyway.
  File folder(::open(folder_of(path).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (folder.fd() >= 0) ::fsync(folder.fd());
}

void read_file_in_chunks(const std::string& path, const std::function<void(std::string_view)>& take) {
  File file(open_to_read(path));
  std::vector<char> block(1 << 20);
  while (const std::size_t n = read_some(file.fd(), block.data(), block.size(), path)) take({block.data(), n});
}

std::string read_file(const std::string& path, std::uint64_t max_bytes) {
  std::string bytes;
  read_file_in_chunks(path, [&](std::string_view chunk) {
    if (bytes.size() + chunk.size() > max_bytes) fail(path, ": is larger than ", max_bytes, " bytes, the most that is read.");
    bytes.append(chunk);
  });
  return bytes;
}

Table read_csv_file(const std::string& path, CsvOptions options) {
  if (options.name == "input") options.name = path;
  CsvReader reader(std::move(options));
  read_file_in_chunks(path, [&](std::string_view chunk) { reader.feed(chunk); });
  return reader.finish();
}

}  // namespace tabgrad
