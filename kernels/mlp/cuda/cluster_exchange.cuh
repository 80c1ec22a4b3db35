// How blocks that have the same part of the first layer learn together: scheme = cluster. There is one in each cluster.
// Each owns some of the part's parameters: it gets the parts of their gradient from all of them, adds them up in the
// order of the clusters, changes the parameters, and sends them to all.
#pragma once

#include "heddle/kernels/common/reduce.cuh"
#include "heddle/kernels/mlp/cuda/cluster_sizes.cuh"
#include "heddle/kernels/mlp/cuda/learning.cuh"
#include "heddle/kernels/mlp/cuda/resident_memory.cuh"

namespace heddle::mlp {

/// From a block's own packets to its first look at those of others: one that comes too early costs a whole trip to the
/// L2 cache. Measured for other packets: docs/performance.md, "When to look".
constexpr int kCyclesToLook = 440;

template <int Block, int Blocks, int Parts, int In, int Out>
class ClusterExchange {
 public:
  static constexpr ClusterShape<int> kShape{In, Out, Blocks, Parts, kTileRows, 1};  // whatever rows there are

  /// `numbers`: the gradient of the block's columns, or their weights, as ClusterShape lays them out. `packets`: of
  /// ClusterShape, empty. `parameters`: of the whole network.
  __device__ __forceinline__ ClusterExchange(float* numbers, float* own, const ResidentBuffers& buffers,
                                             const Control& control, Packet* packets, int parameters)
      : numbers_(numbers),
        own_(own),
        buffers_(buffers),
        control_(control),
        part_(static_cast<int>(blockIdx.x) % Parts),
        cluster_(static_cast<int>(blockIdx.x) / Parts),
        parts_(packets + part_ * kClusters * kClusters * kOwned),
        totals_(packets + kShape.totals_at() + part_ * kPackets),
        parameters_(parameters),
        first_owned_(cluster_ * kOwned),
        owned_(max(0, min(kOwned, kPackets - first_owned_))) {}

  /// Brings the weights, and the states of those that the block owns, on chip.
  __device__ __forceinline__ void fetch() const {
    for (int q = thread(); q < kPackets; q += Block) {
      for (int i = 0; i < values_of(q); ++i) {
        const int from = place(q, i);
        number(q, i) = from < 0 ? 0.0f : buffers_.parameters[from];
      }
    }
    for (int e = thread(); e < owned_ * kPacketValues; e += Block) {
      const int slot = e / kPacketValues, i = e % kPacketValues, from = place(first_owned_ + slot, i);
#pragma unroll
      for (int array = 0; array < kStateArrays; ++array) {
        const bool there = from >= 0 && has_state(control_, array);
        own(array, i, slot) = there ? buffers_.state[array * parameters_ + from] : 0.0f;
      }
      own(kWeight, i, slot) = from < 0 ? 0.0f : buffers_.parameters[from];
    }
  }
  /// Writes what the block owns.
  __device__ __forceinline__ void store() const {
    for (int e = thread(); e < owned_ * kPacketValues; e += Block) {
      const int slot = e / kPacketValues, i = e % kPacketValues, to = place(first_owned_ + slot, i);
      if (to < 0) continue;
#pragma unroll
      for (int array = 0; array < kStateArrays; ++array) {
        if (has_state(control_, array)) buffers_.state[array * parameters_ + to] = own(array, i, slot);
      }
      buffers_.parameters[to] = own(kWeight, i, slot);
      buffers_.gradient[to] = own(kGradient, i, slot);
    }
  }

  /// Sends every owner the block's part of the gradient.
  __device__ __forceinline__ void post_parts(unsigned stamp) const {
    for (int q = thread(); q < kPackets; q += Block) {
      float value[kPacketValues];
#pragma unroll
      for (int i = 0; i < kPacketValues; ++i) value[i] = i < values_of(q) ? number(q, i) : 0.0f;
      const int owner = q / kOwned, slot = q % kOwned;
      post(parts_ + (owner * kClusters + cluster_) * kOwned + slot, {value[0], value[1], value[2], stamp});
    }
  }

  /// The owner's part of learning. The whole block calls it; the last warps are the first to have something to do.
  /// Returns false if a block is lost; every thread for itself.
  __device__ __forceinline__ bool learn_owned(unsigned stamp, const Step& step, int decision) const {
    constexpr int kAtOnce = Block / kSummingLanes, kLooks = ceil_div(kClusters, kSummingLanes);
    const int mine = Block - kWarp - thread() / kWarp * kWarp + lane(), share = mine % kSummingLanes;
    bool met = true;
    for (int base = 0; base < owned_; base += kAtOnce) {
      const int slot = base + mine / kSummingLanes;
      const bool there = slot < owned_;
      float sum[kPacketValues] = {};
      const int count = there && share < kClusters ? (kClusters - share - 1) / kSummingLanes + 1 : 0;
      const Packet* const from = parts_ + (cluster_ * kClusters + share) * kOwned + slot;
      met = await_each<smaller(kLooks, kManyPolls)>(from, kSummingLanes * kOwned, count, stamp,
                                                    [&](int, const Packet& packet) { add_packet(sum, packet); }) &&
            met;
      __syncwarp();
#pragma unroll
      for (int i = 0; i < kPacketValues; ++i) sum[i] = sum_over_lanes<kSummingLanes>(sum[i]);
      if (decision == kLeave) continue;
      float value = 0.0f;
      if (there && share < kPacketValues) {
        value = change(step, decision, share, slot, share == 0 ? sum[0] : share == 1 ? sum[1] : sum[2]);
      }
      __syncwarp();
      const int first = lane() - share;
      const float a = __shfl_sync(kAllLanes, value, first), b = __shfl_sync(kAllLanes, value, first + 1);
      const float c = __shfl_sync(kAllLanes, value, first + 2);
      if (there && share == 0) post(totals_ + first_owned_ + slot, {a, b, c, stamp});
    }
    return met;
  }

  /// Brings the new weights of all owners on chip. Only the first `Threads` threads call it.
  template <int Threads>
  __device__ __forceinline__ bool fetch_totals(unsigned stamp) const {
    constexpr int kLooks = smaller(ceil_div(kPackets, Threads), kManyPolls);
    const int mine = thread() < kPackets ? (kPackets - thread() - 1) / Threads + 1 : 0;
    return await_each<kLooks>(totals_ + thread(), Threads, mine, stamp, [&](int i, const Packet& packet) {
      const float value[kPacketValues] = {packet.a, packet.b, packet.c};
      const int q = thread() + i * Threads;
#pragma unroll
      for (int j = 0; j < kPacketValues; ++j) {
        if (j < values_of(q)) number(q, j) = value[j];
      }
    });
  }

 private:
  static constexpr int kClusters = kShape.clusters(), kOwned = kShape.owned(), kPackets = kShape.packets_each();
  static constexpr int kWeight = kStateArrays, kGradient = kStateArrays + 1;  // after the states

  __device__ __forceinline__ static int thread() { return static_cast<int>(threadIdx.x); }
  __device__ __forceinline__ static int lane() { return thread() % kWarp; }

  // Packet q: columns of a neuron.

  __device__ __forceinline__ static int neuron_of(int q) { return q / kShape.packets_of(); }
  __device__ __forceinline__ static int column_of(int q) { return q % kShape.packets_of() * kPacketValues; }
  __device__ __forceinline__ static int values_of(int q) { return min(kPacketValues, kShape.columns() - column_of(q)); }
  __device__ __forceinline__ float& number(int q, int i) const {
    return numbers_[neuron_of(q) * kShape.pitch() + column_of(q) + i];
  }
  /// Of a weight in the layout of Layers; -1: there is none.
  __device__ __forceinline__ int place(int q, int i) const {
    const int column = part_ * kShape.columns() + column_of(q) + i;
    if (i >= values_of(q) || column > In) return -1;
    return column == In ? In * Out + neuron_of(q) : neuron_of(q) * In + column;
  }
  __device__ __forceinline__ float& own(int array, int i, int slot) const {
    return own_[(array * kPacketValues + i) * kOwned + slot];
  }
  /// A parameter that the block owns learns from the sum of its gradients. Returns the new one.
  __device__ __forceinline__ float change(const Step& step, int decision, int i, int slot, float sum) const {
    const float gradient = sum * step.gradient_factor;
    own(kGradient, i, slot) = gradient;
    float& weight = own(kWeight, i, slot);
    change_parameter(control_, step, decision, gradient, weight,
                     [&](int array) -> float& { return own(array, i, slot); });
    return weight;
  }

  float *numbers_, *own_;
  const ResidentBuffers buffers_;
  const Control& control_;
  int part_, cluster_;
  Packet *parts_, *totals_;
  int parameters_, first_owned_, owned_;
};

}  // namespace heddle::mlp
