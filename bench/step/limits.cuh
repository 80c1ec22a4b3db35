// What a GPU can do at best: kernels whose time is one rate or one latency. Compiled at run time like the templates.
#pragma once

#include "heddle/bench/step/limits_sizes.cuh"
#include "heddle/kernels/common/await.cuh"
#include "heddle/kernels/common/exchange.cuh"
#include "heddle/kernels/common/reduce.cuh"

namespace heddle::bench {

/// Launches alone.
__global__ void nothing() {}

/// kChains * kSteps multiply-adds per thread and round.
__global__ void multiply_add(float* sink, int rounds, float factor) {
  float value[kChains];
#pragma unroll
  for (int c = 0; c < kChains; ++c) value[c] = static_cast<float>(threadIdx.x + c);
#pragma unroll 1
  for (int round = 0; round < rounds; ++round) {
#pragma unroll
    for (int step = 0; step < kSteps; ++step) {
#pragma unroll
      for (int c = 0; c < kChains; ++c) value[c] = value[c] * factor + factor;
    }
  }
  float sum = 0.0f;
#pragma unroll
  for (int c = 0; c < kChains; ++c) sum += value[c];
  if (sum == -1.0f) *sink = sum;  // never; but the compiler cannot know
}

/// Reads `passes` times what `from` has, `part` packs of four floats for each block; a multiple of four times the
/// block. Every pass gives a block another part, so that its L1 cache does not have it.
__global__ void read(const float* from, float* sink, int part, int passes) {
  const int block = static_cast<int>(blockDim.x);
  float sum = 0.0f;
#pragma unroll 1
  for (int pass = 0; pass < passes; ++pass) {
    const long long mine = (blockIdx.x + static_cast<unsigned>(pass) * 37u) % gridDim.x;
    const float* at = from + 4 * mine * part;
#pragma unroll 1
    for (int i = static_cast<int>(threadIdx.x); i < part; i += 4 * block) {
      Pack<4> pack[4];
#pragma unroll
      for (int k = 0; k < 4; ++k) pack[k] = load<4>(at + 4ll * (i + k * block));
#pragma unroll
      for (int k = 0; k < 4; ++k) sum += pack[k].value[0] + pack[k].value[1] + pack[k].value[2] + pack[k].value[3];
    }
  }
  if (sum == -1.0f) *sink = sum;
}

/// Rounds in which every warp of a block tells all others a number, and all know the sum.
template <int Block>
__global__ void __launch_bounds__(Block) exchange_in_block(float* sink, int rounds) {
  constexpr int kWarps = Block / kWarp;
  SharedMemory shared;
  float* records = shared.take<float>(2 * 4 * kWarps);
  const int warp = static_cast<int>(threadIdx.x) / kWarp, lane = static_cast<int>(threadIdx.x) % kWarp;
  float value = 1.0f;
#pragma unroll 1
  for (int round = 0; round < rounds; ++round) {
    float* now = records + (round & 1) * 4 * kWarps;
    if (lane == 0) store<4>(now + 4 * warp, Pack<4>{{value, value, value, 0.0f}});
    __syncthreads();
    value = sum_over_lanes<kWarps>(load<4>(now + 4 * (lane % kWarps)).value[0]) * (1.0f / kWarps);
  }
  if (threadIdx.x == 0) *sink = value;
}

#if __CUDA_ARCH__ >= 900
/// The same among the blocks of a cluster, each of one warp.
__global__ void exchange_in_cluster(float* sink, int rounds) {
  const int blocks = cluster_blocks(), rank = cluster_rank(), lane = static_cast<int>(threadIdx.x);
  SharedMemory shared;
  int* boxes = shared.take<int>(4);
  float* records = shared.take<float>(2 * 4 * blocks);
  if (lane < 2) Mailbox(boxes + 2 * lane).open();
  cluster_barrier();
  const float share = 1.0f / static_cast<float>(blocks);
  float value = 1.0f;
#pragma unroll 1
  for (int round = 0; round < rounds; ++round) {
    const Mailbox box(boxes + 2 * (round & 1));
    float* now = records + (round & 1) * 4 * blocks;
    if (lane < blocks) box.send(lane, now + 4 * rank, Pack<4>{{value, value, value, 0.0f}});
    if (lane == 0) box.expect(16 * blocks);
    box.wait(round >> 1);
    const float heard = lane < blocks ? load<4>(now + 4 * lane).value[0] : 0.0f;
    value = sum_over_lanes<kWarp>(heard) * share;
  }
  cluster_barrier();
  if (lane == 0 && rank == 0) *sink = value;
}
#endif

/// Empties the packets of the launch that follows.
__global__ void clear_packets(Packet* packets, int count) {
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i < count) packets[i] = {0.0f, 0.0f, 0.0f, 0};
}

/// Sum of the packets of `blocks` that a lane awaits, `Looks` at most. Sets `met` to false if one does not come.
template <int Looks>
__device__ __forceinline__ float hear(const Packet* from, int blocks, unsigned stamp, bool& met) {
  Packet seen[Looks];
  met = look_until<Looks, kWarp>(from, blocks, stamp, seen);
  float heard = 0.0f;
#pragma unroll
  for (int i = 0; i < Looks; ++i) {
    if (static_cast<int>(threadIdx.x) + i * kWarp < blocks) heard += seen[i].a;
  }
  return heard;
}

/// The same among the blocks of a grid, each of one warp; at most kWarp * kPacketsPerLane of them. Like the kernels of
/// training, a lane looks at no more packets than it has to (3, 4 or kPacketsPerLane), a block posts its packet
/// `replicas` times, at most kWarp times, for as many groups of blocks, and first looks for those of the others
/// `first_look` cycles after its own post. `packets`: 2 * replicas for each block.
__global__ void exchange_in_grid(Packet* packets, float* sink, int rounds, int replicas, int first_look) {
  const int blocks = static_cast<int>(gridDim.x), lane = static_cast<int>(threadIdx.x);
  const float share = 1.0f / static_cast<float>(blocks);
  float value = 1.0f;
  bool met = true;
#pragma unroll 1
  for (int round = 0; round < rounds && met; ++round) {
    const unsigned stamp = static_cast<unsigned>(round + 1);
    Packet* now = packets + (round & 1) * replicas * blocks;
    if (lane < replicas) post(now + lane * blocks + blockIdx.x, {value, value, value, stamp});
    const unsigned posted = cycles_now();
    const Packet* mine = now + static_cast<int>(blockIdx.x) % replicas * blocks;
    wait_since(posted, first_look);
    constexpr int kFew = (kPacketsPerLane + 1) / 2, kMore = kFew + 1;
    float heard;
    if (blocks <= kFew * kWarp) {
      heard = hear<kFew>(mine, blocks, stamp, met);
    } else if (blocks <= kMore * kWarp) {
      heard = hear<kMore>(mine, blocks, stamp, met);
    } else {
      heard = hear<kPacketsPerLane>(mine, blocks, stamp, met);
    }
    __syncwarp();
    met = __all_sync(kAllLanes, met) != 0;
    value = sum_over_lanes<kWarp>(heard) * share;
  }
  // 1 if every round brought everybody's number.
  if (lane == 0 && blockIdx.x == 0) *sink = met ? value : -1.0f;
}

}  // namespace heddle::bench
