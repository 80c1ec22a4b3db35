// Whether the cuts of results contain what they have to: operations on random numbers, against the same operations on
// points of the cuts in twice the digits of a double. Compiled at run time like the templates.
//
// A point is a sum of two doubles, high + low, with |low| at most half a unit of high: about 106 bits (Dekker 1971;
// Hida, Li and Bailey, "Algorithms for quad-double precision floating point arithmetic", 2001). Both ends of every cut
// are points, exactly. Results of points are right to 2^-94 or better; a cut that leaves out less than 2^-90 is not
// found.
#pragma once

#include "heddle/bench/fuzzy/containment_sizes.cuh"
#include "heddle/kernels/fuzzy/series.hpp"
#include "heddle/kernels/fuzzy/sums.hpp"

namespace heddle::bench {

using fuzzy::Interval;
using fuzzy::LowerUpper;
using fuzzy::MidpointRadius;
using fuzzy::Traits;

struct Point {
  double high, low;
};

__device__ __forceinline__ Point point(double value) { return {value, 0.0}; }
/// a + b, exactly (Knuth).
__device__ __forceinline__ Point exact_sum(double a, double b) {
  const double sum = a + b, b_there = sum - a;
  return {sum, (a - (sum - b_there)) + (b - b_there)};
}
/// The same for |a| >= |b|.
__device__ __forceinline__ Point normal(double a, double b) {
  const double sum = a + b;
  return {sum, b - (sum - a)};
}
__device__ __forceinline__ Point operator-(const Point& a) { return {-a.high, -a.low}; }
__device__ __forceinline__ Point operator+(const Point& a, const Point& b) {
  Point high = exact_sum(a.high, b.high);
  const Point low = exact_sum(a.low, b.low);
  high = normal(high.high, high.low + low.high);
  return normal(high.high, high.low + low.low);
}
__device__ __forceinline__ Point operator-(const Point& a, const Point& b) { return a + -b; }
__device__ __forceinline__ Point operator*(const Point& a, const Point& b) {
  const double product = a.high * b.high;
  return normal(product, fma(a.high, b.high, -product) + (a.high * b.low + a.low * b.high));
}
__device__ __forceinline__ Point operator/(const Point& a, const Point& b) {
  const double first = a.high / b.high;
  Point rest = a - b * point(first);
  const double second = rest.high / b.high;
  rest = rest - b * point(second);
  return normal(first, second) + point(rest.high / b.high);
}
__device__ __forceinline__ Point root_of(const Point& a) {
  if (!(a.high > 0.0)) return point(0.0);
  const double near = sqrt(a.high);
  return exact_sum(near, (a - point(near) * point(near)).high / (2.0 * near));
}
/// For |a| <= kLargestExponent: by the series of exp(a / 512), which is squared nine times.
constexpr double kLargestExponent = 600.0;
__device__ __forceinline__ Point exponential_of(const Point& a) {
  constexpr int kTerms = 9, kSquares = 9;
  const double times = floor(a.high * 1.4426950408889634 + 0.5);
  // ln 2 in three parts; the products with the first two are exact.
  const Point rest = a - point(times * 0x1.62e42fefa3p-1) - point(times * 0x1.3de6af278ep-42) -
                     point(times) * Point{0x1.9cc01f97b57ap-83, 0x1.e6864ce5316c6p-137};
  const Point part{rest.high * 0x1p-9, rest.low * 0x1p-9};
  Point term = point(1.0), sum = point(1.0);
#pragma unroll 1
  for (int i = 1; i <= kTerms; ++i) {
    term = term * part / point(i);
    sum = sum + term;
  }
#pragma unroll 1
  for (int i = 0; i < kSquares; ++i) sum = sum * sum;
  const double half = __longlong_as_double(static_cast<long long>(1023 + static_cast<int>(times) / 2) << 52);
  const double other =
      __longlong_as_double(static_cast<long long>(1023 + static_cast<int>(times) - static_cast<int>(times) / 2) << 52);
  return {sum.high * half * other, sum.low * half * other};
}

/// SplitMix64, as kernels/random.hpp.
class Draws {
 public:
  __device__ __forceinline__ explicit Draws(unsigned long long seed) : state_(seed) {}
  __device__ __forceinline__ unsigned long long bits() {
    unsigned long long z = (state_ += 0x9e3779b97f4a7c15ULL);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
    return z ^ (z >> 31);
  }
  __device__ __forceinline__ int below(int count) {
    return static_cast<int>((bits() >> 33) * static_cast<unsigned long long>(count) >> 31);
  }
  /// In [-1, 1).
  __device__ __forceinline__ double symmetric() { return static_cast<double>(bits() >> 11) * 0x1p-52 - 1.0; }

 private:
  unsigned long long state_;
};

/// Numbers of all kinds: any bits; zeros, subnormal and huge ones; of about 1; from 2^-40 to 2^40.
template <class T>
__device__ __forceinline__ T draw_real(Draws& random) {
  const int kind = random.below(8);
  if (kind == 0) {
    T value;
    if constexpr (sizeof(T) == 4) {
      value = __uint_as_float(static_cast<unsigned>(random.bits()));
    } else {
      value = __longlong_as_double(static_cast<long long>(random.bits()));
    }
    return value - value == T(0) ? value : T(1);
  }
  const double part = random.symmetric();
  if (kind == 1) {
    const T sizes[] = {T(0),
                       Traits<T>::smallest,
                       Traits<T>::smallest * T(3),
                       Traits<T>::largest,
                       Traits<T>::largest / T(2),
                       Traits<T>::smallest / Traits<T>::half_unit,
                       T(1) + T(2) * Traits<T>::half_unit,
                       T(1) - Traits<T>::half_unit};
    const T size = sizes[random.below(8)];
    return part < 0.0 ? -size : size;
  }
  const int spread = kind < 5 ? 2 : 40, exponent = random.below(2 * spread + 1) - spread;
  return static_cast<T>(part * __longlong_as_double(static_cast<long long>(1023 + exponent) << 52));
}

template <class T>
__device__ __forceinline__ void put_in_order(T& a, T& b) {
  if (!(b < a)) return;
  const T before = a;
  a = b;
  b = before;
}

/// Two cuts within each other: points, one unit wide, near each other, or anything; now and then the whole line.
template <class T>
__device__ __forceinline__ void draw(Draws& random, LowerUpper<T, 2>& number) {
  const T at = draw_real<T>(random);
  const int kind = random.below(8);
  T bound[4];
  for (int i = 0; i < 4; ++i) {
    bound[i] = kind == 0   ? at
               : kind == 1 ? (i % 2 == 0 ? at : fuzzy::add_up(at, Traits<T>::smallest))
               : kind <= 4 ? static_cast<T>(static_cast<double>(at) * (1.0 + random.symmetric() / 8))
                           : draw_real<T>(random);
    if (!(bound[i] - bound[i] == T(0))) bound[i] = at;
  }
  put_in_order(bound[0], bound[1]);
  put_in_order(bound[2], bound[3]);
  put_in_order(bound[0], bound[2]);
  put_in_order(bound[1], bound[3]);
  put_in_order(bound[1], bound[2]);
  number.set(0, {bound[0], bound[3]});
  number.set(1, {bound[1], bound[2]});
  if (random.below(64) == 0) number.set(0, fuzzy::whole_line<T>());
}
template <class T>
__device__ __forceinline__ void draw(Draws& random, MidpointRadius<T, 2>& number) {
  number.midpoint = draw_real<T>(random);
  const int kind = random.below(8);
  for (T& radius : number.radius) {
    radius = kind == 0   ? T(0)
             : kind == 1 ? Traits<T>::smallest
             : kind <= 4 ? static_cast<T>(static_cast<double>(number.midpoint) * random.symmetric() / 8)
                         : draw_real<T>(random);
    radius = fuzzy::magnitude(radius);
  }
  put_in_order(number.radius[1], number.radius[0]);
  if (random.below(64) == 0) number.radius[0] = Traits<T>::infinity;
}

/// A cut, exactly; `bounded` is false for the whole line.
struct ExactCut {
  Point lower, upper;
  bool bounded, valid;
};
template <class T>
__device__ __forceinline__ ExactCut exact_cut(const LowerUpper<T, 2>& number, int i) {
  const double lower = number.lower[i], upper = number.upper[i];
  const bool bounded = lower - lower == 0.0 && upper - upper == 0.0;
  return {point(lower), point(upper), bounded, lower <= upper};
}
template <class T>
__device__ __forceinline__ ExactCut exact_cut(const MidpointRadius<T, 2>& number, int i) {
  const double middle = number.midpoint, radius = number.radius[i];
  const bool bounded = radius - radius == 0.0;
  return {exact_sum(middle, -radius), exact_sum(middle, radius), bounded, middle - middle == 0.0 && radius >= 0.0};
}

/// Where sums of two doubles keep all their bits: so far from the smallest and the largest number.
__device__ __forceinline__ bool in_range(const Point& a) {
  const double size = fabs(a.high);
  return size == 0.0 || (size > 0x1p-480 && size < 0x1p+480);
}

constexpr double kUnseen = 0x1p-90;

__device__ __forceinline__ bool outside(const ExactCut& cut, const Point& value, double size) {
  if (!cut.valid) return true;
  if (!cut.bounded) return false;
  const double most = kUnseen * (size + fabs(value.high));
  return (value - cut.lower).high < -most || (cut.upper - value).high < -most;
}

template <class T>
__device__ __forceinline__ LowerUpper<T, 2> converted(const LowerUpper<T, 2>& a) {
  return to_lower_upper(to_midpoint_radius(a).number);
}
template <class T>
__device__ __forceinline__ MidpointRadius<T, 2> converted(const MidpointRadius<T, 2>& a) {
  return to_midpoint_radius(to_lower_upper(a)).number;
}

/// Does operation `Which` on the numbers of one sample, and looks at some points. Returns 0 where nothing could be
/// said, 1 where all is well, and 2 where a cut leaves a point out.
template <int Which, class Number>
__device__ __forceinline__ int look_at(const Number& a, const Number& b, const Number& c, Draws& random) {
  using T = typename Number::Real;
  Number result;
  if constexpr (Which == kSum) result = a + b;
  if constexpr (Which == kDifference) result = a - b;
  if constexpr (Which == kProduct) result = a * b;
  if constexpr (Which == kQuotient) result = a / b;
  if constexpr (Which == kProductAndSum) result = a * b + c;
  if constexpr (Which == kRoot) result = sqrt(a);
  if constexpr (Which == kExponential) result = exp(a);
  if constexpr (Which == kLogarithm) result = log(a);
  if constexpr (Which == kSquare) result = pow(a, 2);
  if constexpr (Which == kSmaller) result = min(a, b);
  if constexpr (Which == kLarger) result = max(a, b);
  if constexpr (Which == kNegation) result = -a;
  if constexpr (Which == kCube) result = pow(a, 3);
  if constexpr (Which == kInverseSquare) result = pow(a, -2);
  if constexpr (Which == kConversion) result = converted(a);
  if constexpr (Which == kFusedSum) {
    result = c;
    fuzzy::add_product(result, a, b);
    result = fuzzy::closed_sum(result);
  }
  if constexpr (Which == kSeriesStep) result = fuzzy::series(a, c, b, 1);
  constexpr bool kOfThree = Which == kProductAndSum || Which == kFusedSum || Which == kSeriesStep;
  constexpr bool kOfTwo = Which == kSum || Which == kDifference || Which == kProduct || Which == kQuotient ||
                          Which == kSmaller || Which == kLarger || kOfThree;
  int said = 0;
#pragma unroll 1
  for (int i = 0; i < Number::count; ++i) {
    const ExactCut x_cut = exact_cut(a, i), y_cut = exact_cut(b, i), z_cut = exact_cut(c, i),
                   found = exact_cut(result, i);
    if (!found.valid) return 2;
    const auto end_of = [&random](const ExactCut& cut, bool upper) {
      return cut.bounded ? (upper ? cut.upper : cut.lower) : point(draw_real<T>(random));
    };
    if constexpr (Which == kQuotient) {
      // By an interval with 0: the whole line.
      const bool with_zero = !y_cut.bounded || (y_cut.lower.high <= 0.0 && y_cut.upper.high >= 0.0);
      if (with_zero) {
        if (found.bounded) return 2;
        continue;
      }
    }
    if constexpr (Which == kRoot || Which == kLogarithm) {
      const bool in_domain = x_cut.bounded && (Which == kRoot ? x_cut.lower.high >= 0.0 : x_cut.lower.high > 0.0);
      if (!in_domain) {
        if (found.bounded) return 2;
        continue;
      }
    }
#pragma unroll 1
    for (int ends = 0; ends < (kOfTwo ? 4 : 2); ++ends) {
      const Point x = end_of(x_cut, ends % 2 == 1), y = end_of(y_cut, ends >= 2), z = end_of(z_cut, ends == 1);
      Point value = point(0.0);
      double size = fabs(x.high);
      if constexpr (Which == kSum || Which == kDifference) {
        if (fabs(x.high) > 0x1p+1000 || fabs(y.high) > 0x1p+1000) continue;
        value = Which == kSum ? x + y : x - y;
        size += fabs(y.high);
      } else if constexpr (Which == kSmaller || Which == kLarger) {
        if (fabs(x.high) > 0x1p+1000 || fabs(y.high) > 0x1p+1000) continue;
        const bool less = (x - y).high < 0.0;
        value = less == (Which == kSmaller) ? x : y;
      } else if constexpr (Which == kNegation || Which == kConversion) {
        if (size > 0x1p+1000) continue;
        value = Which == kNegation ? -x : x;
      } else {
        if (!in_range(x) || (kOfTwo && !in_range(y))) continue;
        if constexpr (Which == kProduct) value = x * y;
        if constexpr (Which == kQuotient) value = x / y;
        if constexpr (kOfThree) {
          if (!in_range(z)) continue;
          const Point product = x * y;
          value = product + z;
          size = fabs(product.high) + fabs(z.high);
        }
        if constexpr (Which == kRoot) value = root_of(x);
        if constexpr (Which == kSquare) value = x * x;
        if constexpr (Which == kCube) {
          value = x * x;
          if (!in_range(value)) continue;
          value = value * x;
        }
        if constexpr (Which == kInverseSquare) {
          value = x * x;
          if (value.high == 0.0 || !in_range(value)) continue;
          value = point(1.0) / value;
        }
        if constexpr (Which == kExponential) {
          if (fabs(x.high) > kLargestExponent) continue;
          value = exponential_of(x);
          size = value.high;
        }
        if constexpr (Which == kLogarithm) {
          // Where exp(lower) <= x <= exp(upper).
          if (!found.bounded || fabs(found.lower.high) > kLargestExponent ||
              fabs(found.upper.high) > kLargestExponent) {
            continue;
          }
          if (outside({exponential_of(found.lower), exponential_of(found.upper), true, true}, x, size)) return 2;
          said = 1;
          continue;
        }
        if (!kOfThree && Which != kExponential) size = fabs(value.high);
        if (Which != kExponential && !in_range(value)) continue;
      }
      if (outside(found, value, size)) return 2;
      said = 1;
    }
  }
  return said;
}

template <int Which, class Number>
__device__ __forceinline__ void count(const Number& a, const Number& b, const Number& c, Draws& random,
                                      long long sample, unsigned (&checked)[kOperations], ContainmentCount* counts) {
  const int said = look_at<Which>(a, b, c, random);
  checked[Which] += said >= 1 ? 1 : 0;
  if (said == 2) {
    atomicAdd(&counts[Which].wrong, 1ULL);
    atomicMin(&counts[Which].first_wrong, static_cast<unsigned long long>(sample));
  }
}

/// Checks the samples 0, 1, ... up to `samples`; each thread takes every so many. Adds to `counts`, one for each
/// operation.
template <class Number>
__global__ void check_containment(ContainmentCount* counts, unsigned long long seed, long long samples) {
  const long long threads = static_cast<long long>(gridDim.x) * blockDim.x;
  unsigned checked[kOperations] = {};
#pragma unroll 1
  for (long long sample = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x; sample < samples;
       sample += threads) {
    Draws random(seed + 0xd1342543de82ef95ULL * static_cast<unsigned long long>(sample));
    Number a, b, c;
    draw(random, a);
    draw(random, b);
    draw(random, c);
    count<kSum>(a, b, c, random, sample, checked, counts);
    count<kDifference>(a, b, c, random, sample, checked, counts);
    count<kProduct>(a, b, c, random, sample, checked, counts);
    count<kQuotient>(a, b, c, random, sample, checked, counts);
    count<kProductAndSum>(a, b, c, random, sample, checked, counts);
    count<kRoot>(a, b, c, random, sample, checked, counts);
    count<kExponential>(a, b, c, random, sample, checked, counts);
    count<kLogarithm>(a, b, c, random, sample, checked, counts);
    count<kSquare>(a, b, c, random, sample, checked, counts);
    count<kSmaller>(a, b, c, random, sample, checked, counts);
    count<kLarger>(a, b, c, random, sample, checked, counts);
    count<kNegation>(a, b, c, random, sample, checked, counts);
    count<kCube>(a, b, c, random, sample, checked, counts);
    count<kInverseSquare>(a, b, c, random, sample, checked, counts);
    count<kConversion>(a, b, c, random, sample, checked, counts);
    count<kFusedSum>(a, b, c, random, sample, checked, counts);
    count<kSeriesStep>(a, b, c, random, sample, checked, counts);
  }
#pragma unroll
  for (int which = 0; which < kOperations; ++which) {
    atomicAdd(&counts[which].checked, static_cast<unsigned long long>(checked[which]));
  }
}

}  // namespace heddle::bench
