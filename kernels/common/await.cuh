// Lanes that wait for packets of many blocks.
#pragma once

#include "heddle/kernels/common/exchange.cuh"
#include "heddle/kernels/common/reduce.cuh"

namespace heddle {

/// Waits until lane i of a group of `Lanes` neighbouring ones, a power of two up to a warp, has packets i, i + Lanes,
/// ... of `count` with this stamp in `arrived`, whose stamps are others before; the rest of it stays as it is. False if
/// one does not come. Groups of a warp may wait for different packets. Not a barrier of the warp.
template <int Lanes = kWarp, int PerLane>
__device__ __forceinline__ bool await_packets(const Packet* from, int count, unsigned stamp,
                                              Packet (&arrived)[PerLane]) {
  const int lane = static_cast<int>(threadIdx.x) % Lanes;
  Patience patience;
  while (true) {
    bool waits = false;
#pragma unroll
    for (int i = 0; i < PerLane; ++i) {
      if (lane + i * Lanes < count && arrived[i].stamp != stamp) arrived[i] = look(from + lane + i * Lanes);
    }
#pragma unroll
    for (int i = 0; i < PerLane; ++i) {
      if (lane + i * Lanes < count && arrived[i].stamp != stamp) waits = true;
    }
    if (!waits) return true;
    if (patience.exhausted()) return false;
  }
}

}  // namespace heddle
