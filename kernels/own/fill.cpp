#include "heddle/kernels/own/fill.hpp"

#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>

#include "heddle/kernels/own/number_types.hpp"

namespace heddle {

namespace {

template <class Number>
Number drawn(const Fill& fill, Random& random) {
  if constexpr (!std::is_integral_v<Number>) {
    const double from = fill.usual ? -1.0 : fill.from, to = fill.usual ? 1.0 : fill.to;
    return static_cast<Number>(from + random.unit() * (to - from));
  } else {
    const double from = fill.usual ? 0.0 : fill.from, to = fill.usual ? 9.0 : fill.to;
    const auto count = static_cast<std::uint64_t>(to - from) + 1;
    return static_cast<Number>(static_cast<std::int64_t>(from) + static_cast<std::int64_t>(random.bits() % count));
  }
}

}  // namespace

std::vector<std::byte> filled(const Fill& fill, ElementType type, std::int64_t bytes, Random& random) {
  std::vector<std::byte> result(static_cast<std::size_t>(bytes));
  with_number(type, [&](auto sample) {
    using Number = decltype(sample);
    std::uint64_t index = 0;
    for (std::size_t at = 0; at + sizeof(Number) <= result.size(); at += sizeof(Number), ++index) {
      Number number{};
      if (fill.kind == Fill::Kind::random) number = drawn<Number>(fill, random);
      if (fill.kind == Fill::Kind::equal) number = static_cast<Number>(fill.from);
      if (fill.kind == Fill::Kind::index) {
        if constexpr (std::is_integral_v<Number>) {
          const auto most = static_cast<std::uint64_t>(std::numeric_limits<Number>::max());
          number = static_cast<Number>(most == std::numeric_limits<std::uint64_t>::max() ? index : index % (most + 1));
        } else {
          number = static_cast<Number>(static_cast<double>(index));
        }
      }
      std::memcpy(result.data() + at, &number, sizeof number);
    }
  });
  return result;
}

bool fits(const Fill& fill, ElementType type) {
  if (fill.kind == Fill::Kind::index || fill.kind == Fill::Kind::file || fill.usual) return true;
  return with_number(type, [&](auto sample) {
    using Number = decltype(sample);
    constexpr double kExact = 0x1p53;
    double most = 0.0, least = 0.0;
    if constexpr (std::is_arithmetic_v<Number>) {
      most = static_cast<double>(std::numeric_limits<Number>::max());
      least = static_cast<double>(std::numeric_limits<Number>::lowest());
    } else {
      most = Number::largest();
      least = -most;
    }
    const auto one = [&](double number) {
      if (!std::isfinite(number) || number < least || number > most) return false;
      return !std::is_integral_v<Number> || (number == std::floor(number) && std::abs(number) <= kExact);
    };
    return one(fill.from) && (fill.kind == Fill::Kind::equal || (one(fill.to) && fill.from <= fill.to));
  });
}

}  // namespace heddle
