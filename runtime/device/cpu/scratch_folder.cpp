#include "heddle/runtime/device/cpu/scratch_folder.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

#include "heddle/kernels/error.hpp"

namespace heddle {

namespace {

namespace fs = std::filesystem;

constexpr std::string_view kPrefix = "heddle-scratch-";
constexpr const char* kLockFile = ".owner";

fs::path temporary_folder() {
  std::error_code failed;
  const fs::path where = fs::temp_directory_path(failed);
  return failed ? "/tmp" : where;
}

bool of_this_user(const struct stat& status) { return status.st_uid == ::geteuid(); }

/// Locks the file. Returns whether the file still exists then: another process may have removed the folder in between.
/// On a file system without locks, no process can get the lock and remove the folder either.
bool own(int lock) {
  if (::flock(lock, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) return false;
  struct stat status {};
  return ::fstat(lock, &status) == 0 && status.st_nlink > 0;
}

/// Takes the lock in `folder` if no process holds it. Returns the descriptor that holds it, or -1.
int lock_abandoned(const fs::path& folder) {
  struct stat status {};
  if (::lstat(folder.c_str(), &status) != 0 || !S_ISDIR(status.st_mode) || !of_this_user(status)) return -1;
  const int lock = ::open((folder / kLockFile).c_str(), O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
  if (lock < 0) return -1;
  const bool ours = ::fstat(lock, &status) == 0 && S_ISREG(status.st_mode) && of_this_user(status);
  if (ours && ::flock(lock, LOCK_EX | LOCK_NB) == 0) return lock;
  ::close(lock);
  return -1;
}

}  // namespace

void remove_abandoned_folders() noexcept try {
  std::error_code error;
  for (fs::directory_iterator entry(temporary_folder(), error), end; !error && entry != end; entry.increment(error)) {
    if (!entry->path().filename().string().starts_with(kPrefix)) continue;
    const int lock = lock_abandoned(entry->path());
    if (lock < 0) continue;
    std::error_code ignored;
    fs::remove_all(entry->path(), ignored);
    ::close(lock);
  }
} catch (const std::exception&) {  // the next process will try again
}

ScratchFolder::ScratchFolder() {
  const fs::path where = temporary_folder();
  static std::once_flag once;
  std::call_once(once, remove_abandoned_folders);
  const auto fail = [&] {
    return Error(ErrorKind::device,
                 fmt::format("cannot make a folder in {}: {}", where.string(), std::strerror(errno)));
  };
  while (lock_ < 0) {
    std::string name = (where / fmt::format("{}XXXXXX", kPrefix)).string();
    if (::mkdtemp(name.data()) == nullptr) throw fail();
    path_ = name;
    lock_ = ::open((path_ / kLockFile).c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (lock_ < 0) {
      const Error failure = fail();
      ::rmdir(path_.c_str());
      throw failure;
    }
    if (own(lock_)) return;
    ::close(std::exchange(lock_, -1));  // taken for abandoned before it was locked
  }
}

ScratchFolder::~ScratchFolder() {
  std::error_code ignored;
  fs::remove_all(path_, ignored);
  ::close(lock_);
}

}  // namespace heddle
