#include "heddle/tuner/worker/lent_example.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <span>
#include <string_view>
#include <system_error>
#include <utility>

#include "heddle/kernels/error.hpp"
#include "heddle/kernels/files.hpp"
#include "heddle/runtime/process/child_process.hpp"

namespace heddle {

namespace {

using Parts = std::vector<std::span<const std::byte>>;

/// Of the memory that is left, what the copy may take: the worker needs some, too.
constexpr std::int64_t kShare = 2;

std::int64_t bytes_of(const Parts& parts) {
  std::size_t bytes = 0;
  for (const auto part : parts) bytes += part.size();
  return static_cast<std::int64_t>(bytes);
}

/// 0, or the error. Closes the file then.
int write(int& file, const Parts& parts) {
  int error = file < 0 ? errno : 0;
  for (std::size_t i = 0; i < parts.size() && error == 0; ++i) {
    error = write_all(file, {reinterpret_cast<const char*>(parts[i].data()), parts[i].size()});
  }
  if (error != 0 && file >= 0) ::close(std::exchange(file, -1));
  return error;
}

int in_memory(const Parts& parts) {
  if (bytes_of(parts) > available_memory() / kShare) return -1;
  int file = ::memfd_create("heddle-contents", MFD_CLOEXEC);
  static_cast<void>(write(file, parts));
  return file;
}

int on_disk(const std::filesystem::path& path, const Parts& parts) {
  int file = ::open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (file >= 0) ::unlink(path.c_str());
  if (const int error = write(file, parts); error != 0) {
    throw Error(ErrorKind::device, fmt::format("{}: cannot be written: {}", path.string(), std::strerror(error)));
  }
  return file;
}

}  // namespace

LentExample::LentExample(const std::string& folder, const Problem& problem, const std::vector<Buffer>& buffers,
                         const ViewedImage& contents)
    : path_(example_file(folder, problem)) {
  const Parts parts = example_parts(problem, buffers, contents);
  descriptor_ = in_memory(parts);
  if (descriptor_ < 0) descriptor_ = on_disk(path_, parts);
  std::error_code error;
  std::filesystem::create_symlink(fmt::format("/proc/{}/fd/{}", ::getpid(), descriptor_), path_, error);
  if (!error) return;
  ::close(descriptor_);
  throw Error(ErrorKind::device, fmt::format("{}: cannot be made: {}", path_.string(), error.message()));
}

LentExample::~LentExample() {
  std::error_code ignored;
  std::filesystem::remove(path_, ignored);  // the descriptor's number may become another file's
  ::close(descriptor_);
}

}  // namespace heddle
