// Random fuzzy numbers, ordinary and hostile ones.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <random>

#include "heddle/kernels/fuzzy/midpoint_radius.hpp"

namespace heddle::test {

using Generator = std::mt19937_64;

/// Any bits that are a number; infinities too.
template <class T>
T any_number(Generator& random) {
  for (;;) {
    const std::uint64_t bits = random();
    T number;
    std::memcpy(&number, &bits, sizeof number);
    if (!std::isnan(number)) return number;
  }
}

/// Subnormal numbers, both zeros, the largest ones, neighbours of 1.
template <class T>
T hostile_number(Generator& random) {
  using fuzzy::Traits;
  const T normal = std::numeric_limits<T>::min(), unit = std::numeric_limits<T>::epsilon();
  const std::array numbers{T(0),
                           T(1),
                           Traits<T>::smallest,
                           Traits<T>::smallest * 3,
                           normal,
                           normal - Traits<T>::smallest,
                           1 + unit,
                           1 - unit / 2,
                           Traits<T>::largest,
                           Traits<T>::largest / 2,
                           T(0.1),
                           std::sqrt(Traits<T>::largest),
                           std::sqrt(normal),
                           T(709.78),
                           T(88.72),
                           T(-745.2),
                           T(-103.9),
                           unit,
                           T(2),
                           T(3)};
  const T number = numbers[random() % numbers.size()];
  return random() % 2 == 0 ? number : -number;
}

/// A number of about 1, to a factor of 2^spread either way.
template <class T>
T ordinary_number(Generator& random, int spread) {
  const double part = static_cast<double>(static_cast<std::int64_t>(random()) >> 10) * 0x1p-53;
  return static_cast<T>(std::ldexp(part, static_cast<int>(random() % static_cast<unsigned>(2 * spread + 1)) - spread));
}

template <class T>
T number_of_any_kind(Generator& random) {
  switch (random() % 8) {
    case 0:
      return any_number<T>(random);
    case 1:
      return hostile_number<T>(random);
    default:
      return ordinary_number<T>(random, random() % 2 == 0 ? 2 : 30);
  }
}

/// Cuts that lie within each other; now and then a point, one unit wide, or the whole line.
template <class T, int cuts>
void draw(Generator& random, fuzzy::LowerUpper<T, cuts>& number) {
  std::array<T, 2 * std::size_t{cuts}> bounds;
  const T at = number_of_any_kind<T>(random);
  const auto kind = random() % 8;
  for (T& bound : bounds) {
    if (kind == 0) {
      bound = at;
    } else if (kind == 1) {
      bound = random() % 2 == 0 ? at : std::nextafter(at, fuzzy::Traits<T>::infinity);
    } else if (kind <= 4) {
      bound = static_cast<T>(at * (1 + ordinary_number<T>(random, 1) / 8));
    } else {
      bound = number_of_any_kind<T>(random);
    }
    if (std::isinf(bound)) bound = std::copysign(fuzzy::Traits<T>::largest, bound);
  }
  std::sort(bounds.begin(), bounds.end());
  for (int i = 0; i < cuts; ++i) {
    number.set(i, {bounds[static_cast<std::size_t>(i)], bounds[bounds.size() - 1 - static_cast<std::size_t>(i)]});
  }
  if (random() % 64 == 0) number.set(0, fuzzy::whole_line<T>());
}
template <class T, int cuts>
void draw(Generator& random, fuzzy::MidpointRadius<T, cuts>& number) {
  number.midpoint = number_of_any_kind<T>(random);
  if (std::isinf(number.midpoint)) number.midpoint = fuzzy::Traits<T>::largest;
  const auto kind = random() % 8;
  for (T& radius : number.radius) {
    radius = std::abs(kind == 0   ? T(0)
                      : kind == 1 ? std::nextafter(std::abs(number.midpoint), fuzzy::Traits<T>::infinity) -
                                        std::abs(number.midpoint)
                      : kind <= 4 ? number.midpoint * ordinary_number<T>(random, 4)
                                  : number_of_any_kind<T>(random));
  }
  std::sort(std::begin(number.radius), std::end(number.radius), [](T a, T b) { return a > b; });
}

}  // namespace heddle::test
