// How many threads share a launch on a machine that has other work too.
#pragma once

namespace heddle {

/// While other programs take cores, the threads of a team mostly wait for the one that has none. Half as many threads,
/// with twice the work each, are then faster. Results do not depend on the number of threads, only times do.
///
/// Has no clock of its own, so that it can be tested. From one thread.
class TeamSize {
 public:
  TeamSize() noexcept;

  /// The threads for a launch of `parts` parts: as many, or half of that, or a quarter, ...; at least 1.
  [[nodiscard]] int of(int parts) const noexcept;

  /// Call after a launch. `seconds`: its wall time. `lost`: the time in which its threads had work and no core, summed
  /// over the threads. If `lost` stays above a third of the time, the next launches get half as many threads. Later
  /// more threads are tried again, since the machine may be quiet by then; the waiting time doubles with each try.
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
