// The centres and widths of the rules of a thread that do not fit on chip (storage kStream, storage.cuh): in global
// memory, mostly in the L2 cache. A pass over them takes pack by pack, always in the same order. Every pack is
// requested `Ahead` packs before it is taken, through a ring in shared memory; the first ones of a pass are requested
// at the end of the pass before, so that they travel while the blocks exchange their sums.
//
// A thread reads and writes its own parameters alone, in both memories: no barrier is needed. Threads of a warp lie
// side by side, so that a warp's access is whole lines of the cache.
#pragma once

#include "heddle/kernels/common/copies.cuh"
#include "heddle/kernels/common/memory.cuh"
#include "heddle/kernels/sonfin/cuda/storage.cuh"

namespace heddle::sonfin {

/// No rules: nothing is kept.
template <int Block, int Packs, int Rules, int Vector, int Ahead, bool Some = (Rules > 0)>
class StreamedRules {
 public:
  __device__ __forceinline__ StreamedRules(SharedMemory&, float*) {}
};

/// `Rules` rules of a thread, each of `Packs` packs of `Vector` inputs.
template <int Block, int Packs, int Rules, int Vector, int Ahead>
class StreamedRules<Block, Packs, Rules, Vector, Ahead, true> {
 public:
  /// `all`: of all blocks, kWordsOfBlock each.
  __device__ __forceinline__ StreamedRules(SharedMemory& shared, float* all)
      : own_(all + static_cast<long long>(blockIdx.x) * kWordsOfBlock + static_cast<int>(threadIdx.x) * Vector),
        ring_(shared.take<float>(2 * kPlaces * kApart) + static_cast<int>(threadIdx.x) * Vector) {}

  __device__ __forceinline__ Pack<Vector> centre(int r, int i) const { return load<Vector>(own_ + place(r, i)); }
  __device__ __forceinline__ Pack<Vector> width(int r, int i) const {
    return load<Vector>(own_ + place(r, i) + kApart);
  }
  __device__ __forceinline__ void set(int r, int i, const Pack<Vector>& centre, const Pack<Vector>& width) {
    store<Vector>(own_ + place(r, i), centre);
    store<Vector>(own_ + place(r, i) + kApart, width);
  }

  /// Requests the first packs of a pass, after set() has changed some of them; those that were requested before are
  /// forgotten.
  __device__ __forceinline__ void restart() {
    groups_arrived<0>();  // two copies to one place may come in any order
    requested_ = 0;
    for (int n = 0; n < kPlaces; ++n) {
      request();
      turn();
    }
  }

  /// The next pack of a pass: pack 0 of every rule, pack 1 of every rule, and so on.
  __device__ __forceinline__ void take(Pack<Vector>& centre, Pack<Vector>& width) const {
    groups_arrived<kPlaces - 1>();
    centre = load<Vector>(ring_ + place_ * (2 * kApart));
    width = load<Vector>(ring_ + place_ * (2 * kApart) + kApart);
  }

  /// The pack that was taken last has been used, and stored if it has changed: its place is free for a later one, after
  /// the last of the pass for the first of the next.
  __device__ __forceinline__ void release() {
    request();
    turn();
  }

 private:
  static constexpr int kPacks = Packs * Rules, kPlaces = places_of_ring(Ahead, Packs, Rules);
  static constexpr int kApart = Block * Vector;  ///< words from a thread's pack of centres to its pack of widths
  static constexpr int kWordsOfBlock = 2 * kPacks * kApart;

  __device__ __forceinline__ static int place(int r, int i) { return (i * Rules + r) * (2 * kApart); }

  /// Starts to bring the next pack that has not been requested to the place in turn.
  __device__ __forceinline__ void request() {
    float* const to = ring_ + place_ * (2 * kApart);
    const float* const from = own_ + requested_ * (2 * kApart);
    copy(to, from);
    copy(to + kApart, from + kApart);
    end_group();
    requested_ = requested_ + 1 < kPacks ? requested_ + 1 : 0;
  }
  __device__ __forceinline__ void turn() { place_ = place_ + 1 < kPlaces ? place_ + 1 : 0; }

  __device__ __forceinline__ static void copy(float* to, const float* from) {
    if constexpr (Vector == 4) {
      start_wide_grouped_copy(to, from);
    } else if constexpr (Vector == 2) {
      start_grouped_copy(reinterpret_cast<Pack<2>*>(to), reinterpret_cast<const Pack<2>*>(from));
    } else {
      start_grouped_copy(to, from);
    }
  }

  float* own_;         ///< this thread's
  float* ring_;        ///< this thread's
  int place_ = 0;      ///< of the pack to be taken next; where all places are taken, it is the oldest
  int requested_ = 0;  ///< the pack to be requested next
};

}  // namespace heddle::sonfin
