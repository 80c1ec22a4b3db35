// Sums, products, quotients and roots that are rounded upwards or downwards, for float and double, in host and device
// code alike. Compiled at run time too: no other header is included.
//
// On a GPU these are the instructions with a rounding of their own (IEEE 754, 4.3.2). On a CPU the rounding mode stays
// as it is: the operation is rounded to nearest, and the sign of its exact error says whether the result has to move by
// one unit.
//
// - double: the error comes from error-free transformations (Knuth's TwoSum, the residual of a fused multiply-add, and
//   Boldo and Muller's error of a fused multiply-add, "Exact and approximated error of the FMA", IEEE Trans. Computers
//   60(2), 2011). Where numbers are so small or large that these are not exact, the operation is done in 113 bits.
// - float: the operation is done in double, where it is exact, or its error is.
//
// All of them give the IEEE result bit for bit, up to the sign of a zero. Compile without -ffast-math.
#pragma once

#if defined(__FAST_MATH__) || (defined(__USE_FAST_MATH__) && __USE_FAST_MATH__)
#error "fuzzy numbers need the rounding of IEEE 754: compile without -ffast-math"
#endif
#if defined(__CUDA_FTZ) && __CUDA_FTZ
#error "fuzzy numbers need subnormal numbers: compile without --ftz=true"
#endif

#if defined(__CUDACC__)
#define HEDDLE_EITHER __host__ __device__ __forceinline__
// Before a loop over cuts, whose bounds stay in registers only if all indices are constants.
#define HEDDLE_UNROLL _Pragma("unroll")
#else
#define HEDDLE_EITHER inline __attribute__((always_inline))
#define HEDDLE_UNROLL
#endif

namespace heddle::fuzzy {

#if !defined(__CUDA_ARCH__)
namespace detail {

/// Its argument, as a value that no compiler fuses or reassociates with what it is used in.
template <class T>
HEDDLE_EITHER T rounded(T value) {
#if defined(__clang__)
#if __has_builtin(__arithmetic_fence)
  return __arithmetic_fence(value);
#else
  asm volatile("" : "+m"(value));
  return value;
#endif
#elif __GNUC__ >= 12
  return __builtin_assoc_barrier(value);
#else
  asm volatile("" : "+m"(value));
  return value;
#endif
}

}  // namespace detail
#endif

/// What is known of a floating-point type.
template <class T>
struct Traits;

template <>
struct Traits<float> {
  static constexpr float infinity = __builtin_bit_cast(float, 0x7f800000U);
  static constexpr float largest = 3.402823466e+38f;
  static constexpr float smallest = 1.401298464e-45f;  ///< above 0; not normal
  static constexpr float half_unit = 0x1p-24f;         ///< the relative error of rounding to nearest
};
template <>
struct Traits<double> {
  static constexpr double infinity = __builtin_bit_cast(double, 0x7ff0000000000000ULL);
  static constexpr double largest = 1.7976931348623157e+308;
  static constexpr double smallest = 4.9406564584124654e-324;
  static constexpr double half_unit = 0x1p-53;
};

// A modifier of the operand in GPU instructions; a comparison would be an instruction of its own.
#if defined(__CUDACC__)
HEDDLE_EITHER float magnitude(float x) { return fabsf(x); }
HEDDLE_EITHER double magnitude(double x) { return fabs(x); }
#else
HEDDLE_EITHER float magnitude(float x) { return __builtin_fabsf(x); }
HEDDLE_EITHER double magnitude(double x) { return __builtin_fabs(x); }
#endif

#if defined(__CUDA_ARCH__)

#define HEDDLE_DIRECTED(NAME, FLOAT, DOUBLE)                                         \
  HEDDLE_EITHER float NAME##_up(float a, float b) { return FLOAT##_ru(a, b); }       \
  HEDDLE_EITHER float NAME##_down(float a, float b) { return FLOAT##_rd(a, b); }     \
  HEDDLE_EITHER float NAME##_near(float a, float b) { return FLOAT##_rn(a, b); }     \
  HEDDLE_EITHER double NAME##_up(double a, double b) { return DOUBLE##_ru(a, b); }   \
  HEDDLE_EITHER double NAME##_down(double a, double b) { return DOUBLE##_rd(a, b); } \
  HEDDLE_EITHER double NAME##_near(double a, double b) { return DOUBLE##_rn(a, b); }
HEDDLE_DIRECTED(add, __fadd, __dadd)
HEDDLE_DIRECTED(subtract, __fsub, __dsub)
HEDDLE_DIRECTED(multiply, __fmul, __dmul)
HEDDLE_DIRECTED(divide, __fdiv, __ddiv)
#undef HEDDLE_DIRECTED

HEDDLE_EITHER float root_up(float a) { return __fsqrt_ru(a); }
HEDDLE_EITHER float root_down(float a) { return __fsqrt_rd(a); }
HEDDLE_EITHER float root_near(float a) { return __fsqrt_rn(a); }
HEDDLE_EITHER double root_up(double a) { return __dsqrt_ru(a); }
HEDDLE_EITHER double root_down(double a) { return __dsqrt_rd(a); }
HEDDLE_EITHER double root_near(double a) { return __dsqrt_rn(a); }
HEDDLE_EITHER float fused_up(float a, float b, float c) { return __fmaf_ru(a, b, c); }
HEDDLE_EITHER float fused_down(float a, float b, float c) { return __fmaf_rd(a, b, c); }
HEDDLE_EITHER float fused_near(float a, float b, float c) { return __fmaf_rn(a, b, c); }
HEDDLE_EITHER double fused_up(double a, double b, double c) { return __fma_ru(a, b, c); }
HEDDLE_EITHER double fused_down(double a, double b, double c) { return __fma_rd(a, b, c); }
HEDDLE_EITHER double fused_near(double a, double b, double c) { return __fma_rn(a, b, c); }
HEDDLE_EITHER float float_up(double a) { return __double2float_ru(a); }
HEDDLE_EITHER float float_down(double a) { return __double2float_rd(a); }
HEDDLE_EITHER unsigned long long bits_of(double x) { return static_cast<unsigned long long>(__double_as_longlong(x)); }
HEDDLE_EITHER double double_of(unsigned long long bits) { return __longlong_as_double(static_cast<long long>(bits)); }

#else

HEDDLE_EITHER unsigned long long bits_of(double x) { return __builtin_bit_cast(unsigned long long, x); }
HEDDLE_EITHER double double_of(unsigned long long bits) { return __builtin_bit_cast(double, bits); }

namespace detail {

/// A type in which a product of two T is exact, and so is the error of a sum.
template <class T>
struct Wide;
template <>
struct Wide<float> {
  using type = double;
};
template <>
struct Wide<double> {
#if defined(__SIZEOF_FLOAT128__)
  __extension__ using type = __float128;
#else
  using type = long double;
  static_assert(__LDBL_MANT_DIG__ >= 113, "this platform has no type of 113 bits");
#endif
};

HEDDLE_EITHER float next_above(float x) {
  if (!(x < Traits<float>::infinity)) return x;
  const unsigned bits = __builtin_bit_cast(unsigned, x);
  if (x == 0.0f) return Traits<float>::smallest;
  return __builtin_bit_cast(float, x > 0.0f ? bits + 1 : bits - 1);
}
HEDDLE_EITHER double next_above(double x) {
  if (!(x < Traits<double>::infinity)) return x;
  if (x == 0.0) return Traits<double>::smallest;
  return double_of(x > 0.0 ? bits_of(x) + 1 : bits_of(x) - 1);
}

/// `x`, moved by a unit in the direction of rounding if the exact value lies there. `side`: the sign of the exact value
/// minus `x`; no number counts as 0.
template <bool Up, class T, class Sign>
HEDDLE_EITHER T moved(T x, Sign side) {
  if constexpr (Up) {
    return side > Sign(0) ? next_above(x) : x;
  } else {
    return side < Sign(0) ? -next_above(-x) : x;
  }
}

/// a + b - sum, exactly (Knuth), unless a number on the way is too large.
template <class T>
HEDDLE_EITHER T sum_error(T a, T b, T sum) {
  const T b_there = rounded(sum - a);
  const T a_there = rounded(sum - b_there);
  return rounded(rounded(a - a_there) + rounded(b - b_there));
}

/// The sign of high + low - x, where |low| is at most half a unit of `high` in W, which has more than twice the digits
/// of `x`.
template <class W>
HEDDLE_EITHER int side_of(W x, W high, W low) {
  if (high > x) return 1;
  if (high < x) return -1;
  return low > W(0) ? 1 : low < W(0) ? -1 : 0;
}

// In the wider type: always right. Static, so that objects compiled for different instruction sets keep their own code.
template <bool Up, class T>
static inline T wide_sum(T a, T b) {
  using W = typename Wide<T>::type;
  const W sum = rounded(W(a) + W(b));
  const T near = static_cast<T>(sum);
  return moved<Up>(near, side_of<W>(W(near), sum, sum_error<W>(W(a), W(b), sum)));
}
template <bool Up, class T>
static inline T wide_product(T a, T b) {
  using W = typename Wide<T>::type;
  const W product = rounded(W(a) * W(b));
  const T near = static_cast<T>(product);
  return moved<Up>(near, side_of<W>(W(near), product, W(0)));
}
template <bool Up, class T>
static inline T wide_quotient(T a, T b) {
  using W = typename Wide<T>::type;
  const T near = rounded(a / b);
  const int side = side_of<W>(rounded(W(near) * W(b)), W(a), W(0));
  return moved<Up>(near, b < T(0) ? -side : side);
}
template <bool Up, class T>
static inline T wide_root(T a) {
  using W = typename Wide<T>::type;
  const T near = sizeof(T) == 4 ? T(__builtin_sqrtf(float(a))) : T(__builtin_sqrt(double(a)));
  return moved<Up>(near, side_of<W>(rounded(W(near) * W(near)), W(a), W(0)));
}
template <bool Up, class T>
static inline T wide_fused(T a, T b, T c) {
  using W = typename Wide<T>::type;
  const W product = rounded(W(a) * W(b));
  const W sum = rounded(product + W(c));
  const T near = static_cast<T>(sum);
  return moved<Up>(near, side_of<W>(W(near), sum, sum_error<W>(product, W(c), sum)));
}

// Out of line, since it is seldom that they are needed; static for the same reason.
template <bool Up>
[[gnu::noinline, gnu::cold]] static double slow_sum(double a, double b) {
  return wide_sum<Up>(a, b);
}
template <bool Up>
[[gnu::noinline, gnu::cold]] static double slow_product(double a, double b) {
  return wide_product<Up>(a, b);
}
template <bool Up>
[[gnu::noinline, gnu::cold]] static double slow_quotient(double a, double b) {
  return wide_quotient<Up>(a, b);
}
template <bool Up>
[[gnu::noinline, gnu::cold]] static double slow_root(double a) {
  return wide_root<Up>(a);
}
template <bool Up>
[[gnu::noinline, gnu::cold]] static double slow_fused(double a, double b, double c) {
  return wide_fused<Up>(a, b, c);
}

// Between these magnitudes the error-free transformations are exact: the error of a product has 53 digits more, and
// 2^-960 * 2^-106 is above the smallest number; nothing on the way overflows.
constexpr double kSmallExact = 0x1p-960, kLargeExact = 0x1p+1000;

HEDDLE_EITHER bool is_exact(double x) { return magnitude(x) >= kSmallExact && magnitude(x) <= kLargeExact; }

template <bool Up>
HEDDLE_EITHER float sum(float a, float b) {
  return wide_sum<Up>(a, b);
}
template <bool Up>
HEDDLE_EITHER double sum(double a, double b) {
  const double near = rounded(a + b);
  if (!(magnitude(near) <= kLargeExact && magnitude(a) <= kLargeExact)) return slow_sum<Up>(a, b);
  return moved<Up>(near, sum_error(a, b, near));
}
template <bool Up>
HEDDLE_EITHER float product(float a, float b) {
  return wide_product<Up>(a, b);
}
template <bool Up>
HEDDLE_EITHER double product(double a, double b) {
  const double near = rounded(a * b);
  if (!is_exact(near)) return a == 0.0 || b == 0.0 ? near : slow_product<Up>(a, b);
  return moved<Up>(near, __builtin_fma(a, b, -near));
}
template <bool Up>
HEDDLE_EITHER float quotient(float a, float b) {
  return wide_quotient<Up>(a, b);
}
template <bool Up>
HEDDLE_EITHER double quotient(double a, double b) {
  const double near = rounded(a / b);
  if (!(is_exact(near) && is_exact(a))) return a == 0.0 ? near : slow_quotient<Up>(a, b);
  const double residual = __builtin_fma(-near, b, a);
  return moved<Up>(near, b < 0.0 ? -residual : residual);
}
template <bool Up>
HEDDLE_EITHER float root(float a) {
  return wide_root<Up>(a);
}
template <bool Up>
HEDDLE_EITHER double root(double a) {
  if (!is_exact(a)) return slow_root<Up>(a);
  const double near = __builtin_sqrt(a);
  return moved<Up>(near, __builtin_fma(-near, near, a));
}
template <bool Up>
HEDDLE_EITHER float fused(float a, float b, float c) {
  return wide_fused<Up>(a, b, c);
}
template <bool Up>
HEDDLE_EITHER double fused(double a, double b, double c) {
  const double product = rounded(a * b);
  if (!(is_exact(product) && magnitude(c) <= kLargeExact)) return slow_fused<Up>(a, b, c);
  const double near = __builtin_fma(a, b, c);
  const double product_error = __builtin_fma(a, b, -product);
  const double low = rounded(c + product_error), low_error = sum_error(c, product_error, low);
  const double high = rounded(product + low), high_error = sum_error(product, low, high);
  return moved<Up>(near, rounded(rounded(rounded(high - near) + high_error) + low_error));
}

}  // namespace detail

#define HEDDLE_DIRECTED(TYPE)                                                                  \
  HEDDLE_EITHER TYPE add_up(TYPE a, TYPE b) { return detail::sum<true>(a, b); }                \
  HEDDLE_EITHER TYPE add_down(TYPE a, TYPE b) { return detail::sum<false>(a, b); }             \
  HEDDLE_EITHER TYPE add_near(TYPE a, TYPE b) { return detail::rounded(a + b); }               \
  HEDDLE_EITHER TYPE subtract_up(TYPE a, TYPE b) { return detail::sum<true>(a, -b); }          \
  HEDDLE_EITHER TYPE subtract_down(TYPE a, TYPE b) { return detail::sum<false>(a, -b); }       \
  HEDDLE_EITHER TYPE subtract_near(TYPE a, TYPE b) { return detail::rounded(a - b); }          \
  HEDDLE_EITHER TYPE multiply_up(TYPE a, TYPE b) { return detail::product<true>(a, b); }       \
  HEDDLE_EITHER TYPE multiply_down(TYPE a, TYPE b) { return detail::product<false>(a, b); }    \
  HEDDLE_EITHER TYPE multiply_near(TYPE a, TYPE b) { return detail::rounded(a * b); }          \
  HEDDLE_EITHER TYPE divide_up(TYPE a, TYPE b) { return detail::quotient<true>(a, b); }        \
  HEDDLE_EITHER TYPE divide_down(TYPE a, TYPE b) { return detail::quotient<false>(a, b); }     \
  HEDDLE_EITHER TYPE divide_near(TYPE a, TYPE b) { return detail::rounded(a / b); }            \
  HEDDLE_EITHER TYPE root_up(TYPE a) { return detail::root<true>(a); }                         \
  HEDDLE_EITHER TYPE root_down(TYPE a) { return detail::root<false>(a); }                      \
  HEDDLE_EITHER TYPE fused_up(TYPE a, TYPE b, TYPE c) { return detail::fused<true>(a, b, c); } \
  HEDDLE_EITHER TYPE fused_down(TYPE a, TYPE b, TYPE c) { return detail::fused<false>(a, b, c); }
HEDDLE_DIRECTED(float)
HEDDLE_DIRECTED(double)
#undef HEDDLE_DIRECTED

HEDDLE_EITHER float root_near(float a) { return __builtin_sqrtf(a); }
HEDDLE_EITHER double root_near(double a) { return __builtin_sqrt(a); }
HEDDLE_EITHER float fused_near(float a, float b, float c) { return __builtin_fmaf(a, b, c); }
HEDDLE_EITHER double fused_near(double a, double b, double c) { return __builtin_fma(a, b, c); }
HEDDLE_EITHER float float_up(double a) {
  const float near = static_cast<float>(a);
  return detail::moved<true>(near, detail::side_of<double>(near, a, 0.0));
}
HEDDLE_EITHER float float_down(double a) {
  const float near = static_cast<float>(a);
  return detail::moved<false>(near, detail::side_of<double>(near, a, 0.0));
}

#endif

namespace detail {

/// By the sign bit: a zero may count either way.
#if defined(__CUDA_ARCH__)
HEDDLE_EITHER bool is_negative(double x) { return __double2hiint(x) < 0; }
HEDDLE_EITHER bool is_negative(float x) { return __float_as_int(x) < 0; }
#else
HEDDLE_EITHER bool is_negative(double x) { return __builtin_signbit(x) != 0; }
HEDDLE_EITHER bool is_negative(float x) { return __builtin_signbit(x) != 0; }
#endif

}  // namespace detail

/// `a` in type T, rounded outwards.
template <class T>
HEDDLE_EITHER T narrowed_up(double a) {
  if constexpr (sizeof(T) == 4) {
    return float_up(a);
  } else {
    return a;
  }
}
template <class T>
HEDDLE_EITHER T narrowed_down(double a) {
  if constexpr (sizeof(T) == 4) {
    return float_down(a);
  } else {
    return a;
  }
}

}  // namespace heddle::fuzzy
