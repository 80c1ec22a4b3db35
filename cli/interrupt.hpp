// Ctrl-C, SIGTERM and SIGHUP: the first asks to stop, so that what was done is kept; a second Ctrl-C or SIGTERM ends
// the program at once.
#pragma once

#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>

namespace heddle::cli {

/// What a shell reports for a program that SIGINT ended.
inline constexpr int exit_interrupted = 130;

/// From now on the first signal only asks to stop. Before, and in commands that never call this, it ends the program.
void catch_interrupts();
/// Whether somebody asked to stop. Safe in any thread.
[[nodiscard]] bool interrupted() noexcept;

/// While it lives, the program does not outlast the first signal by more than 2 s, whatever it waits for: a compiler, a
/// library that solves equations, a kernel. Where the command has not come to an end by itself by then, `leave` runs in
/// a thread of its own, beside the command, and the program ends with the exit code that it returns or with what it
/// throws. `leave` may use only what is safe beside the command.
class LeaveInTime {
 public:
  explicit LeaveInTime(std::function<int()> leave);
  /// From here on the command ends by itself. Does not return if `leave` has begun.
  ~LeaveInTime();
  LeaveInTime(const LeaveInTime&) = delete;
  LeaveInTime& operator=(const LeaveInTime&) = delete;

 private:
  void watch();

  std::function<int()> leave_;
  std::mutex mutex_;
  std::condition_variable ended_;
  bool done_ = false;
  std::thread watcher_;
};

}  // namespace heddle::cli
