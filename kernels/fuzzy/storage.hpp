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

/// The form of an array, as launches give it to kernels.
struct ArrayForm {
  long long numbers;
  int cuts;
  int bits;    ///< of a component: 32 or 64
  int layout;  ///< a Layout
};

namespace detail {

/// As many reals as lie next to each other on a multiple of the whole's size, up to 16 bytes: one access.
template <class T, int size>
struct alignas(sizeof(T) * size) Packed {
  T value[size];
};
/// The largest power of two that divides `size`, of at most 16 bytes.
template <class T, int size>
constexpr int packed_size = size % 4 == 0 && sizeof(T) == 4 ? 4
                            : size % 2 == 0                 ? 2
                                                            : 1;
template <int pack, int count, class T>
HEDDLE_EITHER void copy_packed(const T* from, T* to) {
  HEDDLE_UNROLL
  for (int k = 0; k < count; k += pack) {
    *reinterpret_cast<Packed<T, pack>*>(to + k) = *reinterpret_cast<const Packed<T, pack>*>(from + k);
  }
}

}  // namespace detail

/// An array of n numbers of `cuts` cuts of type T, in lower-upper form. The array lies on a multiple of 16 bytes.
template <class T, int cuts, Layout layout>
struct LowerUpperArray {
  using Real = T;
  static constexpr int count_of_cuts = cuts, components = 2 * cuts;
  static constexpr Layout place = layout;
  template <int count>
  using Slice = LowerUpper<T, count>;

  /// Cuts first to first + count - 1 of the numbers i to i + numbers - 1. `first` is a multiple of `count`, which
  /// divides `cuts`. More than one number: only in the layout kCuts, where i and n are multiples of their count.
  template <int numbers, int count>
  static HEDDLE_EITHER void load_some(const T* array, long long n, long long i, int first,
                                      LowerUpper<T, count> (&slices)[numbers]) {
    if constexpr (layout == kNumbers) {
      constexpr int pack = detail::packed_size<T, 2 * count>;
      alignas(16) T bounds[2 * count];
      detail::copy_packed<pack, 2 * count>(array + i * components + 2 * first, bounds);
      HEDDLE_UNROLL
      for (int k = 0; k < count; ++k) slices[0].set(k, {bounds[2 * k], bounds[2 * k + 1]});
    } else {
      HEDDLE_UNROLL
      for (int k = 0; k < count; ++k) {
        const T* const from = array + 2 * (first + k) * n + i;
        alignas(16) T lower[numbers], upper[numbers];
        detail::copy_packed<numbers, numbers>(from, lower);
        detail::copy_packed<numbers, numbers>(from + n, upper);
        HEDDLE_UNROLL
        for (int v = 0; v < numbers; ++v) slices[v].set(k, {lower[v], upper[v]});
      }
    }
  }
  template <int numbers, int count>
  static HEDDLE_EITHER void store_some(T* array, long long n, long long i, int first,
                                       const LowerUpper<T, count> (&slices)[numbers]) {
    if constexpr (layout == kNumbers) {
      constexpr int pack = detail::packed_size<T, 2 * count>;
      alignas(16) T bounds[2 * count];
      HEDDLE_UNROLL
      for (int k = 0; k < count; ++k) {
        bounds[2 * k] = slices[0].lower[k];
        bounds[2 * k + 1] = slices[0].upper[k];
      }
      detail::copy_packed<pack, 2 * count>(bounds, array + i * components + 2 * first);
    } else {
      HEDDLE_UNROLL
      for (int k = 0; k < count; ++k) {
        T* const to = array + 2 * (first + k) * n + i;
        alignas(16) T lower[numbers], upper[numbers];
        HEDDLE_UNROLL
        for (int v = 0; v < numbers; ++v) {
          lower[v] = slices[v].lower[k];
          upper[v] = slices[v].upper[k];
        }
        detail::copy_packed<numbers, numbers>(lower, to);
        detail::copy_packed<numbers, numbers>(upper, to + n);
      }
    }
  }
  /// The same of one number.
  template <int count>
  [[nodiscard]] static HEDDLE_EITHER LowerUpper<T, count> load(const T* array, long long n, long long i, int first) {
    LowerUpper<T, count> slice[1];
    load_some<1>(array, n, i, first, slice);
    return slice[0];
  }
  template <int count>
  static HEDDLE_EITHER void store(T* array, long long n, long long i, int first, const LowerUpper<T, count>& slice) {
    const LowerUpper<T, count> slices[1] = {slice};
    store_some<1>(array, n, i, first, slices);
  }
};

/// The same in midpoint-radius form. The slice with the first cut also writes the midpoint.
template <class T, int cuts, Layout layout>
struct MidpointRadiusArray {
  using Real = T;
  static constexpr int count_of_cuts = cuts, components = 1 + cuts;
  static constexpr Layout place = layout;
  template <int count>
  using Slice = MidpointRadius<T, count>;

  template <int numbers, int count>
  static HEDDLE_EITHER void load_some(const T* array, long long n, long long i, int first,
                                      MidpointRadius<T, count> (&slices)[numbers]) {
    const long long stride = layout == kNumbers ? 1 : n;
    const T* const from = array + (layout == kNumbers ? i * components : i);
    alignas(16) T row[numbers];
    detail::copy_packed<numbers, numbers>(from, row);
    HEDDLE_UNROLL
    for (int v = 0; v < numbers; ++v) slices[v].midpoint = row[v];
    HEDDLE_UNROLL
    for (int k = 0; k < count; ++k) {
      detail::copy_packed<numbers, numbers>(from + (1 + first + k) * stride, row);
      HEDDLE_UNROLL
      for (int v = 0; v < numbers; ++v) slices[v].radius[k] = row[v];
    }
  }
  template <int numbers, int count>
  static HEDDLE_EITHER void store_some(T* array, long long n, long long i, int first,
                                       const MidpointRadius<T, count> (&slices)[numbers]) {
    const long long stride = layout == kNumbers ? 1 : n;
    T* const to = array + (layout == kNumbers ? i * components : i);
    alignas(16) T row[numbers];
    if (first == 0) {
      HEDDLE_UNROLL
      for (int v = 0; v < numbers; ++v) row[v] = slices[v].midpoint;
      detail::copy_packed<numbers, numbers>(row, to);
    }
    HEDDLE_UNROLL
    for (int k = 0; k < count; ++k) {
      HEDDLE_UNROLL
      for (int v = 0; v < numbers; ++v) row[v] = slices[v].radius[k];
      detail::copy_packed<numbers, numbers>(row, to + (1 + first + k) * stride);
    }
  }
  template <int count>
  [[nodiscard]] static HEDDLE_EITHER MidpointRadius<T, count> load(const T* array, long long n, long long i,
                                                                   int first) {
    MidpointRadius<T, count> slice[1];
    load_some<1>(array, n, i, first, slice);
    return slice[0];
  }
  template <int count>
  static HEDDLE_EITHER void store(T* array, long long n, long long i, int first,
                                  const MidpointRadius<T, count>& slice) {
    const MidpointRadius<T, count> slices[1] = {slice};
    store_some<1>(array, n, i, first, slices);
  }
};

}  // namespace heddle::fuzzy
