// What the tests of this folder share: folders, processes, and something to record.
#pragma once

#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <stdexcept>
#include <string>

#include "heddle/kernels/error.hpp"
#include "heddle/kernels/family_registry.hpp"
#include "heddle/profiles/profile_store.hpp"

namespace heddle::test {

constexpr auto kWrite = ProfileStore::Access::read_write;
constexpr auto kRead = ProfileStore::Access::read;

/// A folder that goes with everything in it. Other users may look into it.
class Folder {
 public:
  Folder() {
    std::string name = (std::filesystem::temp_directory_path() / "heddle-profiles-XXXXXX").string();
    if (::mkdtemp(name.data()) == nullptr) throw std::runtime_error("cannot make a temporary folder");
    path_ = name;
    std::filesystem::permissions(path_, std::filesystem::perms(0755));
  }
  ~Folder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  [[nodiscard]] const std::filesystem::path& path() const { return path_; }
  [[nodiscard]] std::filesystem::path operator/(const char* name) const { return path_ / name; }

 private:
  std::filesystem::path path_;
};

/// Runs `work` in a process of its own and returns its number. Exit code 0: it returned true.
inline pid_t start(const std::function<bool()>& work) {
  const pid_t child = ::fork();
  if (child != 0) return child;
  bool good = false;
  try {
    good = work();
  } catch (...) {  // seen by the parent as the exit code
  }
  ::_exit(good ? 0 : 1);
}

inline bool succeeded(pid_t child) {
  int status = 0;
  return ::waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

inline std::string contents(const std::filesystem::path& file) {
  std::ifstream stream(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

inline void write(const std::filesystem::path& file, const std::string& bytes) {
  std::ofstream(file, std::ios::binary) << bytes;
}

/// As a user whom permissions bind.
inline bool unprivileged(const std::function<bool()>& work) {
  return succeeded(start([&] { return (::geteuid() != 0 || ::setuid(65534) == 0) && work(); }));
}

/// The line of the Error(profiles) that `work` throws; empty if it throws none.
inline std::string complaint(const std::function<void()>& work, ErrorKind kind = ErrorKind::profiles) {
  try {
    work();
  } catch (const Error& error) {
    const std::string line = error.what();
    const bool good = error.kind() == kind && line.find('\n') == std::string::npos;
    return good ? line : "wrong kind or more than one line: " + line;
  }
  return {};
}

inline bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

inline DeviceIdentity card(std::string name = "NVIDIA H200") {
  return {.backend = "cuda",
          .name = std::move(name),
          .architecture = "9.0",
          .units = 132,
          .memory_gib = 140,
          .cache_bytes = 62914560,
          .local_bytes = 232448};
}

inline ProfileKey key(std::int64_t rules = 640, std::int64_t dim = 16, std::int64_t outputs = 10) {
  return {
      .device = card(),
      .family = "sonfin-train",
      .problem = Problem(
          {{.name = "rules", .value = rules}, {.name = "dim", .value = dim}, {.name = "outputs", .value = outputs}})};
}

inline Provenance provenance() {
  return {.driver = "580.159.04 (CUDA 13.0)",
          .compiler = "NVRTC 13.0",
          .tool = "heddle 0.1.0",
          .host = "loom",
          .clocks = "SM 1980 MHz",
          .date = "2026-01-31T12:00:00Z",
          .seed = 7,
          .strategy = "random"};
}

inline Measurement measurement(const ProfileKey& where = key()) {
  return {.key = where,
          .kernels = {.source_hash = "0123456789abcdef0123456789abcdef"},
          .configuration = "scheme=graph kernels=1",
          .status = Status::correct,
          .times = {2.125, 0.1, 1e-7},
          .samples = 512,
          .compile_seconds = 0.25,
          .worst_error = 1e-5,
          .message = "",
          .cost = 2.125,
          .run = 0,
          .visit = 0,
          .provenance = provenance()};
}

/// Of the family's default configuration, so that an import accepts it.
inline Profile profile(const ProfileKey& where = key(), double time = 2.5) {
  const KernelFamily& kernels = builtin_families().at(where.family);
  return {.key = where,
          .kernels = {.source_hash = kernels.source(where.device.backend).hash()},
          .configuration = kernels.default_configuration(where.device, where.problem).text(),
          .time = time,
          .spread = 0.05,
          .worst_error = 1e-5,
          .samples = 512,
          .ties = {},
          .imported = false,
          .run = 0,
          .provenance = provenance()};
}

inline bool same(const Profile& a, const Profile& b) {
  return a.key == b.key && a.kernels == b.kernels && a.configuration == b.configuration && a.time == b.time &&
         a.spread == b.spread && a.worst_error == b.worst_error && a.samples == b.samples && a.ties == b.ties &&
         a.imported == b.imported && a.provenance == b.provenance;
}

}  // namespace heddle::test
