// Paths through kernels that are tried by name.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace heddle::contract {

/// Paths through a kernel that neither a value of a parameter nor problems() lead to.
struct Path {
  const char* family;
  std::vector<std::pair<const char*, std::int64_t>> sizes;  ///< others are those of the awkward problem
  std::string configuration;
  bool gpu_only = false;  ///< too large for the emulator
  /// The space allows it only for larger problems, where it pays. Kernels have to be right on small ones too, which the
  /// emulator and sanitizers can do.
  bool too_small = false;
};

[[nodiscard]] const std::vector<Path>& paths();

}  // namespace heddle::contract
