// Sums of doubles over the blocks of a grid that all run at once, through packets of global memory. Each block owns
// some of the elements: all send it their parts of those, it adds them up in the order of the blocks, and sends every
// block the sum. So a packet is read by one block, or, in one of some copies, by about 16.
// How the packets lie: GridPackets in resident_sizes.cuh.
#pragma once

#include "heddle/kernels/common/await.cuh"
#include "heddle/kernels/common/exchange.cuh"
#include "heddle/kernels/common/reduce.cuh"
#include "heddle/kernels/tsk/cuda/resident_sizes.cuh"

namespace heddle::tsk {

static_assert(sizeof(Packet) == kPacketBytes, "the host makes room for them");

__device__ __forceinline__ Packet packed(double value, unsigned stamp) {
  const long long bits = __double_as_longlong(value);
  return {__uint_as_float(static_cast<unsigned>(bits)), __uint_as_float(static_cast<unsigned>(bits >> 32)), 0.0f,
          stamp};
}
__device__ __forceinline__ double unpacked(const Packet& packet) {
  return __longlong_as_double(static_cast<long long>(static_cast<unsigned long long>(__float_as_uint(packet.b)) << 32 |
                                                     __float_as_uint(packet.a)));
}

/// FirstLook: cycles that a block waits after it has posted packets before it looks for those of others, for which that
/// is too early costs a whole trip to L2.
template <int Block, int FirstLook = 0>
class GridSums {
 public:
  /// `most`: elements of a round. The packets have stamps of 0.
  __device__ __forceinline__ GridSums(Packet* packets, int most) : packets_(packets), most_(most) {}

  /// A round: sums[e], in shared memory, becomes the sum of part(e) over all blocks, for every e < elements. The whole
  /// block calls it; the parts may be read once it has begun and not after it, the sums after it. Returns false, in
  /// every thread of the block, if a block is lost.
  template <class Part>
  __device__ __forceinline__ bool add(int elements, const Part& part, double* sums) {
    constexpr int kWarps = Block / kWarp;
    const int thread = static_cast<int>(threadIdx.x), warp = thread / kWarp, lane = thread % kWarp;
    const int block = static_cast<int>(blockIdx.x), blocks = static_cast<int>(gridDim.x);
    if (blocks == 1) {
      for (int e = thread; e < elements; e += Block) sums[e] = part(e);
      __syncthreads();
      return true;
    }
    ++stamp_;
    const GridPackets<int> where{blocks, most_};
    const int owned = where.owned(), copies = where.replicas();
    for (int e = thread; e < elements; e += Block) {
      post(packets_ + (e % blocks * owned + e / blocks) * blocks + block, packed(part(e), stamp_));
    }
    wait();
    Packet* const totals = packets_ + where.totals();
    // The parts of an element that this block owns are a warp's, or, of few blocks, of a group of its lanes: a block
    // that owns many awaits many together.
    const bool few = blocks <= kWarp && (blocks & (blocks - 1)) == 0;
    const int group = few ? blocks : kWarp, groups = kWarp / group;
    const int together = few ? groups * kPolls : 1;
    const int own = block < elements ? (elements - block - 1) / blocks + 1 : 0;
    bool met = true;
    for (int first = warp * together; first < own; first += kWarps * together) {
      const int end = own - first < together ? own : first + together;
      double value[kPolls];
      met = await(packets_ + (block * owned + first) * blocks, (end - first) * blocks, value) && met;
      if (!few) {
#pragma unroll
        for (int i = 1; i < kPolls; ++i) value[0] += value[i];
      }
#pragma unroll
      for (int i = 0; i < kPolls; ++i) {
        if (first + i * groups >= end) break;
        double sum = value[i];
        for (int offset = group / 2; offset > 0; offset /= 2) sum += __shfl_xor_sync(kAllLanes, sum, offset);
        const int mine = first + i * groups + lane / group;
        if (mine < end && lane % group < copies) {
          post(totals + lane % group * most_ + block + mine * blocks, packed(sum, stamp_));
        }
      }
    }
    wait();
    for (int first = warp * kWarp * kPolls; first < elements; first += Block * kPolls) {
      double value[kPolls];
      met = await(totals + block % copies * most_ + first, elements - first, value) && met;
#pragma unroll
      for (int i = 0; i < kPolls; ++i) {
        const int e = first + lane + i * kWarp;
        if (e < elements) sums[e] = value[i];
      }
    }
    return __syncthreads_and(met ? 1 : 0) != 0;
  }

 private:
  __device__ __forceinline__ static void wait() {
    if constexpr (FirstLook > 0) wait_since(cycles_now(), FirstLook);
  }

  /// The values of the packets lane, lane + 32, ... of `count`, once all have this round's stamp; 0 for those that are
  /// not there.
  __device__ __forceinline__ bool await(const Packet* from, int count, double (&value)[kPolls]) const {
    Packet arrived[kPolls];
    const bool met = await_packets(from, count, stamp_, {0.0f, 0.0f, 0.0f, 0}, arrived);
#pragma unroll
    for (int i = 0; i < kPolls; ++i) value[i] = unpacked(arrived[i]);
    __syncwarp();
    return met;
  }

  Packet* packets_;
  int most_;
  unsigned stamp_ = 0;
};

}  // namespace heddle::tsk
