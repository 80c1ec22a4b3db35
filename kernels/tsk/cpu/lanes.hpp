// Vectors of floats or doubles for the CPU templates of this folder. Compiled at run time too.
#pragma once

#include "heddle/kernels/common/cpu_vector.hpp"

namespace heddle::tsk::cpu {
namespace {

using namespace heddle::cpu;

/// W numbers.
template <class Real, int W>
struct Lanes {
  typedef Real Vector __attribute__((vector_size(sizeof(Real) * W)));
  /// The same in memory, at any address.
  typedef Real Loose __attribute__((vector_size(sizeof(Real) * W), aligned(sizeof(Real)), may_alias));
};
/// Of a register that has so many floats.
template <class Real, int Floats>
constexpr int kLanes = Floats * sizeof(float) / sizeof(Real);
template <class Real, int W>
using Vector = typename Lanes<Real, W>::Vector;
template <class Real, int W>
inline Vector<Real, W> load_lanes(const Real* from) {
  return *reinterpret_cast<const typename Lanes<Real, W>::Loose*>(from);
}
template <class Real, int W>
inline void store_lanes(Real* to, Vector<Real, W> value) {
  *reinterpret_cast<typename Lanes<Real, W>::Loose*>(to) = value;
}
template <class Real, int W>
inline Vector<Real, W> in_all_lanes(Real value) {
  return value - Vector<Real, W>{};  // adding 0 would change -0, so it costs an instruction
}
template <class Real, int W>
inline double sum_of_all(Vector<Real, W> v) {
  if constexpr (sizeof(Real) == sizeof(float)) {
    return static_cast<double>(sum_of_lanes<W>(v));
  } else {
    double total = 0.0;
    for (int i = 0; i < W; ++i) total += v[i];
    return total;
  }
}

/// exp_of_negative() in float64: Taylor's polynomial on [-ln 2 / 2, ln 2 / 2]; exactly 0 below -700.
template <int W>
inline Vector<double, W> exp_in_double(Vector<double, W> x) {
  typedef long long Bits __attribute__((vector_size(8 * W)));
  constexpr double kLeast = -700.0;
  constexpr double shift = 6755399441055744.0;  // 1.5 * 2^52: adding it rounds to whole numbers, in the low bits
  const Vector<double, W> clamped = x > kLeast ? x : in_all_lanes<double, W>(kLeast);
  const Vector<double, W> shifted = clamped * 1.4426950408889634 + shift;
  const Vector<double, W> whole = shifted - shift;
  // ln 2 in two parts, the first of few enough bits for its product to be exact.
  const Vector<double, W> rest = (clamped - whole * 6.93147180369123816490e-01) - whole * 1.90821492927058770002e-10;
  Vector<double, W> p = in_all_lanes<double, W>(1.0 / 479001600.0);  // 1 / 12!, and then 1 / 11!, ...
  constexpr double kFactorials[] = {39916800.0, 3628800.0, 362880.0, 40320.0, 5040.0, 720.0,
                                    120.0,      24.0,      6.0,      2.0,     1.0,    1.0};
#pragma GCC unroll 16
  for (const double factorial : kFactorials) p = p * rest + 1.0 / factorial;
  const Bits power = ((Bits)shifted << 52) + (Bits)p;  // times 2^whole; the constant part shifts out
  return x < kLeast ? Vector<double, W>{} : (Vector<double, W>)power;
}
template <class Real, int W>
inline Vector<Real, W> exponential(Vector<Real, W> x) {
  if constexpr (sizeof(Real) == sizeof(float)) {
    return exp_of_negative<W>(x);
  } else {
    return exp_in_double<W>(x);
  }
}

}  // namespace
}  // namespace heddle::tsk::cpu
