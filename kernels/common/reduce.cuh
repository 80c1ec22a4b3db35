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
  // As unsigned numbers, these bits order like the floats do, so the warp's integer reductions apply.
  const unsigned bits = __float_as_uint(mine.value);
  const unsigned order = bits ^ ((bits >> 31) != 0 ? 0xffffffffu : 0x80000000u);
  const unsigned top = __reduce_max_sync(kAllLanes, order);
  const int index = __reduce_min_sync(kAllLanes, order == top ? mine.index : kNobody);
  return {__uint_as_float(top ^ ((top >> 31) != 0 ? 0x80000000u : 0xffffffffu)), index};
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
