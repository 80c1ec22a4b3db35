#include "heddle/kernels/files.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <fstream>
#include <system_error>
#include <utility>

#include "heddle/kernels/error.hpp"

namespace heddle {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kPrefix = ".heddle.";  // of names that files have until they are whole

[[noreturn]] void fail(const fs::path& file, int error) {
  const char* const why = error == ENXIO ? "no program reads it" : std::strerror(error);
  throw Error(ErrorKind::input, "cannot write '" + file.string() + "': " + why);
}

fs::path folder_of(const fs::path& file) { return file.has_parent_path() ? file.parent_path() : fs::path("."); }

constexpr int kMostLinks = 40;  // as many as Linux follows

/// The descriptor of this process that a path leads to, as /dev/stdout and /dev/fd/3 do; -1 for any other file.
int own_descriptor(const fs::path& file) {
  std::error_code failure;
  const fs::path own = fs::canonical("/proc/self/fd", failure);
  if (failure) return -1;
  fs::path place = file;
  for (int links = 0; links < kMostLinks; ++links) {
    const fs::path folder = fs::canonical(folder_of(place), failure);
    if (failure) return -1;
    if (folder == own) {
      const std::string name = place.filename();
      int descriptor = -1;
      const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), descriptor);
      return error == std::errc() && end == name.data() + name.size() ? descriptor : -1;
    }
    const fs::path next = fs::read_symlink(place, failure);
    if (failure) return -1;
    place = folder / next;
  }
  return -1;
}

/// Calls `take(name)` with names beside `target` until one is free; 0, or the error. Leaves it in `name`.
template <class Take>
int take_name(const fs::path& target, std::string& name, const Take& take) {
  for (int attempt = 0;; ++attempt) {
    name = folder_of(target) / (std::string(kPrefix) + std::to_string(getpid()) + "." + std::to_string(attempt));
    if (take(name.c_str())) return 0;
    if (errno == EEXIST && attempt < 100) continue;
    name.clear();
    return errno;
  }
}

/// Locks a new file that has a name. False if another process took it for abandoned before.
bool own(int descriptor) {
  if (flock(descriptor, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) return false;
  struct stat status = {};
  return fstat(descriptor, &status) == 0 && status.st_nlink > 0;
}

/// Removes what killed processes of this user have left in the folder of `target`: files whose lock is free.
void remove_abandoned(const fs::path& target) noexcept try {
  std::error_code error;
  for (fs::directory_iterator entry(folder_of(target), error), end; !error && entry != end; entry.increment(error)) {
    if (!entry->path().filename().string().starts_with(kPrefix)) continue;
    const int file = open(entry->path().c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (file < 0) continue;
    struct stat status = {};
    const bool ours = fstat(file, &status) == 0 && S_ISREG(status.st_mode) && status.st_uid == geteuid();
    if (ours && flock(file, LOCK_EX | LOCK_NB) == 0) unlink(entry->path().c_str());
    close(file);
  }
} catch (const std::exception&) {  // the next process will try again
}

/// A file in the folder of `target` that has no name and is gone when the program is; -1 if there cannot be any, or if
/// it could not be given a name later.
int open_nameless(const fs::path& target) {
  if (access("/proc/self/fd", X_OK) != 0) return -1;
  return open(folder_of(target).c_str(), O_TMPFILE | O_WRONLY | O_CLOEXEC, 0666);
}

}  // namespace

std::optional<std::string> file_bytes(const fs::path& file) {
  std::ifstream stream(file, std::ios::binary);
  if (!stream) return {};
  // read() reports an error of the system in the state of the stream, where an iterator over its buffer would throw.
  std::string bytes;
  std::array<char, 1 << 14> piece;  // NOLINT(cppcoreguidelines-pro-type-member-init): filled by read()
  do {
    stream.read(piece.data(), piece.size());
    bytes.append(piece.data(), static_cast<std::size_t>(stream.gcount()));
  } while (stream);
  if (stream.bad()) return {};
  return bytes;
}

int write_all(int descriptor, std::string_view bytes, const Stop& stop) noexcept {
  constexpr int kLook = 100, kPatience = 500;  // milliseconds
  constexpr std::size_t kPiece = 4096;         // a pipe that has room for any takes so much without blocking
  for (int waited = 0; !bytes.empty();) {
    pollfd ready{.fd = descriptor, .events = POLLOUT, .revents = 0};
    if (::poll(&ready, 1, kLook) == 0) {
      waited += kLook;
      if (stop && waited >= kPatience && stop()) return ECANCELED;
      continue;
    }
    const ssize_t written = ::write(descriptor, bytes.data(), stop ? std::min(bytes.size(), kPiece) : bytes.size());
    if (written < 0 && errno != EINTR && errno != EAGAIN) return errno;
    if (written <= 0) continue;
    bytes.remove_prefix(static_cast<std::size_t>(written));
    waited = 0;
  }
  return 0;
}

fs::path followed(const fs::path& file) {
  std::error_code failure;
  if (fs::path whole = fs::canonical(file, failure); !failure) return whole;
  // A link of /proc to an open pipe leads to no path.
  if (fs::exists(file, failure)) return file;
  fs::path place = file;
  for (int links = 0; links < kMostLinks; ++links) {
    const fs::path next = fs::read_symlink(place, failure);
    if (failure) break;
    place = place.parent_path() / next;
  }
  return place;
}

ReservedFile::ReservedFile(fs::path file, std::int64_t bytes, Stop stop)
    : file_(std::move(file)), stop_(std::move(stop)) {
  if (const int own = own_descriptor(file_); own >= 0) {
    // What the shell has opened is written to where it stands: another file in its place would lose what is in it. It
    // has survived the start of this program, which closes whatever it opens itself.
    const int flags = fcntl(own, F_GETFD), access = fcntl(own, F_GETFL);
    const bool given = flags >= 0 && (flags & FD_CLOEXEC) == 0 && (access & O_ACCMODE) != O_RDONLY;
    given_ = given ? fcntl(own, F_DUPFD_CLOEXEC, 0) : -1;
    if (given_ < 0) fail(file_, EBADF);
    return;
  }
  target_ = followed(file_);
  struct stat present = {};
  if (stat(target_.c_str(), &present) == 0) {
    if (S_ISDIR(present.st_mode)) fail(file_, EISDIR);
    if (!S_ISREG(present.st_mode)) return;
  } else if (errno != ENOENT) {
    fail(file_, errno);
  }

  // With the mode that any new file would have.
  descriptor_ = open_nameless(target_);
  if (descriptor_ < 0) {
    remove_abandoned(target_);
    const int error = take_name(target_, temporary_, [this](const char* name) {
      descriptor_ = open(name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
      if (descriptor_ < 0 || own(descriptor_)) return descriptor_ >= 0;
      close(std::exchange(descriptor_, -1));
      errno = EEXIST;
      return false;
    });
    if (error != 0) fail(file_, error);
  } else {
    flock(descriptor_, LOCK_EX | LOCK_NB);  // it will have a name for a moment
  }
  // Not every file system can promise room. One that can says at once if the disk is full, or a quota or limit reached.
  if (bytes <= 0 || fallocate(descriptor_, 0, 0, bytes) == 0) return;
  const int error = errno;
  if (error != ENOSPC && error != EDQUOT && error != EFBIG) return;
  release();
  throw Error(ErrorKind::input, "no room for '" + file_.string() + "', which may take " +
                                    std::to_string((bytes >> 20) + 1) + " MiB: " + std::strerror(error));
}

ReservedFile::~ReservedFile() { release(); }

void ReservedFile::release() noexcept {
  for (const int open_one : {descriptor_, given_}) {
    if (open_one >= 0) close(open_one);
  }
  if (!temporary_.empty()) unlink(temporary_.c_str());
}

void ReservedFile::write(std::string_view bytes) {
  if (descriptor_ < 0) return write_in_place(bytes);
  if (const int error = put(bytes); error != 0) fail(file_, error);
  if (const int directory = open(folder_of(target_).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC); directory >= 0) {
    fsync(directory);  // not all file systems can; the file itself is safe
    close(directory);
  }
}

int ReservedFile::put(std::string_view bytes) {
  if (const int error = write_all(descriptor_, bytes); error != 0) return error;
  if (ftruncate(descriptor_, static_cast<off_t>(bytes.size())) != 0) return errno;  // gives back what was not needed
  struct stat before = {};
  if (stat(target_.c_str(), &before) == 0) fchmod(descriptor_, before.st_mode & 07777);
  if (fsync(descriptor_) != 0) return errno;
  if (temporary_.empty()) {
    const std::string self = "/proc/self/fd/" + std::to_string(descriptor_);
    const int error = take_name(target_, temporary_, [&self](const char* name) {
      return linkat(AT_FDCWD, self.c_str(), AT_FDCWD, name, AT_SYMLINK_FOLLOW) == 0;
    });
    if (error != 0) return error;
  }
  if (rename(temporary_.c_str(), target_.c_str()) != 0) return errno;  // while it is locked
  temporary_.clear();
  return close(std::exchange(descriptor_, -1)) == 0 ? 0 : errno;
}

void ReservedFile::write_in_place(std::string_view bytes) {
  // Opening a pipe that nobody reads would wait for ever.
  const int descriptor =
      given_ >= 0 ? std::exchange(given_, -1) : open(file_.c_str(), O_WRONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  if (descriptor < 0) fail(file_, errno);
  const int error = write_all(descriptor, bytes, stop_);
  if (close(descriptor) != 0 && error == 0) fail(file_, errno);
  if (error != 0) fail(file_, error);
}

void write_file(const fs::path& file, std::string_view bytes) { ReservedFile(file).write(bytes); }

void check_writable(const fs::path& file) { const ReservedFile checked(file); }

}  // namespace heddle
