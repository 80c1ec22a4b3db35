// The chains of a sum (sums.hpp) over the lanes of a warp.
#pragma once

#include "heddle/kernels/common/reduce.cuh"
#include "heddle/kernels/fuzzy/sums.hpp"

namespace heddle::fuzzy {

static_assert(kChains == kWarp, "a chain for each lane");

/// The number that the lane `apart` lanes further on has; any one in the last lanes.
template <class T, int cuts>
__device__ __forceinline__ LowerUpper<T, cuts> from_lane_after(const LowerUpper<T, cuts>& number, int apart) {
  LowerUpper<T, cuts> other;
#pragma unroll
  for (int i = 0; i < cuts; ++i) {
    other.lower[i] = __shfl_down_sync(kAllLanes, number.lower[i], apart);
    other.upper[i] = __shfl_down_sync(kAllLanes, number.upper[i], apart);
  }
  return other;
}
template <class T, int cuts>
__device__ __forceinline__ MidpointRadius<T, cuts> from_lane_after(const MidpointRadius<T, cuts>& number, int apart) {
  MidpointRadius<T, cuts> other;
  other.midpoint = __shfl_down_sync(kAllLanes, number.midpoint, apart);
#pragma unroll
  for (int i = 0; i < cuts; ++i) other.radius[i] = __shfl_down_sync(kAllLanes, number.radius[i], apart);
  return other;
}

/// The number of the first lane, in every lane.
template <class T, int cuts>
__device__ __forceinline__ LowerUpper<T, cuts> of_first_lane(const LowerUpper<T, cuts>& number) {
  LowerUpper<T, cuts> first;
#pragma unroll
  for (int i = 0; i < cuts; ++i) {
    first.lower[i] = __shfl_sync(kAllLanes, number.lower[i], 0);
    first.upper[i] = __shfl_sync(kAllLanes, number.upper[i], 0);
  }
  return first;
}
template <class T, int cuts>
__device__ __forceinline__ MidpointRadius<T, cuts> of_first_lane(const MidpointRadius<T, cuts>& number) {
  MidpointRadius<T, cuts> first;
  first.midpoint = __shfl_sync(kAllLanes, number.midpoint, 0);
#pragma unroll
  for (int i = 0; i < cuts; ++i) first.radius[i] = __shfl_sync(kAllLanes, number.radius[i], 0);
  return first;
}

/// The sum of a block from the chains of all lanes, in the first lane.
template <class Number>
__device__ __forceinline__ Number sum_of_chains(Number chain) {
#pragma unroll
  for (int apart = kChains / 2; apart > 0; apart /= 2) add_term(chain, from_lane_after(chain, apart));
  return closed_sum(chain);
}

}  // namespace heddle::fuzzy
