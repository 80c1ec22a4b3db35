// What the buffers of a defined kernel hold while it is tuned.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "heddle/kernels/own/element_type.hpp"
#include "heddle/kernels/random.hpp"

namespace heddle {

/// Of a buffer that has contents before the kernel runs.
struct Fill {
  enum class Kind {
    random,  ///< evenly distributed from `from` to `to`, seeded; whole numbers include both ends
    equal,   ///< all are `from`
    index,   ///< 0, 1, 2, ..., where whole numbers of the type begin again after their largest one
    file     ///< those of a file (read_array())
  };
  Kind kind = Kind::random;
  /// Both absent in a definition: reals from -1 to 1, whole numbers from 0 to 9.
  double from = 0.0, to = 0.0;
  bool usual = true;  ///< `from` and `to` are the usual ones of the type
  /// By its path from KernelDefinition::folder; {...} stands for the value of an expression over the sizes.
  std::string file = {};

  bool operator==(const Fill&) const = default;
};

/// Numbers of `type`, of a kind that needs no file. Bytes behind the last whole number are 0.
[[nodiscard]] std::vector<std::byte> filled(const Fill& fill, ElementType type, std::int64_t bytes, Random& random);
/// Whether all numbers that `fill` makes are ones of `type`. Whole ones from -2^53 to 2^53.
[[nodiscard]] bool fits(const Fill& fill, ElementType type);

}  // namespace heddle
