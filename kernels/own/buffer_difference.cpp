#include "heddle/kernels/own/buffer_difference.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

namespace heddle {

namespace {

template <class Number>
double relative_difference(const std::vector<std::byte>& found, const std::vector<std::byte>& expected) {
  double error = 0.0, norm = 0.0;
  for (std::size_t at = 0; at + sizeof(Number) <= expected.size(); at += sizeof(Number)) {
    Number a{}, b{};
    const std::byte *const one = found.data() + at, *const other = expected.data() + at;
    std::memcpy(&a, one, sizeof a);
    std::memcpy(&b, other, sizeof b);
    if (std::equal(one, one + sizeof a, other)) {
      if (std::isfinite(static_cast<double>(b))) norm += static_cast<double>(b) * static_cast<double>(b);
      continue;  // the same infinity, or nothing was written there
    }
    const double apart = static_cast<double>(a) - static_cast<double>(b);
    error += apart * apart;
    norm += static_cast<double>(b) * static_cast<double>(b);
  }
  if (error == 0.0) return 0.0;
  const double relative = std::sqrt(error / norm);
  return std::isnan(relative) ? std::numeric_limits<double>::infinity() : relative;
}

}  // namespace

double buffer_difference(ElementType type, const std::vector<std::byte>& found,
                         const std::vector<std::byte>& expected) {
  if (found.size() != expected.size()) return std::numeric_limits<double>::infinity();
  if (type == ElementType::float32) return relative_difference<float>(found, expected);
  if (type == ElementType::float64) return relative_difference<double>(found, expected);
  return found == expected ? 0.0 : std::numeric_limits<double>::infinity();
}

}  // namespace heddle
