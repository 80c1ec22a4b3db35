// What the time of a tuning run goes into.
#pragma once

namespace heddle {

/// Seconds of wall time, by activity of the tuner.
struct Effort {
  double waiting = 0.0;    ///< for the compiler
  double measuring = 0.0;  ///< preparation and warm-up included
  double verifying = 0.0;
  double total = 0.0;      ///< includes choosing and recording
  double compiling = 0.0;  ///< seconds of the compiler, part of them while something else was measured
  Effort& operator+=(const Effort& other);
};

}  // namespace heddle
