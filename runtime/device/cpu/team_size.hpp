// How many threads share a launch on a machine that has other work too.
#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <optional>

namespace heddle {

/// While other programs take cores, the threads of a team mostly wait for the one that has none. Half as many threads,
/// with twice the work each, may then be faster. Whether they are is tried, where the work of a launch can be counted:
/// many threads that lose little each lose as much together as two of which one has no core, but half of them are
/// slower. Results do not depend on the number of threads, only times do.
///
/// Has no clock of its own, so that it can be tested. From one thread.
class TeamSize {
 public:
  /// What a launch runs. Launches of the same kernel in as many parts do the same work between two meetings; of others
  /// nothing is known.
  struct Work {
    std::uintptr_t kernel = 0;
    int parts = 1;
    auto operator<=>(const Work&) const = default;
  };

  TeamSize() noexcept;

  /// The threads for a launch of `parts` parts: as many, or half of that, or a quarter, ...; at least 1.
  [[nodiscard]] int of(int parts) const noexcept;

  /// Call after a launch on of(work.parts) threads. `seconds`: its wall time. `lost`: the time in which its threads had
  /// work and no core, summed over the threads. `meetings`: how often its threads met; 0 if they did not, or one thread
  /// was alone. If `lost` stays above a third of the time, the next launches get half as many threads, and keep them if
  /// the same work then takes less time, or nobody knows. Later more threads are tried again, since the machine may be
  /// quiet by then. The waiting time doubles with each try that was in vain.
  void count(const Work& work, double seconds, double lost, unsigned meetings);

  /// Whether launches have fewer threads at present, other than for a trial.
  [[nodiscard]] bool reduced() const noexcept { return halvings_ > (trial_ && trial_->change > 0 ? 1 : 0); }

 private:
  /// Time and meetings of the latest launches of some work with the present size.
  struct Pace {
    double seconds = 0.0, meetings = 0.0;
  };
  using Paces = std::map<Work, Pace>;

  struct Trial {
    int change;    ///< of `halvings_`: 1 with fewer threads, -1 with more
    Paces before;  ///< of the size before it
    /// Seconds of the launches of known work since it began, and how many they would have been before it.
    double found = 0.0, expected = 0.0;
    double taken = 0.0;  ///< seconds of all launches since it began
  };

  void add_pace(const Work& work, double seconds, unsigned meetings);
  void try_on(const Work& work, double seconds, unsigned meetings) noexcept;
  void begin(int change, bool judged);
  void take_back(const Trial& trial) noexcept;
  void judge(const Trial& trial) noexcept;
  void end_trial() noexcept;

  int halvings_ = 0;
  Paces paces_;  ///< since the size was last changed; only of threads that meet
  std::optional<Trial> trial_;
  double excess_ = 0.0;      ///< seconds lost beyond a third of the time; falls while it is less
  double calm_ = 0.0;        ///< seconds of launches since the size was last changed or tried
  double patience_;          ///< seconds until more threads are tried
  double reluctance_ = 0.0;  ///< seconds until fewer threads are tried once more, after they were slower; 0 before that
};

}  // namespace heddle
