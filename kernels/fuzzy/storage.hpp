// Where the numbers of an array lie in memory, and how kernels read and write them. For host and device code alike;
// compiled at run time too.
//
// A number has `components` components: 2 cuts in lower-upper form (lower_0, upper_0, lower_1, upper_1, ...), 1 + cuts
// in midpoint-radius form (midpoint, radius_0, radius_1, ...). Component c of number i of n is
//
//   layout   place
//   numbers  i * components + c     a number's components lie next to each other
//   cuts     c * n + i              an array for each component
//
// A kernel may work on some neighbouring cuts of a number alone: a slice, which is a number of fewer cuts. A slice in
// midpoint-radius form has the midpoint of the whole number.
#pragma once

#include "heddle/kernels/fuzzy/midpoint_radius.hpp"

namespace heddle::fuzzy {

/// The values of the axis "layout".
enum Layout : int { kNumbers = 1, kCuts = 2 };

namespace detail {

/// As many reals as lie next to each other on a multiple of the whole's size, up to 16 bytes: one access.
template <class T, int size>
struct alignas(sizeof(T) * size) Packed {
  T value[size];
};
/// The largest power of two that divides `size`, of at most 16 bytes.
template <class T>
constexpr int packed_size(int size) {
  int most = 1;
  while (size % (2 * most) == 0 && 2 * most * static_cast<int>(sizeof(T)) <= 16) most *= 2;
  return most;
}
template <int pack, int count, class T>
HEDDLE_EITHER void copy_packed(const T* from, T* to) {
  HEDDLE_UNROLL
  for (int k = 0; k < count; k += pack) {
    *reinterpret_cast<Packed<T, pack>*>(to + k) = *reinterpret_cast<const Packed<T, pack>*>(from + k);
  }
}

}  // namespace detail

/// An array of n numbers of `cuts` cuts of type T, in lower-upper form.
template <class T, int cuts, Layout layout>
struct LowerUpperArray {
  using Real = T;
  static constexpr int count_of_cuts = cuts, components = 2 * cuts;
  static constexpr Layout place = layout;
  template <int count>
  using Slice = LowerUpper<T, count>;

  /// Cuts first to first + count - 1 of number i. `first` is a multiple of `count`, which divides `cuts`; the array
  /// lies on a multiple of 16 bytes.
  template <int count>
  [[nodiscard]] static HEDDLE_EITHER Slice<count> load(const T* array, long long n, long long i, int first) {
    Slice<count> slice;
    if constexpr (layout == kNumbers) {
      constexpr int pack = detail::packed_size<T>(2 * count);
      alignas(16) T bounds[2 * count];
      detail::copy_packed<pack, 2 * count>(array + i * components + 2 * first, bounds);
      HEDDLE_UNROLL
      for (int k = 0; k < count; ++k) slice.set(k, {bounds[2 * k], bounds[2 * k + 1]});
    } else {
      const T* const from = array + 2 * first * n + i;
      HEDDLE_UNROLL
      for (int k = 0; k < count; ++k) slice.set(k, {from[2 * k * n], from[(2 * k + 1) * n]});
    }
    return slice;
  }
  template <int count>
  static HEDDLE_EITHER void store(T* array, long long n, long long i, int first, const Slice<count>& slice) {
    if constexpr (layout == kNumbers) {
      constexpr int pack = detail::packed_size<T>(2 * count);
      alignas(16) T bounds[2 * count];
      HEDDLE_UNROLL
      for (int k = 0; k < count; ++k) {
        bounds[2 * k] = slice.lower[k];
        bounds[2 * k + 1] = slice.upper[k];
      }
      detail::copy_packed<pack, 2 * count>(bounds, array + i * components + 2 * first);
    } else {
      T* const to = array + 2 * first * n + i;
      HEDDLE_UNROLL
      for (int k = 0; k < count; ++k) {
        to[2 * k * n] = slice.lower[k];
        to[(2 * k + 1) * n] = slice.upper[k];
      }
    }
  }
};

/// The same in midpoint-radius form.
template <class T, int cuts, Layout layout>
struct MidpointRadiusArray {
  using Real = T;
  static constexpr int count_of_cuts = cuts, components = 1 + cuts;
  static constexpr Layout place = layout;
  template <int count>
  using Slice = MidpointRadius<T, count>;

  template <int count>
  [[nodiscard]] static HEDDLE_EITHER Slice<count> load(const T* array, long long n, long long i, int first) {
    const long long stride = layout == kNumbers ? 1 : n;
    const T* const from = array + (layout == kNumbers ? i * components : i);
    Slice<count> slice;
    slice.midpoint = from[0];
    HEDDLE_UNROLL
    for (int k = 0; k < count; ++k) slice.radius[k] = from[(1 + first + k) * stride];
    return slice;
  }
  /// The slice with the first cut also writes the midpoint.
  template <int count>
  static HEDDLE_EITHER void store(T* array, long long n, long long i, int first, const Slice<count>& slice) {
    const long long stride = layout == kNumbers ? 1 : n;
    T* const to = array + (layout == kNumbers ? i * components : i);
    if (first == 0) to[0] = slice.midpoint;
    HEDDLE_UNROLL
    for (int k = 0; k < count; ++k) to[(1 + first + k) * stride] = slice.radius[k];
  }
};

}  // namespace heddle::fuzzy
