// Ctrl-C, SIGTERM and SIGHUP: the first asks to stop, so that what was done is kept; a second Ctrl-C or SIGTERM ends
// the program at once.
#pragma once

#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>

namespace heddle::cli {

/// The exit code that a shell reports for a program that SIGINT ended.
inline constexpr int exit_interrupted = 130;

/// From now on the first signal only asks to stop. Before, and in commands that never call this, it ends the program.
void catch_interrupts();
/// Whether the user asked to stop. Safe in any thread.
[[nodiscard]] bool interrupted() noexcept;

/// While this object lives, the program ends within 2 s of the first signal, whatever it waits for: a compiler, a
/// library that solves equations, a kernel. If the command has not ended by itself by then, `leave` runs in a helper
/// thread while the command still runs. The program ends with the exit code that `leave` returns, or with the exception
/// that it throws. `leave` may use only data that is safe to use beside the command.
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
