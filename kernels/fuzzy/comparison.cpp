#include "heddle/kernels/fuzzy/comparison.hpp"

#include <fmt/format.h>

#include <cstring>
#include <limits>
#include <optional>
#include <string>
#include <vector>

namespace heddle::fuzzy {
namespace {

template <class T>
T real_at(const std::vector<std::byte>& bytes, std::size_t index) {
  T value;
  std::memcpy(&value, bytes.data() + index * sizeof(T), sizeof(T));
  return value;
}

/// The first real that differs, in words.
template <class T>
std::optional<std::string> difference(const std::vector<std::byte>& found, const std::vector<std::byte>& expected) {
  if (found.size() < expected.size()) return fmt::format("has {} bytes of {}", found.size(), expected.size());
  if (expected.empty() || std::memcmp(found.data(), expected.data(), expected.size()) == 0) return std::nullopt;
  std::size_t wrong = 0, first = 0;
  const std::size_t all = expected.size() / sizeof(T);
  for (std::size_t i = 0; i < all; ++i) {
    const bool same = std::memcmp(found.data() + i * sizeof(T), expected.data() + i * sizeof(T), sizeof(T)) == 0;
    if (same || (real_at<T>(found, i) == T(0) && real_at<T>(expected, i) == T(0))) continue;
    if (wrong++ == 0) first = i;
  }
  if (wrong == 0) return std::nullopt;
  return fmt::format("{} of {} reals differ, the first at {}: {} instead of {}", wrong, all, first,
                     real_at<T>(found, first), real_at<T>(expected, first));
}

}  // namespace

Accuracy compare_bits(const HostImage& found, const HostImage& expected, std::int64_t bits) {
  for (const auto& [name, right] : expected) {
    const std::vector<std::byte>& own = found.at(name);
    const auto why = bits == 32 ? difference<float>(own, right) : difference<double>(own, right);
    if (!why) continue;
    return {.accepted = false,
            .worst_error = std::numeric_limits<double>::infinity(),
            .message = fmt::format("{}: {}", name, *why)};
  }
  return {.accepted = true, .worst_error = 0.0, .message = {}};
}

}  // namespace heddle::fuzzy
