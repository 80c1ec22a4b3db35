#include "heddle/runtime/device/cpu/process.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <string_view>
#include <thread>

#include "heddle/kernels/error.hpp"
#include "heddle/kernels/files.hpp"
#include "heddle/kernels/stop.hpp"

namespace heddle {

namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

/// As execve() takes them. The texts must outlive it.
std::vector<char*> pointers(const std::vector<std::string>& texts) {
  std::vector<char*> all;
  all.reserve(texts.size() + 1);
  for (const std::string& text : texts) all.push_back(const_cast<char*>(text.c_str()));
  all.push_back(nullptr);
  return all;
}

/// Of this process, except for where temporary files go.
std::vector<std::string> environment(const std::filesystem::path& temporary) {
  constexpr std::string_view kVariable = "TMPDIR=";
  std::vector<std::string> all;
  for (char** each = environ; *each != nullptr; ++each) {
    if (temporary.empty() || !std::string_view(*each).starts_with(kVariable)) all.emplace_back(*each);
  }
  if (!temporary.empty()) all.push_back(std::string(kVariable) + temporary.string());
  return all;
}

/// A new process calls this to become another program. Another thread of the old process may have held any lock, so
/// only functions that a signal handler may call are called here. Returns why it failed.
int become(char* const* arguments, char* const* variables, const char* capture, pid_t parent) {
  ::setpgid(0, 0);
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) return ECANCELED;  // it ended before it was watched
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGPIPE}) std::signal(signal, SIG_DFL);
  const int nothing = ::open("/dev/null", O_RDONLY);
  const int output = ::open(capture, O_WRONLY | O_CREAT | O_TRUNC, 0600);
  if (nothing < 0 || output < 0) return errno;
  if (::dup2(nothing, STDIN_FILENO) < 0 || ::dup2(output, STDOUT_FILENO) < 0 || ::dup2(output, STDERR_FILENO) < 0) {
    return errno;
  }
  if (nothing > STDERR_FILENO) ::close(nothing);
  if (output > STDERR_FILENO) ::close(output);
  ::execve(arguments[0], arguments, variables);
  return errno;
}

/// Throws Error(device).
pid_t start(const std::vector<std::string>& words, const std::filesystem::path& capture,
            const std::filesystem::path& temporary) {
  const auto fail = [&](int error) {
    return Error(ErrorKind::device, fmt::format("cannot start {}: {}", words[0], std::strerror(error)));
  };
  std::array<int, 2> ends{-1, -1};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) throw fail(errno);
  const std::vector<std::string> variables = environment(temporary);
  const std::vector<char*> argument_list = pointers(words), variable_list = pointers(variables);
  const pid_t parent = ::getpid(), child = ::fork();
  if (child == 0) {
    const int error = become(argument_list.data(), variable_list.data(), capture.c_str(), parent);
    (void)!::write(ends[1], &error, sizeof error);
    ::_exit(127);
  }
  int error = child < 0 ? errno : 0;
  ::close(ends[1]);  // the other copy is closed by execve()
  if (child > 0) {
    ::setpgid(child, child);  // here as well: it may be killed before it gets to it
    while (::read(ends[0], &error, sizeof error) < 0 && errno == EINTR) {
    }
    if (error != 0) ::waitpid(child, nullptr, 0);
  }
  ::close(ends[0]);
  if (error != 0) throw fail(error);
  return child;
}

/// Kills it and what it started. What does not even end then (on a file system that does not answer) is left.
void kill_group(pid_t leader) {
  ::kill(-leader, SIGKILL);
  const auto until = Clock::now() + std::chrono::seconds(5);
  while (::waitpid(leader, nullptr, WNOHANG) == 0 && Clock::now() < until) std::this_thread::sleep_for(milliseconds(1));
}

/// The status that waitpid() gives.
int wait(pid_t child, const std::string& name, const ProcessLimits& limits) {
  const auto until = Clock::now() + std::chrono::duration<double>(limits.seconds);
  for (milliseconds pause(1);; pause = std::min(2 * pause, milliseconds(16))) {
    int status = 0;
    const pid_t ended = ::waitpid(child, &status, WNOHANG);
    if (ended == child) return status;
    if (ended < 0 && errno != EINTR) {
      throw Error(ErrorKind::device, fmt::format("cannot wait for {}: {}", name, std::strerror(errno)));
    }
    if (limits.stop.stop_requested()) {
      kill_group(child);
      throw Interrupted();
    }
    if (Clock::now() > until) {
      kill_group(child);
      throw Error(ErrorKind::device, fmt::format("{} did not end within {} s", name, limits.seconds));
    }
    std::this_thread::sleep_for(pause);
  }
}

}  // namespace

ProcessResult run_process(const std::vector<std::string>& words, const std::filesystem::path& capture,
                          const ProcessLimits& limits) {
  const int status = wait(start(words, capture, limits.temporary), words[0], limits);
  return {.status = WIFEXITED(status) ? WEXITSTATUS(status) : -1, .output = file_bytes(capture).value_or("")};
}

}  // namespace heddle
