// Single cuts of arrays in the host's memory.
#pragma once

#include <cstdint>

#include "heddle/kernels/fuzzy/problem.hpp"

namespace heddle::fuzzy {

template <class T>
void read_cut(const ArrayShape& shape, const T* array, std::int64_t i, std::int64_t cut, LowerUpper<T, 1>& one) {
  one.set(0, {array[shape.place(i, 2 * cut)], array[shape.place(i, 2 * cut + 1)]});
}
template <class T>
void read_cut(const ArrayShape& shape, const T* array, std::int64_t i, std::int64_t cut, MidpointRadius<T, 1>& one) {
  one.midpoint = array[shape.place(i, 0)];
  one.radius[0] = array[shape.place(i, 1 + cut)];
}

template <class T>
void write_cut(const ArrayShape& shape, T* array, std::int64_t i, std::int64_t cut, const LowerUpper<T, 1>& one) {
  array[shape.place(i, 2 * cut)] = one.lower[0];
  array[shape.place(i, 2 * cut + 1)] = one.upper[0];
}
template <class T>
void write_cut(const ArrayShape& shape, T* array, std::int64_t i, std::int64_t cut, const MidpointRadius<T, 1>& one) {
  array[shape.place(i, 0)] = one.midpoint;
  array[shape.place(i, 1 + cut)] = one.radius[0];
}

/// Calls `use` with a number of one cut of the type that arrays of this shape have.
template <class Use>
decltype(auto) with_number_of(const ArrayShape& shape, const Use& use) {
  if (shape.encoding == Encoding::lower_upper) {
    return shape.is_double() ? use(LowerUpper<double, 1>()) : use(LowerUpper<float, 1>());
  }
  return shape.is_double() ? use(MidpointRadius<double, 1>()) : use(MidpointRadius<float, 1>());
}

}  // namespace heddle::fuzzy
