// Where the cycles of a kernel go: clocks between its stages, which a program that measures them switches on with
// -DHEDDLE_STAGE_CLOCKS. Otherwise nothing of this is in the code.
#pragma once

namespace heddle {

#ifdef HEDDLE_STAGE_CLOCKS

/// The first thread of every block has its own, all others do the same and tell nothing.
template <int Stages>
class StageClocks {
 public:
  __device__ __forceinline__ void start() { last_ = clock64(); }
  /// The stage with this number has ended.
  __device__ __forceinline__ void ended(int stage) {
    const long long now = clock64();
    sums_[stage] += now - last_;
    last_ = now;
  }
  /// Prints a line for each stage, for the first block and one in the middle: block, stage, cycles of all rounds.
  __device__ __forceinline__ void tell(int rounds) const {
    if (threadIdx.x != 0 || (blockIdx.x != 0 && blockIdx.x != gridDim.x / 2)) return;
    for (int stage = 0; stage < Stages; ++stage) {
      printf("stage_clocks block %d stage %d rounds %d cycles %lld\n", static_cast<int>(blockIdx.x), stage, rounds,
             sums_[stage]);
    }
  }

 private:
  long long last_ = 0, sums_[Stages] = {};
};

#else

template <int Stages>
class StageClocks {
 public:
  __device__ __forceinline__ static void start() {}
  __device__ __forceinline__ static void ended(int) {}
  __device__ __forceinline__ static void tell(int) {}
};

#endif

}  // namespace heddle
