#include "heddle/runtime/device/compile_cache.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <system_error>
#include <utility>

#include "heddle/kernels/error.hpp"
#include "heddle/kernels/files.hpp"
#include "heddle/kernels/template_source.hpp"

namespace heddle {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kFormat = "heddle-compiled-1";
constexpr std::size_t kDigestLength = 32;

/// Makes `folder` and what is missing above it, for this user alone. Returns errno, or 0.
int make_folder(const fs::path& folder) {
  if (::mkdir(folder.c_str(), 0700) == 0) return 0;
  const int error = errno;
  std::error_code ignored;
  if (fs::is_directory(folder, ignored)) return 0;
  if (error != ENOENT || !folder.has_relative_path()) return error;
  if (const int above = make_folder(folder.parent_path())) return above;
  return ::mkdir(folder.c_str(), 0700) == 0 || errno == EEXIST ? 0 : errno;
}

/// Code that is loaded must not come from others.
void refuse_foreign(const fs::path& folder) {
  struct stat status {};
  if (::stat(folder.c_str(), &status) != 0) return;
  if (status.st_uid != ::geteuid())
    throw Error(ErrorKind::device, fmt::format("{}: belongs to user {}, expected {}; remove it or set XDG_CACHE_HOME",
                                               folder.string(), status.st_uid, ::geteuid()));
  if ((status.st_mode & (S_IWGRP | S_IWOTH)) != 0)
    throw Error(ErrorKind::device, fmt::format("{}: others may write to it (mode {:04o}, expected 0700); use chmod 700",
                                               folder.string(), status.st_mode & 07777U));
}

/// Recently used files survive prune().
void touch(const fs::path& file) {
  std::error_code ignored;
  fs::last_write_time(file, fs::file_time_type::clock::now(), ignored);
}

void remove_quietly(const fs::path& file) {
  std::error_code ignored;
  fs::remove(file, ignored);
}

/// "<format> <digest of the rest>\n<blob digest>\n<metadata>"
std::string entry_text(const std::string& blob_digest, const std::string& metadata) {
  const std::string body = blob_digest + "\n" + metadata;
  return fmt::format("{} {}\n{}", kFormat, digest(body), body);
}

struct EntryText {
  std::string blob_digest, metadata;
};

std::optional<EntryText> parse_entry(std::string_view text) {
  const std::size_t header = kFormat.size() + 1 + kDigestLength + 1;
  if (text.size() < header + kDigestLength + 1 || !text.starts_with(kFormat)) return {};
  const std::string_view body = text.substr(header);
  if (text.substr(kFormat.size() + 1, kDigestLength) != digest(body)) return {};
  return EntryText{std::string(body.substr(0, kDigestLength)), std::string(body.substr(kDigestLength + 1))};
}

}  // namespace

CompileCache::CompileCache(fs::path folder, std::uintmax_t maximum_bytes)
    : folder_(std::move(folder)), maximum_bytes_(maximum_bytes) {
  if (folder_.empty()) {
    unusable("neither XDG_CACHE_HOME nor HOME is set");
    return;
  }
  if (const int error = make_folder(folder_)) {
    unusable(std::strerror(error));
    return;
  }
  refuse_foreign(folder_.parent_path().filename() == "heddle" ? folder_.parent_path() : folder_);
  refuse_foreign(folder_);
}

fs::path CompileCache::default_folder(std::string_view backend) {
  const char* cache = std::getenv("XDG_CACHE_HOME");
  if (cache != nullptr && *cache == '/') return fs::path(cache) / "heddle" / backend;
  const char* home = std::getenv("HOME");
  if (home != nullptr && *home != '\0') return fs::path(home) / ".cache" / "heddle" / backend;
  return {};
}

std::optional<CompileCache::Entry> CompileCache::find(const std::string& key) {
  if (folder_.empty()) return {};
  const fs::path file = entry_file(key);
  const auto text = file_bytes(file);
  if (!text) return {};
  auto entry = parse_entry(*text);
  auto blob = entry ? read_blob(entry->blob_digest) : nullptr;
  if (!blob) {
    remove_quietly(file);
    return {};
  }
  touch(file);
  const fs::path at = blob_file(blob->digest);
  return Entry{std::move(blob), at, std::move(entry->metadata)};
}

CompileCache::Entry CompileCache::store(std::string bytes, const std::vector<Record>& records) {
  auto name = digest(bytes);
  Entry entry{std::make_shared<const CompiledBlob>(CompiledBlob{std::move(name), std::move(bytes)}), {}, {}};
  if (folder_.empty()) return entry;
  prune();
  const fs::path file = blob_file(entry.blob->digest);
  if (!write(file, entry.blob->bytes)) return entry;
  entry.file = file;
  for (const Record& record : records)
    if (!write(entry_file(record.key), entry_text(entry.blob->digest, record.metadata))) break;
  const std::lock_guard lock(mutex_);
  verified_[entry.blob->digest] = entry.blob;
  return entry;
}

std::string CompileCache::remark() const {
  const std::lock_guard lock(mutex_);
  return remark_;
}

fs::path CompileCache::blob_file(const std::string& digest) const { return folder_ / (digest + ".bin"); }

fs::path CompileCache::entry_file(const std::string& key) const { return folder_ / (key + ".entry"); }

std::shared_ptr<const CompiledBlob> CompileCache::read_blob(const std::string& name) {
  {
    const std::lock_guard lock(mutex_);
    if (const auto known = verified_.find(name); known != verified_.end())
      if (auto blob = known->second.lock()) return blob;
  }
  const fs::path file = blob_file(name);
  auto bytes = file_bytes(file);
  if (!bytes) return nullptr;
  if (digest(*bytes) != name) {
    remove_quietly(file);
    return nullptr;
  }
  touch(file);
  auto blob = std::make_shared<const CompiledBlob>(CompiledBlob{name, std::move(*bytes)});
  const std::lock_guard lock(mutex_);
  verified_[name] = blob;
  return blob;
}

bool CompileCache::write(const fs::path& file, std::string_view bytes) {
  static std::atomic<unsigned> counter{0};
  const fs::path temporary = fmt::format("{}.{}.{}.tmp", file.string(), ::getpid(), counter++);
  const int handle = ::open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (handle < 0) {
    unusable(std::strerror(errno));
    return false;
  }
  int error = write_all(handle, bytes);
  if (::close(handle) != 0 && error == 0) error = errno;
  if (error == 0 && ::rename(temporary.c_str(), file.c_str()) == 0) return true;
  if (error == 0) error = errno;
  remove_quietly(temporary);
  unusable(std::strerror(error));
  return false;
}

void CompileCache::unusable(const std::string& why) {
  const std::lock_guard lock(mutex_);
  if (remark_.empty())
    remark_ = fmt::format("compiled code is not kept{}: {}", folder_.empty() ? "" : " in " + folder_.string(), why);
}

/// Once per object, before the first write: the oldest files go until a quarter of the bound is free, and what a
/// killed process left half written goes after a day.
void CompileCache::prune() {
  {
    const std::lock_guard lock(mutex_);
    if (std::exchange(pruned_, true)) return;
  }
  struct File {
    fs::file_time_type time;
    std::uintmax_t bytes;
    fs::path path;
  };
  std::vector<File> files;
  std::uintmax_t total = 0;
  const auto yesterday = fs::file_time_type::clock::now() - std::chrono::hours(24);
  std::error_code error;
  for (fs::directory_iterator it(folder_, error), end; !error && it != end; it.increment(error)) {
    std::error_code gone;
    File file{it->last_write_time(gone), 0, it->path()};
    file.bytes = gone ? 0 : it->file_size(gone);
    if (gone) continue;
    if (file.path.extension() == ".tmp" && file.time < yesterday) {
      remove_quietly(file.path);
      continue;
    }
    total += file.bytes;
    files.push_back(std::move(file));
  }
  if (total <= maximum_bytes_) return;
  std::sort(files.begin(), files.end(), [](const File& a, const File& b) { return a.time < b.time; });
  for (const File& file : files) {
    if (total <= maximum_bytes_ / 4 * 3) return;
    remove_quietly(file.path);
    total -= file.bytes;
  }
}

}  // namespace heddle
