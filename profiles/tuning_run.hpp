// A tuning run as the profile database knows it.
#pragma once

#include <cstdint>

namespace heddle {

/// One call of the tuner, which may take several processes: a killed one is continued.
struct TuningRun {
  std::int64_t id = 0;   ///< from 1
  bool resumed = false;  ///< an earlier process has worked at it
  double seconds = 0.0;  ///< what earlier processes spent
};

}  // namespace heddle
