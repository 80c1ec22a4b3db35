// kernels/common/memory.cuh for the emulator: the same interface.
#pragma once

namespace heddle {

template <int Width>
struct alignas(4 * Width) Pack {
  float value[Width];
};

template <int Width>
__device__ __forceinline__ Pack<Width> filled(float value) {
  Pack<Width> pack;
  for (int v = 0; v < Width; ++v) pack.value[v] = value;
  return pack;
}

/// Packs are requested ahead, whether or not they will be used: what nobody wrote in global memory is not a number.
template <int Width>
HEDDLE_CALL Pack<Width> load(const float* from) {
  Pack<Width> pack;
  heddle_emulator_calls->load(from, &pack, 4 * Width, HEDDLE_AT);
  return pack;
}

template <int Width>
__device__ __forceinline__ void store(float* to, const Pack<Width>& pack) {
  *reinterpret_cast<Pack<Width>*>(to) = pack;
}

/// The emulator keeps the pieces apart, so that each has bounds of its own.
class SharedMemory {
 public:
  template <class T>
  HEDDLE_CALL T* take(int count) {
    static_assert(sizeof(T) == 4, "pieces are counted in words");
    void* piece = heddle_emulator_calls->shared_piece(pieces_++, used_, count, HEDDLE_AT);
    used_ += count;
    return static_cast<T*>(piece);
  }

 private:
  int used_ = 0, pieces_ = 0;
};

template <int Width = 1>
HEDDLE_CALL void start_copy(float* shared_to, const float* from) {
  static_assert(Width == 1 || Width == 4, "one access");
  heddle_emulator_calls->start_copy(shared_to, from, 4 * Width, HEDDLE_AT);
}

HEDDLE_CALL void copies_arrived() { heddle_emulator_calls->copies_arrived(); }

/// Nothing comes of it, but the address has to be one that could be loaded from.
HEDDLE_CALL void bring_into_cache(const float* from) {
  float unused;
  heddle_emulator_calls->load(from, &unused, sizeof unused, HEDDLE_AT);
}

HEDDLE_PLAIN inline void seldom(float&) {}

HEDDLE_CALL void let_next_launch_start() {
#if __CUDA_ARCH__ >= 900
  heddle_emulator_calls->let_next_launch_start();
#endif
}

HEDDLE_CALL void wait_for_previous_launch() {
#if __CUDA_ARCH__ >= 900
  heddle_emulator_calls->wait_for_previous_launch();
#endif
}

}  // namespace heddle
