// Time on the host's clock.
#pragma once

#include <chrono>

namespace heddle::bench {

/// Runs from the moment it is made.
class Stopwatch {
 public:
  [[nodiscard]] double seconds() const { return std::chrono::duration<double>(Clock::now() - start_).count(); }

 private:
  using Clock = std::chrono::steady_clock;
  Clock::time_point start_ = Clock::now();
};

/// Seconds that `run` takes.
template <class Run>
[[nodiscard]] double seconds_of(const Run& run) {
  const Stopwatch watch;
  run();
  return watch.seconds();
}

}  // namespace heddle::bench
