// How many threads share a launch on a machine that has other work too.
#pragma once

namespace heddle {

/// While other programs take cores, the threads of a team mostly wait for the one that has none. Half as many threads,
/// with twice the work each, are then faster. Results do not depend on the number of threads, only times do.
///
/// Knows no clock, so that it can be tested. From one thread.
class TeamSize {
 public:
  /// The threads for a launch of `parts` parts: as many, or half of that, or a quarter, ...; at least 1.
  [[nodiscard]] int of(int parts) const noexcept;

  /// After a launch of `threads` threads: its wall time, and how long all of them together waited; seconds.
  void count(int threads, double seconds, double waited) noexcept;

  enum class Change { none, fewer, more };
  /// Decides from what was counted since the last decision; to be called where a change of speed is welcome. Fewer
  /// threads if one was missing for more than half of the time. After a while it tries more threads again, since the
  /// machine may be quiet now; each time that this was in vain the while is twice as long.
  Change adapt() noexcept;

 private:
  int halvings_ = 0;
  double waited_ = 0.0, most_ = 0.0;  ///< since the last decision; most_: what can be waited, all threads but one
  double seconds_ = 0.0;              ///< likewise, of launches of any size
  int patience_ = 4;                  ///< decisions until more threads are tried
  int calm_ = 0;                      ///< decisions since there are fewer
};

}  // namespace heddle
