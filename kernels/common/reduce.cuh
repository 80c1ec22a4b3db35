// Sums and maxima over the lanes of a warp and over groups of lanes.
#pragma once

namespace heddle {

constexpr int kWarp = 32;
constexpr unsigned kAllLanes = 0xffffffffu;

__device__ __forceinline__ float infinity() { return __int_as_float(0x7f800000); }

/// Sum over groups of `Lanes` neighbouring lanes, a power of two up to a warp; every lane gets it.
template <int Lanes>
__device__ __forceinline__ float sum_over_lanes(float value) {
#pragma unroll
  for (int offset = Lanes / 2; offset > 0; offset /= 2) value += __shfl_xor_sync(kAllLanes, value, offset);
  return value;
}

/// Sum over the groups of `Lanes` lanes of a warp, lane by lane: every group gets it.
template <int Lanes>
__device__ __forceinline__ float sum_over_groups(float value) {
#pragma unroll
  for (int offset = Lanes; offset < kWarp; offset *= 2) value += __shfl_xor_sync(kAllLanes, value, offset);
  return value;
}

/// As unsigned numbers these bits order like the floats do, so that the integer reductions of a warp apply.
__device__ __forceinline__ unsigned ordered_bits(float value) {
  const unsigned bits = __float_as_uint(value);
  return bits ^ ((bits >> 31) != 0 ? 0xffffffffu : 0x80000000u);
}
__device__ __forceinline__ float from_ordered_bits(unsigned order) {
  return __uint_as_float(order ^ ((order >> 31) != 0 ? 0x80000000u : 0xffffffffu));
}

/// The largest of all lanes; every lane gets it.
__device__ __forceinline__ float largest_over_warp(float value) {
#if __CUDA_ARCH__ >= 800
  return from_ordered_bits(__reduce_max_sync(kAllLanes, ordered_bits(value)));
#else
#pragma unroll
  for (int offset = kWarp / 2; offset > 0; offset /= 2) value = fmaxf(value, __shfl_xor_sync(kAllLanes, value, offset));
  return value;
#endif
}

/// The smallest of all lanes; every lane gets it.
__device__ __forceinline__ int smallest_over_warp(int value) {
#if __CUDA_ARCH__ >= 800
  return __reduce_min_sync(kAllLanes, value);
#else
#pragma unroll
  for (int offset = kWarp / 2; offset > 0; offset /= 2) {
    const int other = __shfl_xor_sync(kAllLanes, value, offset);
    value = other < value ? other : value;
  }
  return value;
#endif
}

/// A value and where it stands.
struct Leader {
  float value;
  int index;
};
constexpr int kNobody = 0x7fffffff;  ///< index of a leader over nothing, whose value is -infinity
__device__ __forceinline__ Leader nobody() { return {-infinity(), kNobody}; }

/// The larger value; of equal ones the lower index.
__device__ __forceinline__ Leader ahead(Leader a, Leader b) {
  return b.value > a.value || (b.value == a.value && b.index < a.index) ? b : a;
}

/// The leader of all lanes; every lane gets it.
__device__ __forceinline__ Leader lead_over_warp(Leader mine) {
#if __CUDA_ARCH__ >= 800
  const unsigned order = ordered_bits(mine.value);
  const unsigned top = __reduce_max_sync(kAllLanes, order);
  return {from_ordered_bits(top), __reduce_min_sync(kAllLanes, order == top ? mine.index : kNobody)};
#else
#pragma unroll
  for (int offset = kWarp / 2; offset > 0; offset /= 2) {
    mine =
        ahead(mine, {__shfl_xor_sync(kAllLanes, mine.value, offset), __shfl_xor_sync(kAllLanes, mine.index, offset)});
  }
  return mine;
#endif
}

/// exp(value - top) where an absent value, -infinity, counts as 0 even if the top is absent too.
__device__ __forceinline__ float exp_below(float value, float top) {
  return value == -infinity() ? 0.0f : __expf(value - top);
}

}  // namespace heddle
