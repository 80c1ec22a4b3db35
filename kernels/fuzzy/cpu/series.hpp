// The series c = a c + b, `terms` times, for every number of three arrays, on a CPU: series.hpp says how. Compiled at
// run time, and at build time for the configurations that need no compiler.
//
// A thread takes tiles of numbers in turn. Where there are directed vectors, a vector holds the same cut of
// neighbouring numbers, and some cuts at a time hide the latency of a chain. Numbers that are not usual, and all
// numbers where there are no such vectors, are done one by one.
//
//   parameter  meaning
//   W          floats in a vector of the instruction set
//   tile       numbers that a thread takes at a time
#pragma once

#include "heddle/kernels/common/cpu_launch.hpp"
#include "heddle/kernels/fuzzy/cpu/directed.hpp"
#include "heddle/kernels/fuzzy/series.hpp"
#include "heddle/kernels/fuzzy/storage.hpp"

namespace heddle::fuzzy::cpu {
namespace {

using heddle::cpu::LaunchContext;

/// The arrays of one launch: a, b, c and the result, with the steps from a number and from a component to the next.
template <class T>
struct SeriesArrays {
  const T* input[3];
  T* result;
  long long number_step, component_step;
  int cuts, terms;

  [[nodiscard]] const T* at(int which, long long i, int component) const {
    return input[which] + i * number_step + component * component_step;
  }
  [[nodiscard]] T* out(long long i, int component) const {
    return result + i * number_step + component * component_step;
  }
};

template <class T>
Interval<T> interval_at(const SeriesArrays<T>& arrays, int which, long long i, int cut) {
  return {*arrays.at(which, i, 2 * cut), *arrays.at(which, i, 2 * cut + 1)};
}
template <class T>
LowerUpper<T, 1> cut_at(const SeriesArrays<T>& arrays, int which, long long i, int cut) {
  LowerUpper<T, 1> number;
  number.set(0, interval_at(arrays, which, i, cut));
  return number;
}
template <class T>
MidpointRadius<T, 1> radius_at(const SeriesArrays<T>& arrays, int which, long long i, int cut) {
  MidpointRadius<T, 1> number;
  number.midpoint = *arrays.at(which, i, 0);
  number.radius[0] = *arrays.at(which, i, 1 + cut);
  return number;
}

/// One cut of one number in lower-upper form.
template <class T>
void one_bounds(const SeriesArrays<T>& arrays, long long i, int cut) {
  const LowerUpper<T, 1> number =
      series(cut_at(arrays, 0, i, cut), cut_at(arrays, 1, i, cut), cut_at(arrays, 2, i, cut), arrays.terms);
  *arrays.out(i, 2 * cut) = number.lower[0];
  *arrays.out(i, 2 * cut + 1) = number.upper[0];
}
/// One cut of one number in midpoint-radius form.
template <class T>
void one_radius(const SeriesArrays<T>& arrays, long long i, int cut) {
  const MidpointRadius<T, 1> number =
      series(radius_at(arrays, 0, i, cut), radius_at(arrays, 1, i, cut), radius_at(arrays, 2, i, cut), arrays.terms);
  *arrays.out(i, 0) = number.midpoint;
  *arrays.out(i, 1 + cut) = number.radius[0];
}

#if HEDDLE_DIRECTED_VECTORS
/// `group` cuts of a vector of numbers in lower-upper form.
template <class T, int group>
void vector_of_bounds(const SeriesArrays<T>& arrays, long long i, int first_cut) {
  constexpr int lanes = Directed<T>::lanes, chains = 2 * group;
  Vector<T> x[chains], odd[chains], even[chains], low[group], high[group];
  bool usual[group][lanes], exchanged[group][lanes];
  for (int g = 0; g < group; ++g) {
    const int cut = first_cut + g;
    for (int l = 0; l < lanes; ++l) {
      const Interval<T> a = interval_at(arrays, 0, i + l, cut), b = interval_at(arrays, 1, i + l, cut),
                        c = interval_at(arrays, 2, i + l, cut);
      const bool negative = a.upper <= T(0);
      usual[g][l] =
          (negative || a.lower >= T(0)) && detail::is_finite(a) && detail::is_finite(b) && detail::is_finite(c);
      exchanged[g][l] = negative && arrays.terms % 2 != 0;
      low[g][l] = negative ? -a.upper : a.lower;
      high[g][l] = negative ? -a.lower : a.upper;
      x[2 * g][l] = c.lower;
      x[2 * g + 1][l] = -c.upper;
      even[2 * g][l] = b.lower;
      even[2 * g + 1][l] = -b.upper;
      odd[2 * g][l] = negative ? -b.upper : b.lower;
      odd[2 * g + 1][l] = negative ? b.lower : -b.upper;
    }
  }
  const auto step = [&](const Vector<T>(&addend)[chains]) {
#pragma GCC unroll 16
    for (int k = 0; k < chains; ++k) {
      const Vector<T> factor = x[k] < T(0) ? high[k / 2] : low[k / 2];
      x[k] = add_down(multiply_down(factor, x[k]), addend[k]);
    }
  };
  {
    const RoundingMode mode(Rounding::down);
    for (int term = 0; term + 2 <= arrays.terms; term += 2) {
      step(odd);
      step(even);
    }
    if (arrays.terms % 2 != 0) step(odd);
  }
  for (int g = 0; g < group; ++g) {
    const int cut = first_cut + g;
    for (int l = 0; l < lanes; ++l) {
      if (!usual[g][l]) {
        one_bounds(arrays, i + l, cut);
        continue;
      }
      const T p = x[2 * g][l], q = x[2 * g + 1][l];
      const Interval<T> bounds = exchanged[g][l] ? closed(q, -p) : closed(p, -q);
      *arrays.out(i + l, 2 * cut) = bounds.lower;
      *arrays.out(i + l, 2 * cut + 1) = bounds.upper;
    }
  }
}

/// `group` cuts of a vector of numbers in midpoint-radius form.
template <class T, int group>
void vector_of_radii(const SeriesArrays<T>& arrays, long long i, int first_cut) {
  constexpr int lanes = Directed<T>::lanes;
  Vector<T> factor, addend, midpoint, alpha[group], beta[group], farthest[group], radius[group];
  for (int l = 0; l < lanes; ++l) {
    factor[l] = *arrays.at(0, i + l, 0);
    addend[l] = *arrays.at(1, i + l, 0);
    midpoint[l] = *arrays.at(2, i + l, 0);
    for (int g = 0; g < group; ++g) {
      alpha[g][l] = *arrays.at(0, i + l, 1 + first_cut + g);
      beta[g][l] = *arrays.at(1, i + l, 1 + first_cut + g);
      radius[g][l] = *arrays.at(2, i + l, 1 + first_cut + g);
    }
  }
  {
    const RoundingMode mode(Rounding::up);
    for (int g = 0; g < group; ++g) farthest[g] = add_up(magnitude(factor), alpha[g]);
  }
  const Vector<T> half_unit = Vector<T>{} + Traits<T>::half_unit;
  const auto step = [&](const Vector<T>& size, const Vector<T>& size_of_product, const Vector<T>& size_of_sum) {
    // U(e s + h), the smallest number h added without an addition: some processors take a hundred cycles for one whose
    // operand is subnormal. An infinite size leaves no number, and the cut is then done alone.
    const Vector<T> rounding = next_above(multiply_up(half_unit, size_of_product));
#pragma GCC unroll 16
    for (int g = 0; g < group; ++g) {
      const Vector<T> of_product = fused_up(alpha[g], size, fused_up(farthest[g], radius[g], rounding));
      radius[g] = add_up(fused_up(half_unit, size_of_sum, of_product), beta[g]);
    }
  };
  // The midpoints of so many terms, rounded to nearest, before their radii, rounded upwards.
  constexpr int run = kRoundingInInstruction ? 1 : 64;
  Vector<T> size[run + 1], size_of_product[run];
  for (int term = 0; term < arrays.terms; term += run) {
    const int count = arrays.terms - term < run ? arrays.terms - term : run;
    size[0] = magnitude(midpoint);
    for (int t = 0; t < count; ++t) {
      const Vector<T> product = multiply_near(factor, midpoint);
      size_of_product[t] = magnitude(product);
      midpoint = add_near(product, addend);
      size[t + 1] = magnitude(midpoint);
    }
    const RoundingMode mode(Rounding::up);
    for (int t = 0; t < count; ++t) step(size[t], size_of_product[t], size[t + 1]);
  }
  for (int g = 0; g < group; ++g) {
    for (int l = 0; l < lanes; ++l) {
      if (!detail::is_midpoint(midpoint[l]) || radius[g][l] != radius[g][l]) {
        one_radius(arrays, i + l, first_cut + g);
        continue;
      }
      *arrays.out(i + l, 0) = midpoint[l];
      *arrays.out(i + l, 1 + first_cut + g) = radius[g][l];
    }
  }
}
#endif

/// All cuts of the numbers from `begin` to `end`.
template <class T, bool bounds>
void series_of_tile(const SeriesArrays<T>& arrays, long long begin, long long end) {
  long long i = begin;
#if HEDDLE_DIRECTED_VECTORS
  // So many chains hide the latency of each other; with AVX2 more of bounds would not fit into the registers.
  constexpr int group = HEDDLE_DIRECTED_VECTORS == 32 && bounds ? 2 : 4;
  for (; i + Directed<T>::lanes <= end; i += Directed<T>::lanes) {
    int cut = 0;
    for (; cut + group <= arrays.cuts; cut += group) {
      if constexpr (bounds) {
        vector_of_bounds<T, group>(arrays, i, cut);
      } else {
        vector_of_radii<T, group>(arrays, i, cut);
      }
    }
    for (; cut < arrays.cuts; ++cut) {
      if constexpr (bounds) {
        vector_of_bounds<T, 1>(arrays, i, cut);
      } else {
        vector_of_radii<T, 1>(arrays, i, cut);
      }
    }
  }
#endif
  for (; i < end; ++i) {
    for (int cut = 0; cut < arrays.cuts; ++cut) {
      if constexpr (bounds) {
        one_bounds(arrays, i, cut);
      } else {
        one_radius(arrays, i, cut);
      }
    }
  }
}

template <class T, bool bounds>
void series_of_arrays(const LaunchContext& context, void* const* a, int tile) {
  const auto form = *static_cast<const ArrayForm*>(a[4]);
  const long long components = bounds ? 2LL * form.cuts : 1LL + form.cuts;
  const bool together = form.layout == kNumbers;
  const SeriesArrays<T> arrays{{static_cast<const T*>(a[0]), static_cast<const T*>(a[1]), static_cast<const T*>(a[2])},
                               static_cast<T*>(a[3]),
                               together ? components : 1,
                               together ? 1 : form.numbers,
                               form.cuts,
                               *static_cast<const int*>(a[5])};
  const long long tiles = (form.numbers + tile - 1) / tile;
  for (long long each = context.thread; each < tiles; each += context.threads) {
    const long long begin = each * tile, end = begin + tile;
    series_of_tile<T, bounds>(arrays, begin, end < form.numbers ? end : form.numbers);
  }
}

template <int W, int tile>
void series_lu(const LaunchContext& context, void* const* a) {
  static_cast<const ArrayForm*>(a[4])->bits == 32 ? series_of_arrays<float, true>(context, a, tile)
                                                  : series_of_arrays<double, true>(context, a, tile);
}
template <int W, int tile>
void series_mr(const LaunchContext& context, void* const* a) {
  static_cast<const ArrayForm*>(a[4])->bits == 32 ? series_of_arrays<float, false>(context, a, tile)
                                                  : series_of_arrays<double, false>(context, a, tile);
}

}  // namespace
}  // namespace heddle::fuzzy::cpu
