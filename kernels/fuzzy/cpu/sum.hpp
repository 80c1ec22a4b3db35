// Sums and dot products of fuzzy numbers on a CPU, in the order of sums.hpp. Compiled at run time, and at build time
// for the configurations that need no compiler.
//
// Threads take blocks of 2048 terms of one cut in turn; their results wait in `partial` until all are there. One thread
// adds those up.
//
//   parameter  meaning
//   W          floats in a vector of the instruction set
//   Bounds     whether numbers are in lower-upper form; else midpoint-radius
#pragma once

#include "heddle/kernels/common/cpu_launch.hpp"
#include "heddle/kernels/fuzzy/cut_view.hpp"
#include "heddle/kernels/fuzzy/sums.hpp"

namespace heddle::fuzzy::cpu {
namespace {

using heddle::cpu::LaunchContext;

template <class Number>
Number number_at(const typename Number::Real* array, const CutView& view, long long i) {
  Number number;
  load_cut(array, view, i, number);
  return number;
}

inline int terms_of_block(long long numbers, long long block) {
  const long long left = numbers - block * kBlockTerms;
  return static_cast<int>(left < kBlockTerms ? left : kBlockTerms);
}

/// `add(sum, view, i)` adds term i of a cut.
template <class Number, class Add>
void add_up_terms(const LaunchContext& context, const ArrayForm& form, typename Number::Real* result,
                  typename Number::Real* partial, const Add& add) {
  using T = typename Number::Real;
  const int components = components_of(Number(), form.cuts);
  const auto view_of = [&](long long numbers, int cut) { return cut_view(form.layout, numbers, components, cut); };
  long long blocks = blocks_of(form.numbers);
  T* sums = blocks == 1 ? result : partial;
  for (long long task = context.thread; task < blocks * form.cuts; task += context.threads) {
    const long long block = task / form.cuts;
    const int cut = static_cast<int>(task % form.cuts);
    const CutView view = view_of(form.numbers, cut);
    const Number sum = sum_of_block<Number>(terms_of_block(form.numbers, block),
                                            [&](Number& so_far, int i) { add(so_far, view, block * kBlockTerms + i); });
    store_cut(sums, view_of(blocks, cut), block, sum);
  }
  if (blocks == 1) return;
  heddle::cpu::meet(context, 1);
  if (context.thread != 0) return;
  while (blocks > 1) {
    const long long numbers = blocks;
    const T* const terms = sums;
    blocks = blocks_of(numbers);
    sums = blocks == 1 ? result : sums + numbers * components;
    for (int cut = 0; cut < form.cuts; ++cut) {
      const CutView view = view_of(numbers, cut);
      for (long long block = 0; block < blocks; ++block) {
        const Number sum = sum_of_block<Number>(terms_of_block(numbers, block), [&](Number& so_far, int i) {
          add_term(so_far, number_at<Number>(terms, view, block * kBlockTerms + i));
        });
        store_cut(sums, view_of(blocks, cut), block, sum);
      }
    }
  }
}

template <class Number>
void sum_of_array(const LaunchContext& context, void* const* a) {
  using T = typename Number::Real;
  const auto* x = static_cast<const T*>(a[0]);
  add_up_terms<Number>(
      context, *static_cast<const ArrayForm*>(a[3]), static_cast<T*>(a[1]), static_cast<T*>(a[2]),
      [x](Number& so_far, const CutView& view, long long i) { add_term(so_far, number_at<Number>(x, view, i)); });
}
template <class Number>
void dot_of_arrays(const LaunchContext& context, void* const* a) {
  using T = typename Number::Real;
  const auto* x = static_cast<const T*>(a[0]);
  const auto* y = static_cast<const T*>(a[1]);
  add_up_terms<Number>(context, *static_cast<const ArrayForm*>(a[4]), static_cast<T*>(a[2]), static_cast<T*>(a[3]),
                       [x, y](Number& so_far, const CutView& view, long long i) {
                         add_product(so_far, number_at<Number>(x, view, i), number_at<Number>(y, view, i));
                       });
}

/// A number of one cut.
template <bool Bounds, class T>
struct NumberOf {
  using type = LowerUpper<T, 1>;
};
template <class T>
struct NumberOf<false, T> {
  using type = MidpointRadius<T, 1>;
};
template <bool Bounds, class T>
using Single = typename NumberOf<Bounds, T>::type;

/// Arguments: x, the sum, room for the numbers of all levels between, the ArrayForm of x.
template <int W, bool Bounds>
void sum(const LaunchContext& context, void* const* a) {
  static_cast<const ArrayForm*>(a[3])->bits == 32 ? sum_of_array<Single<Bounds, float>>(context, a)
                                                  : sum_of_array<Single<Bounds, double>>(context, a);
}

/// Arguments: x, y, the dot product, room as above, the ArrayForm of x.
template <int W, bool Bounds>
void dot(const LaunchContext& context, void* const* a) {
  static_cast<const ArrayForm*>(a[4])->bits == 32 ? dot_of_arrays<Single<Bounds, float>>(context, a)
                                                  : dot_of_arrays<Single<Bounds, double>>(context, a);
}

}  // namespace
}  // namespace heddle::fuzzy::cpu
