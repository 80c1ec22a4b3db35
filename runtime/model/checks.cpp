#include "heddle/runtime/model/checks.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "heddle/kernels/error.hpp"

namespace heddle {

void refuse_model(const std::string& source, const std::string& found, const std::string& expected) {
  throw Error(ErrorKind::input, fmt::format("{}: found {}, expected {}", source, found, expected));
}

void require(const std::string& source, const std::string& complaint) {
  if (!complaint.empty()) throw Error(ErrorKind::input, fmt::format("{}: found {}", source, complaint));
}

void check_range(const std::string& source, std::string_view what, double value, double least, double most) {
  if (!(value >= least && value <= most)) {
    refuse_model(source, fmt::format("{} {}", what, value), fmt::format("a number from {} to {}", least, most));
  }
}

std::string wrong_count(std::string_view what, std::size_t found, std::int64_t expected) {
  if (static_cast<std::int64_t>(found) == expected) return {};
  return fmt::format("{} {}, expected {}", found, what, expected);
}

template <class T>
std::string out_of_range(std::string_view what, std::span<const T> values, double least, double most) {
  const auto bad = std::find_if(values.begin(), values.end(), [&](T value) {
    const auto size = std::abs(static_cast<double>(value));
    return !(size >= least && size <= most);
  });
  if (bad == values.end()) return {};
  const std::string expected = !std::isfinite(*bad) ? "a finite number"
                               : least > 0.0        ? fmt::format("a number whose size is from {} to {}", least, most)
                                                    : fmt::format("a number whose size is at most {}", most);
  return fmt::format("{} at {} {}, expected {}", *bad, what, bad - values.begin() + 1, expected);
}
template std::string out_of_range<float>(std::string_view, std::span<const float>, double, double);
template std::string out_of_range<double>(std::string_view, std::span<const double>, double, double);

}  // namespace heddle
