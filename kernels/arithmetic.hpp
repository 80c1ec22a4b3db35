// Small arithmetic that host code needs everywhere.
#pragma once

#include <cstddef>
#include <cstdint>

namespace heddle {

/// An index into a container, from the signed sizes that problems and networks have. Must not be negative.
[[nodiscard]] constexpr std::size_t at(std::int64_t index) { return static_cast<std::size_t>(index); }
[[nodiscard]] constexpr double square(double value) { return value * value; }

}  // namespace heddle
