// kernels/common/barriers.cuh for the emulator: the same interface.
#pragma once

#include "heddle/kernels/common/exchange.cuh"

namespace heddle {

template <int Number, int Threads>
HEDDLE_CALL void partial_barrier(HEDDLE_CALLER) {
  heddle_emulator_calls->partial_barrier(Number, Threads, HEDDLE_LINE);
}

#if __CUDA_ARCH__ >= 900

HEDDLE_CALL void cluster_arrive_after_loads(HEDDLE_CALLER) {
  heddle_emulator_calls->cluster_arrive(emulator::HandsOn::reads, HEDDLE_LINE);
}

#endif

}  // namespace heddle
