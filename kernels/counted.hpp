// How many there are of something, as a message says it.
#pragma once

#include <fmt/format.h>

#include <string>
#include <string_view>
#include <type_traits>

namespace heddle {

/// "1 row", "2 rows", "0 rows". `plural`: where an s does not make it.
template <typename Number>
requires std::is_arithmetic_v<Number>
[[nodiscard]] std::string counted(Number count, std::string_view one, std::string_view plural = {}) {
  if (count == 1) return fmt::format("1 {}", one);
  return plural.empty() ? fmt::format("{} {}s", count, one) : fmt::format("{} {}", count, plural);
}

}  // namespace heddle
