#include "heddle/kernels/line_file.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

#include "heddle/kernels/error.hpp"
#include "heddle/kernels/files.hpp"

namespace heddle {

LineFile::LineFile(std::filesystem::path file, std::string_view beginning, Stop stop)
    : file_(std::move(file)), stop_(std::move(stop)) {
  // Reading tells what the file is. A pipe is opened for writing alone, without waiting for a reader.
  struct stat status = {};
  plain_ = stat(file_.c_str(), &status) != 0 || S_ISREG(status.st_mode);
  const int access = plain_ ? O_RDWR | O_CREAT | O_APPEND : O_WRONLY | O_NONBLOCK | O_NOCTTY;
  descriptor_ = open(file_.c_str(), access | O_CLOEXEC, 0666);
  if (descriptor_ < 0) fail(errno == ENXIO ? "no program reads it" : std::strerror(errno));
  try {
    if (!plain_) return;
    // File systems without locks are written to all the same.
    if (flock(descriptor_, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) fail("another process writes it");
    check_beginning(beginning);
    cut_unfinished_line();
  } catch (...) {
    close(descriptor_);
    throw;
  }
}

LineFile::~LineFile() { close(descriptor_); }

void LineFile::check_beginning(std::string_view beginning) {
  std::string found(beginning.size(), '\0');
  const ssize_t count = pread(descriptor_, found.data(), found.size(), 0);
  if (count < 0) fail(std::strerror(errno));
  found.resize(static_cast<std::size_t>(count));
  // A process that was killed in its first line has left less.
  if (!beginning.starts_with(found)) fail("there is something else in it, expected a new file or an earlier log");
}

void LineFile::cut_unfinished_line() {
  struct stat status = {};
  if (fstat(descriptor_, &status) != 0) fail(std::strerror(errno));
  off_t end = status.st_size;
  std::array<char, 4096> block{};
  while (end > 0) {
    const off_t start = end > static_cast<off_t>(block.size()) ? end - static_cast<off_t>(block.size()) : 0;
    const ssize_t count = pread(descriptor_, block.data(), static_cast<std::size_t>(end - start), start);
    if (count != end - start) fail(count < 0 ? std::strerror(errno) : "it became shorter");
    const std::size_t last = std::string_view(block.data(), static_cast<std::size_t>(count)).rfind('\n');
    if (last != std::string_view::npos) {
      end = start + static_cast<off_t>(last) + 1;
      break;
    }
    end = start;
  }
  if (end != status.st_size && ftruncate(descriptor_, end) != 0) fail(std::strerror(errno));
}

void LineFile::append(std::string_view line) {
  struct stat before = {};
  if (fstat(descriptor_, &before) != 0) fail(std::strerror(errno));
  if (plain_ && before.st_nlink == 0) fail("it was deleted or replaced meanwhile");
  const int error = write_all(descriptor_, std::string(line) + "\n", stop_);
  if (error == 0) return;
  // Half a line helps nobody. If even this fails, the next LineFile cuts it off.
  if (plain_ && ftruncate(descriptor_, before.st_size) != 0) fail(std::strerror(errno));
  fail(std::strerror(error));
}

void LineFile::fail(const std::string& why) const {
  throw Error(ErrorKind::input, "cannot write '" + file_.string() + "': " + why);
}

}  // namespace heddle
