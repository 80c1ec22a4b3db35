#include "heddle/runtime/model/checks.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>

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

namespace {

template <class T>
using Bits = std::conditional_t<sizeof(T) == sizeof(std::int32_t), std::int32_t, std::int64_t>;

/// The bits of |value| as an integer. They order as sizes do, and what is not a number comes behind infinity. Compilers
/// compare several integers at a time.
template <class T>
Bits<T> magnitude(T value) {
  return std::bit_cast<Bits<T>>(value) & std::numeric_limits<Bits<T>>::max();
}

/// The sizes of T from `least` to `most`.
template <class T>
class Magnitudes {
 public:
  Magnitudes(double least, double most) {
    constexpr double kLargest = std::numeric_limits<T>::max();
    constexpr T kInfinity = std::numeric_limits<T>::infinity();
    T first = static_cast<T>(std::min(least, kLargest)), last = static_cast<T>(std::min(most, kLargest));
    if (static_cast<double>(first) < least) first = std::nextafter(first, kInfinity);
    if (static_cast<double>(last) > most) last = std::nextafter(last, T{0});
    first_ = magnitude(first);
    last_ = magnitude(last);
  }
  [[nodiscard]] bool contain(T value) const {
    const Bits<T> size = magnitude(value);
    return (size >= first_) & (size <= last_);
  }

 private:
  Bits<T> first_, last_;
};

/// The place of the first value whose size is not one of `sizes`, or the number of values.
template <class T>
std::size_t first_outside(const Magnitudes<T>& sizes, std::span<const T> values) {
  Bits<T> outside = 0;  // looked for to the end, several at a time: whole models pass after every epoch
  for (const T value : values) outside |= sizes.contain(value) ? 0 : 1;
  if (outside == 0) return values.size();
  const auto first = std::ranges::find_if_not(values, [&](T value) { return sizes.contain(value); });
  return static_cast<std::size_t>(first - values.begin());
}

}  // namespace

template <class T>
std::string out_of_range(std::string_view what, std::span<const T> values, double least, double most) {
  const std::size_t place = first_outside(Magnitudes<T>(least, most), values);
  if (place == values.size()) return {};
  const T bad = values[place];
  const std::string expected = !std::isfinite(bad) ? "a finite number"
                               : least > 0.0       ? fmt::format("a number whose size is from {} to {}", least, most)
                                                   : fmt::format("a number whose size is at most {}", most);
  return fmt::format("{} at {} {}, expected {}", bad, what, place + 1, expected);
}
template std::string out_of_range<float>(std::string_view, std::span<const float>, double, double);
template std::string out_of_range<double>(std::string_view, std::span<const double>, double, double);

}  // namespace heddle
