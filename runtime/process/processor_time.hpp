// How much of the processor another process got.
#pragma once

#include <sys/types.h>

#include <map>

namespace heddle {

/// Tells a process that computes for ever from one that other programs keep from computing. Linux counts in steps of
/// 10 ms.
class ProcessorTime {
 public:
  /// Counts from now on.
  explicit ProcessorTime(pid_t process);
  /// Seconds that the busiest of the process's threads got; 0 if the process has ended. By the busiest one, because a
  /// kernel on many threads uses many seconds in one.
  [[nodiscard]] double of_busiest_thread() const;
  /// Whether the process would compute if it were let: one of its threads is ready to run, is stopped or waits for a
  /// disk, or a program that it started has not ended. If not, its threads wait for each other.
  [[nodiscard]] bool would_go_on() const;

 private:
  pid_t process_;
  std::map<pid_t, double> before_;  ///< seconds, by thread
};

}  // namespace heddle
