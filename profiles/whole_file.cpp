#include "heddle/profiles/whole_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <string>
#include <system_error>

#include "heddle/kernels/error.hpp"

namespace heddle {

namespace {

/// A temporary file in the folder of another; gone when this ends unless it was renamed.
class TemporaryFile {
 public:
  explicit TemporaryFile(const std::filesystem::path& beside)
      : target_(beside), name_(beside.string() + ".XXXXXX"), descriptor_(::mkostemp(name_.data(), O_CLOEXEC)) {
    if (descriptor_ < 0) fail();
    // mkstemp's 0600 would surprise whoever shares the folder; what open() would have given is 0666 less the umask.
    const mode_t mask = ::umask(0);
    ::umask(mask);
    if (::fchmod(descriptor_, 0666 & ~mask) != 0) fail_and_remove();
  }
  ~TemporaryFile() {
    if (descriptor_ >= 0) ::close(descriptor_);
    if (!renamed_) ::unlink(name_.c_str());
  }
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;

  void write(std::string_view bytes) {
    while (!bytes.empty()) {
      const ssize_t written = ::write(descriptor_, bytes.data(), bytes.size());
      if (written < 0 && errno == EINTR) continue;
      if (written <= 0) fail();
      bytes.remove_prefix(static_cast<std::size_t>(written));
    }
    if (::fsync(descriptor_) != 0) fail();
  }

  void rename() {
    if (::rename(name_.c_str(), target_.c_str()) != 0) fail();
    renamed_ = true;
  }

 private:
  [[noreturn]] void fail() const {
    throw Error(ErrorKind::input, fmt::format("{}: cannot be written: {}", target_.string(),
                                              std::generic_category().message(errno)));
  }
  [[noreturn]] void fail_and_remove() const {
    const int reason = errno;
    ::close(descriptor_);
    ::unlink(name_.c_str());
    errno = reason;
    fail();
  }

  std::filesystem::path target_;
  std::string name_;
  int descriptor_;
  bool renamed_ = false;
};

}  // namespace

void write_whole(const std::filesystem::path& file, std::string_view bytes) {
  TemporaryFile temporary(file);
  temporary.write(bytes);
  temporary.rename();
}

}  // namespace heddle
