#include "heddle/kernels/files.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string>

#include "heddle/kernels/error.hpp"

namespace heddle {
namespace {

[[noreturn]] void fail(const std::filesystem::path& file, int error) {
  throw Error(ErrorKind::input, "cannot write '" + file.string() + "': " + std::strerror(error));
}

/// 0, or the error.
int write_all(int descriptor, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = write(descriptor, bytes.data(), bytes.size());
    if (written < 0 && errno != EINTR) return errno;
    if (written > 0) bytes.remove_prefix(static_cast<std::size_t>(written));
  }
  return 0;
}

void write_in_place(const std::filesystem::path& file, std::string_view bytes) {
  const int descriptor = open(file.c_str(), O_WRONLY | O_CLOEXEC);
  if (descriptor < 0) fail(file, errno);
  const int error = write_all(descriptor, bytes);
  if (close(descriptor) != 0 && error == 0) fail(file, errno);
  if (error != 0) fail(file, error);
}

/// A new file beside `target`, with the mode that any new file would have. Leaves its name in `name`.
int create_beside(const std::filesystem::path& target, std::string& name) {
  for (int attempt = 0;; ++attempt) {
    name = target.string() + "." + std::to_string(getpid()) + "." + std::to_string(attempt);
    const int descriptor = open(name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (descriptor >= 0 || errno != EEXIST || attempt == 100) return descriptor;
  }
}

}  // namespace

void check_writable(const std::filesystem::path& file) {
  std::error_code ignored;
  if (std::filesystem::is_directory(file, ignored)) fail(file, EISDIR);
  if (std::filesystem::exists(file, ignored) && !std::filesystem::is_regular_file(file, ignored)) return;
  std::string temporary;
  const int descriptor = create_beside(std::filesystem::weakly_canonical(file, ignored), temporary);
  if (descriptor < 0) fail(file, errno);
  close(descriptor);
  unlink(temporary.c_str());
}

void write_file(const std::filesystem::path& file, std::string_view bytes) {
  namespace fs = std::filesystem;
  std::error_code ignored;
  const fs::path resolved = fs::weakly_canonical(file, ignored);
  const fs::path target = ignored ? file : resolved;
  if (fs::exists(target, ignored) && !fs::is_regular_file(target, ignored)) return write_in_place(file, bytes);

  std::string temporary;
  const int descriptor = create_beside(target, temporary);
  if (descriptor < 0) fail(file, errno);
  int error = write_all(descriptor, bytes);
  struct stat before = {};
  if (stat(target.c_str(), &before) == 0) fchmod(descriptor, before.st_mode & 07777);
  if (error == 0 && fsync(descriptor) != 0) error = errno;
  if (close(descriptor) != 0 && error == 0) error = errno;
  if (error == 0 && rename(temporary.c_str(), target.c_str()) != 0) error = errno;
  if (error != 0) {
    unlink(temporary.c_str());
    fail(file, error);
  }
  const fs::path folder = target.has_parent_path() ? target.parent_path() : fs::path(".");
  if (const int directory = open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC); directory >= 0) {
    fsync(directory);  // not all file systems can; the file itself is safe
    close(directory);
  }
}

}  // namespace heddle
