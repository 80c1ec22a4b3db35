// The environment that a profile was made in, and whether the present one is the same.
#pragma once

#include <string>

#include "heddle/profiles/measurement.hpp"

namespace heddle {

/// Everything that decides which configuration is the fastest, besides the device and the kernels (PresentKernels).
struct Environment {
  std::string driver, compiler;
  std::string clocks;  ///< under load
};

/// Why `profile` has to be measured again: the driver or the compiler are others than it was made with, or some clock
/// differs by more than a tenth. Empty if nothing has changed; what is not known has not changed.
[[nodiscard]] std::string change_since(const Profile& profile, const Environment& now);

}  // namespace heddle
