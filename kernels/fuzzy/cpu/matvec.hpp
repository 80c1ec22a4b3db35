// A matrix times a vector of fuzzy numbers on a CPU: rows are dot products, whose blocks are added one after the other
// (sums.hpp). Compiled at run time, and at build time for the configurations that need no compiler.
//
// Threads take rows in turn.
//
//   parameter  meaning
//   W          floats in a vector of the instruction set
//   Bounds     whether numbers are in lower-upper form; else midpoint-radius
//   Fuzzy      whether the matrix has fuzzy numbers, too
#pragma once

#include "heddle/kernels/fuzzy/cpu/sum.hpp"

namespace heddle::fuzzy::cpu {
namespace {

template <class Number, bool Fuzzy>
void multiply(const LaunchContext& context, void* const* a) {
  using T = typename Number::Real;
  const auto* matrix = static_cast<const T*>(a[0]);
  const auto* vector = static_cast<const T*>(a[1]);
  const long long rows = *static_cast<const long long*>(a[3]);
  const ArrayForm form = *static_cast<const ArrayForm*>(a[4]);
  const long long columns = form.numbers;
  const int components = components_of(Number(), form.cuts);
  for (long long row = context.thread; row < rows; row += context.threads) {
    for (int cut = 0; cut < form.cuts; ++cut) {
      const CutView x = cut_view(form.layout, columns, components, cut);
      const CutView elements = cut_view(form.layout, rows * columns, components, cut);
      Number total;
      clear(total);
      for (long long block = 0; block < blocks_of(columns); ++block) {
        add_term(total, sum_of_block<Number>(terms_of_block(columns, block), [&](Number& sum, int i) {
                   const long long column = block * kBlockTerms + i, place = row * columns + column;
                   if constexpr (Fuzzy) {
                     add_product(sum, number_at<Number>(matrix, elements, place), number_at<Number>(vector, x, column));
                   } else {
                     add_product(sum, matrix[place], number_at<Number>(vector, x, column));
                   }
                 }));
      }
      store_cut(static_cast<T*>(a[2]), cut_view(form.layout, rows, components, cut), row, closed_sum(total));
    }
  }
}

/// Arguments: matrix, vector, result, rows, the ArrayForm of the vector.
template <int W, bool Bounds, bool Fuzzy>
void matvec(const LaunchContext& context, void* const* a) {
  static_cast<const ArrayForm*>(a[4])->bits == 32 ? multiply<Single<Bounds, float>, Fuzzy>(context, a)
                                                  : multiply<Single<Bounds, double>, Fuzzy>(context, a);
}

}  // namespace
}  // namespace heddle::fuzzy::cpu
