// The energy of a launch, from a counter that moves less often than kernels end.
#pragma once

#include <functional>
#include <optional>

namespace heddle {

struct EnergySource {
  std::function<std::optional<double>()> joules;  ///< since any fixed moment; nothing: there is no counter
  std::function<void()> launch;                   ///< submits one launch
  std::function<void()> wait;                     ///< until all that was submitted has ended
  std::function<double()> now = {};               ///< seconds since any fixed moment; empty: the steady clock
};

/// Joules of one launch. Launches follow each other without a pause: at first until clocks and power have followed the
/// load, then from one move of the counter to another one at least a second later. What is uncertain is when, between
/// two looks at the counter, it moved: about 1 %, or a launch if that is longer. Nothing if there is no counter, or if
/// it does not move for ten seconds and ten launches.
[[nodiscard]] std::optional<double> joules_of_launch(const EnergySource& source);

}  // namespace heddle
