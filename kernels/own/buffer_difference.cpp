#include "heddle/kernels/own/buffer_difference.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "heddle/kernels/arithmetic.hpp"
#include "heddle/kernels/own/small_real.hpp"
#include "heddle/kernels/verification.hpp"

namespace heddle {

namespace {

/// A single number may be so many times further off than all numbers together.
constexpr double kSingle = 10.0;

template <class Number>
double number_at(const std::vector<std::byte>& bytes, std::size_t at) {
  Number number{};
  std::memcpy(&number, bytes.data() + at, sizeof number);
  return static_cast<double>(number);
}

/// Whether something is there that was not there before the launch.
bool is_written(const std::vector<std::byte>& bytes, std::size_t at, std::size_t count) {
  return std::any_of(bytes.begin() + static_cast<std::ptrdiff_t>(at),
                     bytes.begin() + static_cast<std::ptrdiff_t>(at + count),
                     [](std::byte each) { return each != kPoison; });
}

/// 0 where nothing differs, and infinite where the quotient is not a number.
double relative(double difference, double size) {
  if (difference == 0.0) return 0.0;
  const double ratio = difference / size;
  return std::isnan(ratio) ? std::numeric_limits<double>::infinity() : ratio;
}

template <class Number>
double relative_difference(const std::vector<std::byte>& found, const std::vector<std::byte>& expected,
                           double absolute) {
  const auto same = [&](std::size_t at) {  // bytes: the same infinity, or nothing was written there
    if (std::memcmp(found.data() + at, expected.data() + at, sizeof(Number)) == 0) return true;
    const double a = number_at<Number>(found, at), b = number_at<Number>(expected, at);
    if (std::isnan(a) && std::isnan(b)) return is_written(found, at, sizeof(Number));
    return std::abs(a - b) <= absolute;
  };
  double error = 0.0, norm = 0.0;
  for (std::size_t at = 0; at + sizeof(Number) <= expected.size(); at += sizeof(Number)) {
    const double b = number_at<Number>(expected, at);
    if (!same(at)) error += square(number_at<Number>(found, at) - b);
    if (!same(at) || std::isfinite(b)) norm += square(b);
  }
  if (error == 0.0) return 0.0;
  double worst = relative(std::sqrt(error), std::sqrt(norm));
  const double root_mean_square = std::sqrt(norm / (static_cast<double>(expected.size()) / sizeof(Number)));
  for (std::size_t at = 0; at + sizeof(Number) <= expected.size(); at += sizeof(Number)) {
    if (same(at)) continue;
    const double b = number_at<Number>(expected, at);
    const double apart = std::abs(number_at<Number>(found, at) - b);
    worst = std::max(worst, relative(apart, kSingle * std::max(std::abs(b), root_mean_square)));
  }
  return worst;
}

}  // namespace

double buffer_difference(ElementType type, const std::vector<std::byte>& found, const std::vector<std::byte>& expected,
                         double absolute) {
  if (found.size() != expected.size()) return std::numeric_limits<double>::infinity();
  if (found == expected) return 0.0;  // most configurations add up in the same order
  if (type == ElementType::float32) return relative_difference<float>(found, expected, absolute);
  if (type == ElementType::float64) return relative_difference<double>(found, expected, absolute);
  if (type == ElementType::float16) return relative_difference<Float16>(found, expected, absolute);
  if (type == ElementType::bfloat16) return relative_difference<BFloat16>(found, expected, absolute);
  return found == expected ? 0.0 : std::numeric_limits<double>::infinity();
}

}  // namespace heddle
