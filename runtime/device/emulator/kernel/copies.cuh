// kernels/common/copies.cuh for the emulator: the same interface. A copy arrives when its group is awaited, so that
// what is read before that is found.
#pragma once

#include "heddle/kernels/common/memory.cuh"

namespace heddle {

template <class T>
HEDDLE_CALL void start_grouped_copy(T* shared_to, const T* from) {
  static_assert(sizeof(T) == 4 || sizeof(T) == 8, "one access");
  heddle_emulator_calls->start_copy(shared_to, from, sizeof(T), HEDDLE_AT);
}

template <class T>
HEDDLE_CALL void start_wide_grouped_copy(T* shared_to, const T* from) {
  constexpr unsigned kBytes = 16;
  heddle_emulator_calls->start_copy(shared_to, from, kBytes, HEDDLE_AT);
}

template <int Width>
__device__ __forceinline__ void start_filled_copy(float* shared_to, const float* from, int count) {
  static_assert(Width == 1 || Width == 4, "one access");
  if (Width == 4 && count == Width) return start_wide_grouped_copy(shared_to, from);
  for (int i = 0; i < Width; ++i) {
    if (i < count) {
      start_grouped_copy(shared_to + i, from + i);
    } else {
      shared_to[i] = 0.0f;
    }
  }
}

HEDDLE_CALL void end_group() { heddle_emulator_calls->end_group(); }

template <int Later>
HEDDLE_CALL void groups_arrived() {
  heddle_emulator_calls->groups_arrived(Later);
}

}  // namespace heddle
