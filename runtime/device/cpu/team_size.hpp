// How many threads share a launch on a machine that has other work too.
#pragma once

namespace heddle {

/// While other programs take cores, the threads of a team mostly wait for the one that has none. Half as many threads,
/// with twice the work each, are then faster. Results do not depend on the number of threads, only times do.
///
/// Knows no clock, so that it can be tested. From one thread.
class TeamSize {
 public:
  TeamSize() noexcept;

  /// The threads for a launch of `parts` parts: as many, or half of that, or a quarter, ...; at least 1.
  [[nodiscard]] int of(int parts) const noexcept;

  /// After a launch of `threads` threads: its wall time, and how long all of them together waited because one was
  /// missing; seconds. Decides by that about the launches to come: half as many threads if one is missing for more than
  /// a third of the time. After a while it tries more again, since the machine may be quiet now; each time the while is
  /// twice as long.
  void count(int threads, double seconds, double waited) noexcept;

  /// Whether launches have fewer threads at present.
  [[nodiscard]] bool reduced() const noexcept { return halvings_ > 0; }

 private:
  int halvings_ = 0;
  double excess_ = 0.0;  ///< seconds of waiting beyond a third of the time; falls while there is less
  double calm_ = 0.0;    ///< seconds of launches with fewer threads
  double patience_;      ///< seconds until more threads are tried
};

}  // namespace heddle
