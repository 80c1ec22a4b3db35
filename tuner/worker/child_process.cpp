#include "heddle/tuner/worker/child_process.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <fstream>
#include <limits>
#include <sstream>
#include <string_view>
#include <thread>
#include <utility>

#include "heddle/kernels/error.hpp"

namespace heddle {

namespace {

/// The number in the line "name   number kB" or alone in the file; nothing: very many.
std::int64_t number_in(const char* file, std::string_view name = {}) {
  std::ifstream stream(file);
  for (std::string line; std::getline(stream, line);) {
    if (!line.starts_with(name)) continue;
    std::istringstream rest(line.substr(name.size()));
    std::int64_t number = 0;
    if (rest >> number) return number;
  }
  return std::numeric_limits<std::int64_t>::max();
}

}  // namespace

ChildProcess::ChildProcess(const std::vector<std::string>& words) {
  std::array<int, 2> ends{-1, -1};
  complaints_ = ::memfd_create("heddle-worker", MFD_CLOEXEC);
  if (complaints_ < 0 || ::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0) {
    const std::string why = std::strerror(errno);
    if (complaints_ >= 0) ::close(complaints_);
    throw Error(ErrorKind::device, fmt::format("cannot start {}: {}", words[0], why));
  }
  socket_ = ends[0];
  std::vector<char*> arguments;
  for (const std::string& word : words) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, ends[1], kDescriptor);
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, complaints_, STDERR_FILENO);
  const int error = ::posix_spawn(&id_, arguments[0], &actions, nullptr, arguments.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  ::close(ends[1]);
  if (error != 0) {
    ::close(socket_);
    ::close(complaints_);
    throw Error(ErrorKind::device, fmt::format("cannot start {}: {}", words[0], std::strerror(error)));
  }
}

ChildProcess::~ChildProcess() {
  if (socket_ >= 0) ::close(socket_);
  end(0.0);
  ::close(complaints_);
}

int ChildProcess::take_socket() { return std::exchange(socket_, -1); }

std::int64_t ChildProcess::resident_bytes() const {
  std::ifstream stream(fmt::format("/proc/{}/statm", id_));
  std::int64_t size = 0;
  std::int64_t resident = 0;
  return stream >> size >> resident ? resident * ::sysconf(_SC_PAGESIZE) : 0;
}

ProcessEnd ChildProcess::end(double seconds_to_wait) {
  if (id_ < 0) return {};
  using Clock = std::chrono::steady_clock;
  const auto until = Clock::now() + std::chrono::duration<double>(seconds_to_wait);
  int status = 0;
  pid_t ended = 0;
  while ((ended = ::waitpid(id_, &status, WNOHANG)) == 0 && Clock::now() < until) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  if (ended == 0) {
    ::kill(id_, SIGKILL);
    while ((ended = ::waitpid(id_, &status, 0)) < 0 && errno == EINTR) {
    }
  }
  id_ = -1;
  if (ended < 0) return {};
  return WIFSIGNALED(status) ? ProcessEnd{true, WTERMSIG(status)} : ProcessEnd{false, WEXITSTATUS(status)};
}

std::string ChildProcess::last_words() const {
  std::array<char, 4096> buffer{};
  const off_t bytes = ::lseek(complaints_, 0, SEEK_END);
  const off_t from = std::max<off_t>(0, bytes - static_cast<off_t>(buffer.size()));
  const ssize_t got = ::pread(complaints_, buffer.data(), buffer.size(), from);
  std::string_view text(buffer.data(), static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
  while (!text.empty() && text.back() == '\n') text.remove_suffix(1);
  text.remove_prefix(text.rfind('\n') + 1);
  std::string line(text.substr(0, 200));
  std::replace_if(
      line.begin(), line.end(), [](unsigned char c) { return c < 0x20 || c > 0x7e; }, ' ');
  return line;
}

std::int64_t available_memory() {
  const std::int64_t machine = number_in("/proc/meminfo", "MemAvailable:");
  const std::int64_t group = number_in("/sys/fs/cgroup/memory.max");
  const std::int64_t used = number_in("/sys/fs/cgroup/memory.current");
  constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
  const std::int64_t of_machine = machine > kMost / 1024 ? kMost : machine * 1024;
  return group == kMost || used == kMost ? of_machine : std::min(of_machine, std::max<std::int64_t>(0, group - used));
}

}  // namespace heddle
