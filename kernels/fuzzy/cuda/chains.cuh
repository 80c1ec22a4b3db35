// The chains of a sum (sums.hpp) over the lanes of a warp.
#pragma once

#include "heddle/kernels/common/reduce.cuh"
#include "heddle/kernels/fuzzy/sums.hpp"

namespace heddle::fuzzy {

static_assert(kChains == kWarp, "a chain for each lane");

/// The number with `of(component)` in place of each component.
template <class T, int cuts, class Of>
__device__ __forceinline__ LowerUpper<T, cuts> with_components(const LowerUpper<T, cuts>& number, const Of& of) {
  LowerUpper<T, cuts> other;
#pragma unroll
  for (int i = 0; i < cuts; ++i) {
    other.lower[i] = of(number.lower[i]);
    other.upper[i] = of(number.upper[i]);
  }
  return other;
}
template <class T, int cuts, class Of>
__device__ __forceinline__ MidpointRadius<T, cuts> with_components(const MidpointRadius<T, cuts>& number,
                                                                   const Of& of) {
  MidpointRadius<T, cuts> other;
  other.midpoint = of(number.midpoint);
#pragma unroll
  for (int i = 0; i < cuts; ++i) other.radius[i] = of(number.radius[i]);
  return other;
}
/// The number that the lane `apart` lanes further on has; any one in the last lanes.
template <class Number>
__device__ __forceinline__ Number from_lane_after(const Number& number, int apart) {
  return with_components(number, [&](auto component) { return __shfl_down_sync(kAllLanes, component, apart); });
}
/// The number that the lane has whose index differs in the bit `apart`.
template <class Number>
__device__ __forceinline__ Number from_lane_across(const Number& number, int apart) {
  return with_components(number, [&](auto component) { return __shfl_xor_sync(kAllLanes, component, apart); });
}

/// The sum of a block from the chains of all lanes, in the first of 2 `Apart` lanes.
template <int Apart = kChains / 2, class Number>
__device__ __forceinline__ Number sum_of_chains(Number chain) {
#pragma unroll
  for (int apart = Apart; apart > 0; apart /= 2) add_term(chain, from_lane_after(chain, apart));
  return closed_sum(chain);
}
/// The same for a block of each of some rows: that of row r in the first lane of the r-th part of the lanes. At each
/// step the first half of a part goes on with half of the rows, and the other half with the rest.
template <int Apart = kChains / 2, int Rows, class Number>
__device__ __forceinline__ Number sum_of_row(const Number (&chain)[Rows], int lane) {
  if constexpr (Rows == 1) {
    return sum_of_chains<Apart>(chain[0]);
  } else {
    static_assert(Rows % 2 == 0 && Apart > 0, "halves without a rest");
    constexpr int half = Rows / 2;
    const bool first = (lane & Apart) == 0;
    Number sum[half];
#pragma unroll
    for (int r = 0; r < half; ++r) {
      Number own = chain[r + half], given = chain[r];
      if (first) {
        own = chain[r];
        given = chain[r + half];
      }
      Number term = from_lane_across(given, Apart);
      // The chain of the first half is the first term.
      sum[r] = own;
      if (!first) {
        sum[r] = term;
        term = own;
      }
      add_term(sum[r], term);
    }
    return sum_of_row<Apart / 2>(sum, lane);
  }
}

}  // namespace heddle::fuzzy
