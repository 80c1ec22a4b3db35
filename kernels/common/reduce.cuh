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

/// The larger value; of equal ones the lower index.
__device__ __forceinline__ Leader ahead(Leader a, Leader b) {
  return b.value > a.value || (b.value == a.value && b.index < a.index) ? b : a;
}

__device__ __forceinline__ Leader lead_over_warp(Leader mine) {
#pragma unroll
  for (int offset = kWarp / 2; offset > 0; offset /= 2) {
    mine = ahead(mine, {__shfl_xor_sync(kAllLanes, mine.value, offset), __shfl_xor_sync(kAllLanes, mine.index, offset)});
  }
  return mine;
}

/// exp(value - top) where an absent value, -infinity, counts as 0 even if the top is absent too.
__device__ __forceinline__ float exp_below(float value, float top) {
  return value == -infinity() ? 0.0f : __expf(value - top);
}

}  // namespace heddle
