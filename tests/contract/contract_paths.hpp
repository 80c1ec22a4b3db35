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
  /// Where it is tried. The space allows some only for problems that fill a GPU: the emulator tries them on small ones.
  enum class On { all, gpu, emulator } on = On::all;
};

[[nodiscard]] const std::vector<Path>& paths();

}  // namespace heddle::contract
