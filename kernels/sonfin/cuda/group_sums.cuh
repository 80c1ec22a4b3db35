// Sums over the threads that share a rule: shuffles within a warp. If several warps share it, they leave their sums in
// shared memory, and after one barrier of the block every warp adds up those of its group. Sums are always added in the
// same order, so that all threads of a group get the same result, bit for bit.
#pragma once

#include "heddle/kernels/common/memory.cuh"
#include "heddle/kernels/common/reduce.cuh"

namespace heddle::sonfin {

constexpr int power_of_two_from(int value) {
  int power = 1;
  while (power < value) power *= 2;
  return power;
}

/// Adds up `Count` values, at most a warp, over the lanes of a warp. Lane l gets the sum of value l / (kWarp / P), with
/// P the power of two from Count. Every step halves the values that a lane still adds up, so that few shuffles are
/// needed: 9 for 8 values instead of 40.
template <int Count>
__device__ __forceinline__ float scattered_sums(const float (&values)[Count]) {
  constexpr int kUp = power_of_two_from(Count);
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
  float some[kUp];
#pragma unroll
  for (int i = 0; i < kUp; ++i) some[i] = i < Count ? values[i] : 0.0f;
#pragma unroll
  for (int half = kUp / 2; half > 0; half /= 2) {
    const int offset = half * (kWarp / kUp);
    const bool upper = (lane & offset) != 0;
#pragma unroll
    for (int i = 0; i < half; ++i) {
      const float sent = upper ? some[i] : some[i + half], kept = upper ? some[i + half] : some[i];
      some[i] = kept + __shfl_xor_sync(kAllLanes, sent, offset);
    }
  }
#pragma unroll
  for (int offset = kWarp / kUp / 2; offset > 0; offset /= 2) {
    some[0] += __shfl_xor_sync(kAllLanes, some[0], offset);
  }
  return some[0];
}

/// Groups within a warp need no memory: they use sum_over_lanes().
template <int Block, int Lanes, int Count, bool SeveralWarps = (Lanes > kWarp)>
class GroupSums {
 public:
  __device__ __forceinline__ explicit GroupSums(SharedMemory&) {}
};

/// `Count` sums over groups of `Lanes` threads, a power of two of warps. The warps leave theirs in two places in turn:
/// a warp that is at the next sums overwrites nothing that a slower one still reads.
template <int Block, int Lanes, int Count>
class GroupSums<Block, Lanes, Count, true> {
  static_assert(Lanes <= Block && Block % Lanes == 0, "groups of a block");

 public:
  __device__ __forceinline__ explicit GroupSums(SharedMemory& shared)
      : words_(shared.take<float>(2 * kWarps * kUp) + static_cast<int>(threadIdx.x) / Lanes * (kOfGroup * kUp)) {}

  /// Every thread of a group gets the group's sums. The whole block calls it: a barrier of the block.
  __device__ __forceinline__ void add_up(float (&values)[Count]) {
    const int lane = static_cast<int>(threadIdx.x) % kWarp, warp = static_cast<int>(threadIdx.x) % Lanes / kWarp;
    const float own = scattered_sums(values);
    float* const left = words_ + turn_ * (kWarps * kUp);
    if (lane % kAlike == 0) left[place(lane / kAlike, warp)] = own;
    __syncthreads();
    turn_ ^= 1;
    if constexpr (kWhole) {
#pragma unroll
      for (int i = 0; i < Count; ++i) values[i] = sum_of_words(left + place(i, 0));
    } else {
      // Lanes share the words, then tell each other the sums.
      constexpr int kSharers = kAlike < kOfGroup ? kAlike : kOfGroup;
      float sum = 0.0f;
#pragma unroll
      for (int other = 0; other < kOfGroup; other += kSharers) {
        sum += left[place(lane / kAlike, other + lane % kSharers)];
      }
      sum = sum_over_lanes<kSharers>(sum);
#pragma unroll
      for (int i = 0; i < Count; ++i) values[i] = __shfl_sync(kAllLanes, sum, i * kAlike);
    }
  }

 private:
  static constexpr int kWarps = Block / kWarp, kOfGroup = Lanes / kWarp;  ///< warps
  static constexpr int kUp = power_of_two_from(Count);
  static constexpr int kAlike = kWarp / kUp;  ///< lanes with the same value of scattered_sums()
  /// Few words are read by every lane: that takes less time than shuffles.
  static constexpr bool kWhole = kOfGroup * Count <= kWarp;

  /// Where a warp leaves a sum: beside those that are read together.
  __device__ static int place(int value, int warp) { return kWhole ? value * kOfGroup + warp : warp * kUp + value; }

  __device__ __forceinline__ static float sum_of_words(const float* from) {
    constexpr int kWidth = kOfGroup < 4 ? kOfGroup : 4;
    float parts[kOfGroup / kWidth];
#pragma unroll
    for (int i = 0; i < kOfGroup / kWidth; ++i) {
      const Pack<kWidth> some = load<kWidth>(from + i * kWidth);
      if constexpr (kWidth == 4) {
        parts[i] = (some.value[0] + some.value[1]) + (some.value[2] + some.value[3]);
      } else {
        parts[i] = some.value[0] + some.value[1];
      }
    }
    float sum = parts[0];
#pragma unroll
    for (int i = 1; i < kOfGroup / kWidth; ++i) sum += parts[i];
    return sum;
  }

  float* words_;
  int turn_ = 0;
};

}  // namespace heddle::sonfin
