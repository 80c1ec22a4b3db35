// The product of small matrices that forward passes, deltas and gradients are made of. Compiled at run time too.
//
//   c[m][n] += sum over k of a[m][k] b[k][n]
//
// Vectors run along n; a block of Rows x Vectors vectors of c stays in registers while k passes. Rows of b and c are
// padded to whole cache lines; what the padding of b holds goes into the padding of c.
#pragma once

#include "heddle/kernels/common/cpu_vector.hpp"

namespace heddle::mlp::cpu {
namespace {

using namespace heddle::cpu;

/// The first number of a matrix, and how far apart its rows and columns are.
struct Left {
  const float* first;
  long long row, column;
};
struct Right {
  const float* first;
  long long row;
};
struct Sums {
  float* first;
  long long row;
};
struct Extents {
  long long m, n, k;
};

template <int W, int Rows, int Vectors>
inline void multiply_block(const Left& a, const Right& b, const Sums& c, long long k) {
  using F = Float<W>;
  F sum[Rows][Vectors];
#pragma GCC unroll 16
  for (int r = 0; r < Rows; ++r) {
#pragma GCC unroll 8
    for (int v = 0; v < Vectors; ++v) sum[r][v] = load<W>(c.first + r * c.row + v * W);
  }
  const float* left = a.first;
  const float* right = b.first;
  for (long long step = 0; step < k; ++step, left += a.column, right += b.row) {
    F of_b[Vectors];
#pragma GCC unroll 8
    for (int v = 0; v < Vectors; ++v) of_b[v] = load<W>(right + v * W);
#pragma GCC unroll 16
    for (int r = 0; r < Rows; ++r) {
      const F of_a = broadcast<W>(left[r * a.row]);
#pragma GCC unroll 8
      for (int v = 0; v < Vectors; ++v) sum[r][v] += of_a * of_b[v];
    }
  }
#pragma GCC unroll 16
  for (int r = 0; r < Rows; ++r) {
#pragma GCC unroll 8
    for (int v = 0; v < Vectors; ++v) store<W>(c.first + r * c.row + v * W, sum[r][v]);
  }
}

/// All rows of c in a panel of so many vectors: in blocks of Rows, what is left in blocks of half as many.
template <int W, int Rows, int Vectors>
inline void multiply_panel(Left a, const Right& b, Sums c, long long m, long long k) {
  for (; m >= Rows; m -= Rows) {
    multiply_block<W, Rows, Vectors>(a, b, c, k);
    a.first += Rows * a.row;
    c.first += Rows * c.row;
  }
  if constexpr (Rows > 1) {
    if (m > 0) multiply_panel<W, Rows / 2, Vectors>(a, b, c, m, k);
  }
}

/// All panels, then narrower ones for what is left.
template <int W, int Rows, int Vectors>
inline void multiply_panels(const Left& a, Right b, Sums c, long long m, long long n, long long k) {
  constexpr long long kWide = (Vectors - 1) * W;  // fewer numbers are worth a narrower panel
  for (; n > kWide; n -= Vectors * W) {
    multiply_panel<W, Rows, Vectors>(a, b, c, m, k);
    b.first += Vectors * W;
    c.first += Vectors * W;
  }
  if constexpr (Vectors > 1) {
    if (n > 0) multiply_panels<W, Rows, Vectors / 2>(a, b, c, m, n, k);
  }
}

/// Steps of k whose part of a panel of b stays in the first-level cache.
constexpr long long kStepsOfPanel = 256;

/// Not inlined: its callers would compile three times as long, for products that take much longer than a call.
template <int W, int Rows, int Vectors>
[[gnu::noinline]] void multiply(Left a, Right b, const Sums& c, const Extents& size) {
  for (long long k = size.k; k > 0; k -= kStepsOfPanel) {
    multiply_panels<W, Rows, Vectors>(a, b, c, size.m, size.n, k < kStepsOfPanel ? k : kStepsOfPanel);
    a.first += kStepsOfPanel * a.column;
    b.first += kStepsOfPanel * b.row;
  }
}

}  // namespace
}  // namespace heddle::mlp::cpu
