// Lanes that wait for packets of many blocks.
#pragma once

#include "heddle/kernels/common/exchange.cuh"
#include "heddle/kernels/common/reduce.cuh"

namespace heddle {

/// Polls `Looks` packets, lane, lane + Lanes, ..., until all have this stamp. Polls the first packet in place of those
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

/// Lets a group of `Lanes` neighbouring lanes (a power of two, up to a warp) wait for `count` packets: lane l waits
/// until packets l, l + Lanes, ... have this stamp. Before, their stamps have to be different. The packets are then in
/// `arrived`; elements beyond `count` are `absent`. Returns false if a packet does not come. Packets that have arrived
/// are polled again until all have, so none may be overwritten before this returns. Groups of a warp may wait for
/// different packets. Not a barrier of the warp.
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
