// What the blocks of the resident schemes share out and send each other: pieces of shared memory, the buffers of a
// plan, and packets through global memory.
#pragma once

#include "heddle/kernels/common/exchange.cuh"
#include "heddle/kernels/mlp/cuda/resident_sizes.cuh"

namespace heddle::mlp {

__device__ __forceinline__ Packet packed(double value, unsigned stamp) {
  const long long bits = __double_as_longlong(value);
  return {__uint_as_float(static_cast<unsigned>(bits)), __uint_as_float(static_cast<unsigned>(bits >> 32)), 0.0f,
          stamp};
}
__device__ __forceinline__ double unpacked(const Packet& packet) {
  return __longlong_as_double(static_cast<long long>(static_cast<unsigned long long>(__float_as_uint(packet.b)) << 32 |
                                                     __float_as_uint(packet.a)));
}

__device__ __forceinline__ void add_packet(float (&sum)[kPacketValues], const Packet& packet) {
  sum[0] += packet.a;
  sum[1] += packet.b;
  sum[2] += packet.c;
}

/// Waits for packets from, from + step, ..., `count` of them, and calls use(i, packet) in their order. Returns false if
/// one does not come. Every thread for itself.
template <int Polls = kPolls, class Use>
__device__ __forceinline__ bool await_each(const Packet* from, int step, int count, unsigned stamp, const Use& use) {
  for (int first = 0; first < count; first += Polls) {
    Packet seen[Polls];
    Patience patience;
    while (true) {
      bool waits = false;
#pragma unroll
      for (int i = 0; i < Polls; ++i) seen[i] = look(from + (first + i < count ? first + i : first) * step);
#pragma unroll
      for (int i = 0; i < Polls; ++i) waits = waits || seen[i].stamp != stamp;
      if (!waits) break;
      if (patience.exhausted()) return false;
    }
#pragma unroll
    for (int i = 0; i < Polls; ++i) {
      if (first + i < count) use(first + i, seen[i]);
    }
  }
  return true;
}

/// The same of threads that have different numbers of packets, at most `most` and at most Polls. None polls more than
/// that: a packet that is polled once too often in every look holds up all that poll the same lines.
template <int Polls = kPolls, class Use>
__device__ __forceinline__ bool await_most(int most, const Packet* from, int step, int count, unsigned stamp,
                                           const Use& use) {
  if constexpr (Polls > 1) {
    if (most < Polls) return await_most<Polls - 1>(most, from, step, count, stamp, use);
  }
  return await_each<Polls>(from, step, count, stamp, use);
}

/// What one thread finds out for its block.
struct Verdict {
  Progress progress;
  Upcoming next;
  Step step;
  int decision;
  int met;  ///< whether no block is lost, where blocks tell each other
};

/// One thread: what counting a step needs beside its squares, for steps of `outputs` outputs.
__device__ __forceinline__ void prepare_step(const Control& control, int outputs, Verdict& verdict) {
  Progress counted = verdict.progress;
  const Upcoming next = upcoming_step(control, outputs, counted);
  counted.beta1_power = next.beta1_power;
  counted.beta2_power = next.beta2_power;
  verdict.next = next;
  verdict.step = step_of(control, counted, next.rows);
}
/// The same thread, once all squares are there. `errors`: as of end_step(), which one block writes.
__device__ __forceinline__ void count_prepared(const Control& control, double squares, Verdict& verdict, double* errors,
                                               int slots) {
  Progress progress = verdict.progress;  // in registers while it is counted
  verdict.decision = count_step(control, verdict.next, squares, progress, blockIdx.x == 0 ? errors : nullptr, slots);
  verdict.progress = progress;
}

/// A block's pieces of shared memory.
struct ResidentMemory {
  float *rows, *weights, *values, *deltas, *workspace, *own;
  int* places;  ///< of the rows of the tile, in the buffer of all rows
  double* losses;
  Verdict* verdict;

  ResidentMemory() = default;
  __device__ __forceinline__ ResidentMemory(SharedMemory& shared, const ResidentPieces<int>& of) {
    rows = shared.take<float>(of.rows);
    weights = shared.take<float>(of.weights);
    values = shared.take<float>(of.values);
    deltas = shared.take<float>(of.deltas);
    workspace = shared.take<float>(of.workspace);
    own = shared.take<float>(of.own);
    places = shared.take<int>(of.places);
    losses = reinterpret_cast<double*>(shared.take<float>(of.losses));
    verdict = reinterpret_cast<Verdict*>(shared.take<float>(of.verdict));
    static_assert(sizeof(Verdict) <= 128, "ResidentPieces::verdict");
  }
};

/// The buffers of a plan.
struct ResidentBuffers {
  const float *rows, *targets;
  const int* order;
  float *parameters, *state, *gradient;
  double* errors;
  Packet* packets;
  float* padded;  ///< room for the rows of all blocks as kRowsGlobal wants them
  int slots;      ///< epochs in `order` and `errors`
};

}  // namespace heddle::mlp
