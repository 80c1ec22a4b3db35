#include "heddle/runtime/process/child_process.hpp"

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
#include <filesystem>
#include <fstream>
#include <limits>
#include <sstream>
#include <string_view>
#include <system_error>
#include <thread>
#include <utility>

#include "heddle/kernels/error.hpp"
#include "heddle/kernels/files.hpp"

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

constexpr std::chrono::seconds kTimeToEnd{10};

/// The same file as another descriptor, out of the way of those that the process will have: giving it one of them would
/// close the other.
int moved_up(int descriptor) {
  const int up = ::fcntl(descriptor, F_DUPFD_CLOEXEC, ChildProcess::kDescriptor + 1);
  if (descriptor >= 0) ::close(descriptor);
  return up;
}

bool has_ended(pid_t process) {
  siginfo_t info{};
  return ::waitid(P_PID, static_cast<id_t>(process), &info, WEXITED | WNOHANG | WNOWAIT) != 0 || info.si_pid != 0;
}

/// The session that a process is in; 0 if there is no such process any more.
pid_t session_of(const std::string& process) {
  const std::string text = file_bytes(fmt::format("/proc/{}/stat", process)).value_or("");
  const std::size_t name = text.rfind(')');  // the name before may hold anything
  if (name == std::string::npos) return 0;
  std::istringstream fields(text.substr(name + 1));
  std::string state;
  pid_t parent = 0, group = 0, session = 0;
  return fields >> state >> parent >> group >> session && state != "Z" ? session : 0;
}

/// Kills all processes of a session but the first. Returns whether there were some.
bool kill_others(pid_t session) {
  bool found = false;
  std::error_code error;
  for (std::filesystem::directory_iterator entry("/proc", error), end; !error && entry != end; entry.increment(error)) {
    const std::string name = entry->path().filename().string();
    if (name.find_first_not_of("0123456789") != std::string::npos || session_of(name) != session) continue;
    const auto process = static_cast<pid_t>(std::stol(name));
    if (process == session) continue;
    found = true;
    ::kill(process, SIGKILL);
  }
  return found;
}

}  // namespace

ChildProcess::ChildProcess(const std::vector<std::string>& words, Session session) : session_(session) {
  std::array<int, 2> ends{-1, -1};
  complaints_ = moved_up(::memfd_create("heddle-worker", MFD_CLOEXEC));
  if (complaints_ < 0 || ::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0) {
    const std::string why = std::strerror(errno);
    if (complaints_ >= 0) ::close(complaints_);
    throw Error(ErrorKind::device, fmt::format("cannot start {}: {}", words[0], why));
  }
  socket_ = ends[0];
  ends[1] = moved_up(ends[1]);
  std::vector<char*> arguments;
  arguments.reserve(words.size() + 1);
  for (const std::string& word : words) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, ends[1], kDescriptor);
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, complaints_, STDERR_FILENO);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  if (session_ == Session::own) posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSID);
  const int error = ::posix_spawn(&id_, arguments[0], &actions, &attributes, arguments.data(), environ);
  posix_spawnattr_destroy(&attributes);
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
  std::int64_t shared = 0;
  return stream >> size >> resident >> shared ? (resident - shared) * ::sysconf(_SC_PAGESIZE) : 0;
}

ProcessEnd ChildProcess::end(double seconds_to_wait) {
  if (id_ < 0) return {};
  using Clock = std::chrono::steady_clock;
  const auto until = Clock::now() + std::chrono::duration<double>(seconds_to_wait);
  const auto pause = [] { std::this_thread::sleep_for(std::chrono::milliseconds(1)); };
  while (!has_ended(id_) && Clock::now() < until) pause();
  // Its compilers end with it, but not what these have started. All have to be gone: a process that it was just
  // starting holds its files, locks of folders among them. Once it has ended it starts no more. Nobody else gets its
  // number before it was waited for. What does not even end then (it waits in a driver that does not answer) is left
  // alone.
  ::kill(id_, SIGKILL);
  const auto gone = Clock::now() + kTimeToEnd;
  while (true) {
    const bool starts_no_more = has_ended(id_);
    const bool has_others = session_ == Session::own && kill_others(id_);
    if ((starts_no_more && !has_others) || Clock::now() >= gone) break;
    pause();
  }
  int status = 0;
  const pid_t ended = ::waitpid(id_, &status, WNOHANG);
  id_ = -1;
  if (ended <= 0) return {};
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
