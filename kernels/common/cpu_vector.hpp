// Vectors of `W` floats through the vector extensions of GCC and Clang, for any instruction set. Compiled at run time
// too: no other header is included.
#pragma once

namespace heddle::cpu {
namespace {

template <int W>
struct Simd {
  static_assert(W >= 4 && (W & (W - 1)) == 0, "a power of two");
  typedef float Float __attribute__((vector_size(4 * W)));
  typedef int Int __attribute__((vector_size(4 * W)));
  /// The same in memory, at any address.
  typedef float Loose __attribute__((vector_size(4 * W), aligned(4), may_alias));
};
template <int W>
using Float = typename Simd<W>::Float;
template <int W>
using Int = typename Simd<W>::Int;

constexpr float kInfinity = __builtin_inff();

template <int W>
inline Float<W> load(const float* from) {
  return *reinterpret_cast<const typename Simd<W>::Loose*>(from);
}
template <int W>
inline void store(float* to, Float<W> value) {
  *reinterpret_cast<typename Simd<W>::Loose*>(to) = value;
}
template <int W>
inline Float<W> broadcast(float value) {
  return value - Float<W>{};  // adding 0 would change -0, so it costs an instruction
}
template <int W>
inline Float<W> smaller(Float<W> a, Float<W> b) {
  return a < b ? a : b;
}
template <int W>
inline Float<W> larger(Float<W> a, Float<W> b) {
  return a > b ? a : b;
}
/// 0, 1, 2, ...
template <int W>
inline Int<W> lanes() {
  Int<W> lane{};
  for (int i = 0; i < W; ++i) lane[i] = i;
  return lane;
}

/// Of the concatenation of a and b, every second block of `Block` lanes, from block `First` on.
template <int W, int Block, int First, int... Lane>
inline Float<W> every_second(Float<W> a, Float<W> b) {
  if constexpr (sizeof...(Lane) == W) {
    return __builtin_shufflevector(a, b, Lane...);
  } else {
    constexpr int next = sizeof...(Lane);
    return every_second<W, Block, First, Lane..., (next / Block * 2 + First) * Block + next % Block>(a, b);
  }
}

/// Lane i of the result is the sum over the lanes of part[i]. Overwrites `part`.
template <int W, int Block = W / 2>
inline Float<W> sums_of_each(Float<W>* part) {
#pragma GCC unroll 16
  for (int i = 0; i < Block; ++i) {
    part[i] = every_second<W, Block, 0>(part[2 * i], part[2 * i + 1]) +
              every_second<W, Block, 1>(part[2 * i], part[2 * i + 1]);
  }
  if constexpr (Block == 1) {
    return part[0];
  } else {
    return sums_of_each<W, Block / 2>(part);
  }
}

/// Over the lanes of one vector, in a fixed order.
template <int W, int Block = W / 2>
inline float largest_lane(Float<W> v) {
  v = larger<W>(every_second<W, Block, 0>(v, v), every_second<W, Block, 1>(v, v));
  if constexpr (Block == 1) {
    return v[0];
  } else {
    return largest_lane<W, Block / 2>(v);
  }
}
template <int W, int Block = W / 2>
inline float sum_of_lanes(Float<W> v) {
  v = every_second<W, Block, 0>(v, v) + every_second<W, Block, 1>(v, v);
  if constexpr (Block == 1) {
    return v[0];
  } else {
    return sum_of_lanes<W, Block / 2>(v);
  }
}

template <int W>
inline Float<W> magnitude(Float<W> v) {
  return (Float<W>)((Int<W>)v & 0x7fffffff);
}

/// e^x for x <= 0, to about 2 units in the last place; exactly 0 below -87, for -infinity as well.
template <int W>
inline Float<W> exp_of_negative(Float<W> x) {
  const Float<W> clamped = larger<W>(x, broadcast<W>(-87.0f));
  constexpr float shift = 12582912.0f;  // 1.5 * 2^23: adding it rounds to whole numbers, in the low bits
  const Float<W> shifted = clamped * 1.44269504f + shift;
  const Float<W> whole = shifted - shift;
  const Float<W> rest = (clamped - whole * 0.693359375f) + whole * 2.12194440e-4f;  // ln 2 in two parts
  // Minimax polynomial of Cephes (expf) on [-ln 2 / 2, ln 2 / 2].
  Float<W> p = rest * 1.9875691500e-4f + 1.3981999507e-3f;
  p = p * rest + 8.3334519073e-3f;
  p = p * rest + 4.1665795894e-2f;
  p = p * rest + 1.6666665459e-1f;
  p = p * rest + 5.0000001201e-1f;
  p = p * rest * rest + rest + 1.0f;
  const Int<W> power = ((Int<W>)shifted << 23) + (Int<W>)p;  // times 2^whole; the constant part shifts out
  return x < -87.0f ? Float<W>{} : (Float<W>)power;
}
inline float exp_of_negative(float x) { return exp_of_negative<4>(broadcast<4>(x))[0]; }

}  // namespace
}  // namespace heddle::cpu
