// Lanes that wait for packets of many blocks.
#pragma once

#include "heddle/kernels/common/exchange.cuh"
#include "heddle/kernels/common/reduce.cuh"

namespace heddle {

/// Looks at packets lane, lane + Lanes, ..., `Looks` of them, until all have this stamp; at the first in place of those
/// beyond `count`.
template <int Looks, int Lanes, int PerLane>
__device__ __forceinline__ bool look_until(const Packet* from, int count, unsigned stamp, Packet (&seen)[PerLane]) {
  const int lane = static_cast<int>(threadIdx.x) % Lanes, first = min(lane, count - 1);
  Patience patience;
  while (true) {
    // Always at all of them: with a condition for each, ptxas (13.0) runs out of predicates, and then one look waits
    // for the answer to another.
#pragma unroll
    for (int i = 0; i < Looks; ++i) seen[i] = look(from + (lane + i * Lanes < count ? lane + i * Lanes : first));
    bool waits = false;
#pragma unroll
    for (int i = 0; i < Looks; ++i) waits = waits || seen[i].stamp != stamp;
    if (!waits) return true;
    if (patience.exhausted()) return false;
  }
}

/// Waits until packets lane, lane + Lanes, ... of `count` have this stamp, whose stamps are others before, for the
/// lanes of a group of `Lanes` neighbouring ones, a power of two up to a warp: they are in `arrived` then, and `absent`
/// where there is none. False if one does not come. What has arrived is looked at again until all have: nobody may post
/// over it before this returns. Groups of a warp may wait for different packets. Not a barrier of the warp.
template <int Lanes = kWarp, int PerLane>
__device__ __forceinline__ bool await_packets(const Packet* from, int count, unsigned stamp, const Packet& absent,
                                              Packet (&arrived)[PerLane]) {
  constexpr int kFew = (PerLane + 1) / 2;
  bool met = true;
  if (count > kFew * Lanes) {
    met = look_until<PerLane, Lanes>(from, count, stamp, arrived);
  } else if (count > 0) {
    met = look_until<kFew, Lanes>(from, count, stamp, arrived);
  }
  const int lane = static_cast<int>(threadIdx.x) % Lanes;
#pragma unroll
  for (int i = 0; i < PerLane; ++i) {
    if (lane + i * Lanes >= count) arrived[i] = absent;
  }
  return met;
}

}  // namespace heddle
