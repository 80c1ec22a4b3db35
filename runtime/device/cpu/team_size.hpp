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

  /// After a launch: its wall time, and how long its threads, added up, had work and no core; seconds. Decides by that
  /// about the launches to come: half as many threads if this is more than a third of the time for long. After a while
  /// it tries more again, since the machine may be quiet now; each time the while is twice as long.
  void count(double seconds, double lost) noexcept;

  /// Whether launches have fewer threads at present.
  [[nodiscard]] bool reduced() const noexcept { return halvings_ > 0; }

 private:
  int halvings_ = 0;
  double excess_ = 0.0;  ///< seconds lost beyond a third of the time; falls while it is less
  double calm_ = 0.0;    ///< seconds of launches with fewer threads
  double patience_;      ///< seconds until more threads are tried
};

}  // namespace heddle
