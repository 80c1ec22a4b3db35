// How blocks that have the same part of the first layer learn together: scheme = cluster. There is one in each cluster.
// Each owns some of the part's parameters: it gets the parts of their gradient from all of them, adds them up in the
// order of the clusters, changes the parameters, and sends them to all.
#pragma once

#include "heddle/kernels/common/reduce.cuh"
#include "heddle/kernels/mlp/cuda/cluster_sizes.cuh"
#include "heddle/kernels/mlp/cuda/learning.cuh"
#include "heddle/kernels/mlp/cuda/resident_memory.cuh"

namespace heddle::mlp {

// A packet of four values. Instead of a stamp it has one bit, which says whether the step is an odd one: the lowest bit
// of all words together. That is enough, because nobody posts a packet again before all have seen it. The last value
// gives up its own lowest bit for that.

__device__ __forceinline__ unsigned mixed(const Packet& packet) {
  return __float_as_uint(packet.a) ^ __float_as_uint(packet.b) ^ __float_as_uint(packet.c);
}
/// A quad as those who get it see it.
__device__ __forceinline__ Pack<kQuad> without_last_bit(Pack<kQuad> quad) {
  quad.value[kQuad - 1] = __uint_as_float(__float_as_uint(quad.value[kQuad - 1]) & ~1u);
  return quad;
}
__device__ __forceinline__ void post_quad(Packet* to, const Pack<kQuad>& quad, unsigned step) {
  Packet packet{quad.value[0], quad.value[1], quad.value[2], 0};
  packet.stamp = ((__float_as_uint(quad.value[3]) ^ mixed(packet)) & ~1u) | (step & 1u);
  post(to, packet);
}
__device__ __forceinline__ Pack<kQuad> quad_of(const Packet& packet) {
  return without_last_bit({{packet.a, packet.b, packet.c, __uint_as_float(packet.stamp ^ mixed(packet))}});
}

/// Waits for packets at(0), at(1), ... of a step, but for those that are null, and asks for none again that has come.
/// Returns false if one does not come. Every thread for itself.
template <int Count, class At>
__device__ __forceinline__ bool await_quads(Pack<kQuad> (&quads)[Count], unsigned step, const At& at) {
  Packet seen[Count];
  bool missing[Count];
#pragma unroll
  for (int i = 0; i < Count; ++i) {
    seen[i] = {0.0f, 0.0f, 0.0f, 0};
    missing[i] = at(i) != nullptr;
  }
  Patience patience;
  while (true) {
    bool waits = false;
#pragma unroll
    for (int i = 0; i < Count; ++i) {
      if (missing[i]) seen[i] = look(at(i));
    }
#pragma unroll
    for (int i = 0; i < Count; ++i) {
      missing[i] = missing[i] && ((seen[i].stamp ^ step) & 1u) != 0;
      waits = waits || missing[i];
    }
    if (!waits) break;
    if (patience.exhausted()) return false;
  }
#pragma unroll
  for (int i = 0; i < Count; ++i) quads[i] = quad_of(seen[i]);
  return true;
}

template <int Block, int Blocks, int Parts, int In, int Out>
class ClusterExchange {
 public:
  static constexpr ClusterShape<int> kShape{In, Out, Blocks, Parts, kTileRows, 1};  // whatever rows there are

  /// `packets`: of ClusterShape, empty. `parameters`: of the whole network.
  __device__ __forceinline__ ClusterExchange(float* own, const ResidentBuffers& buffers, const Control& control,
                                             Packet* packets, int parameters)
      : own_(own),
        buffers_(buffers),
        control_(control),
        part_(static_cast<int>(blockIdx.x) % Parts),
        cluster_(static_cast<int>(blockIdx.x) / Parts),
        parts_(packets + part_ * kClusters * kClusters * kOwned),
        totals_(packets + kShape.totals_at() + part_ * kPackets),
        parameters_(parameters),
        first_owned_(cluster_ * kOwned),
        owned_(max(0, min(kOwned, kPackets - first_owned_))) {}

  /// Brings the states of the parameters that the block owns on chip.
  __device__ __forceinline__ void fetch() const {
    for (int e = thread(); e < owned_ * kQuad; e += Block) {
      const int slot = e / kQuad, i = e % kQuad, from = place(first_owned_ + slot, i);
#pragma unroll
      for (int array = 0; array < kStateArrays; ++array) {
        const bool there = from >= 0 && has_state(control_, array);
        own(array, i, slot) = there ? buffers_.state[array * parameters_ + from] : 0.0f;
      }
      own(kWeight, i, slot) = from < 0 ? 0.0f : buffers_.parameters[from];
    }
  }
  /// A quad of a neuron's weights before the first step.
  __device__ __forceinline__ Pack<kQuad> first_weights(int neuron, int quad) const {
    Pack<kQuad> weights;
#pragma unroll
    for (int i = 0; i < kQuad; ++i) {
      const int from = place(neuron * kShape.packets_of() + quad, i);
      weights.value[i] = from < 0 ? 0.0f : buffers_.parameters[from];
    }
    return without_last_bit(weights);
  }
  /// Writes what the block owns.
  __device__ __forceinline__ void store() const {
    for (int e = thread(); e < owned_ * kQuad; e += Block) {
      const int slot = e / kQuad, i = e % kQuad, to = place(first_owned_ + slot, i);
      if (to < 0) continue;
#pragma unroll
      for (int array = 0; array < kStateArrays; ++array) {
        if (has_state(control_, array)) buffers_.state[array * parameters_ + to] = own(array, i, slot);
      }
      buffers_.parameters[to] = own(kWeight, i, slot);
      buffers_.gradient[to] = own(kGradient, i, slot);
    }
  }

  /// Sends the block's part of the gradient of a quad of a neuron's columns to their owner.
  __device__ __forceinline__ void post_part(int neuron, int quad, const Pack<kQuad>& part, unsigned step) const {
    const int q = neuron * kShape.packets_of() + quad, owner = q / kOwned, slot = q % kOwned;
    post_quad(parts_ + (owner * kClusters + cluster_) * kOwned + slot, part, step);
  }

  /// The owner's part of learning. The whole block calls it; the first warps are the first to have something to do.
  /// Returns false if a block is lost; every thread for itself.
  __device__ __forceinline__ bool learn_owned(unsigned stamp, const Step& step, int decision) const {
    constexpr int kAtOnce = Block / kSummingLanes, kLooks = ceil_div(kClusters, kSummingLanes);
    const int share = thread() % kSummingLanes;
    bool met = true;
    for (int base = 0; base < owned_; base += kAtOnce) {
      const int slot = base + thread() / kSummingLanes;
      const bool there = slot < owned_;
      const Packet* const from = parts_ + cluster_ * kClusters * kOwned + slot;
      Pack<kQuad> sum = filled<kQuad>(0.0f);
      for (int first = 0; first < kLooks; first += kMostLooks) {
        Pack<kQuad> part[smaller(kLooks, kMostLooks)];
        met = await_quads(part, stamp,
                          [&](int i) {
                            const int cluster = (first + i) * kSummingLanes + share;
                            return there && cluster < kClusters ? from + cluster * kOwned : nullptr;
                          }) &&
              met;
#pragma unroll
        for (const Pack<kQuad>& next : part) {
#pragma unroll
          for (int i = 0; i < kQuad; ++i) sum.value[i] += next.value[i];
        }
      }
      __syncwarp();
#pragma unroll
      for (int i = 0; i < kQuad; ++i) sum.value[i] = sum_over_lanes<kSummingLanes>(sum.value[i]);
      if (decision == kLeave) continue;
      float value = 0.0f;
      if (there && share < kQuad) {
        const float of_pair[2] = {share < 2 ? sum.value[0] : sum.value[2], share < 2 ? sum.value[1] : sum.value[3]};
        value = change(step, decision, share, slot, share % 2 == 0 ? of_pair[0] : of_pair[1]);
      }
      __syncwarp();
      Pack<kQuad> changed;
#pragma unroll
      for (int i = 0; i < kQuad; ++i) changed.value[i] = __shfl_sync(kAllLanes, value, lane() - share + i);
      if (there && share == 0) post_quad(totals_ + first_owned_ + slot, changed, stamp);
    }
    return met;
  }

  /// Brings the new weights of all owners, a neuron to each of `Warps` warps: calls leave(neuron, quads) with the quads
  /// of a lane. Only these warps call it.
  template <int Warps, int Quads, class Leave>
  __device__ __forceinline__ bool fetch_totals(unsigned stamp, const Leave& leave) const {
    constexpr int kEach = ceil_div(Out, Warps), kTogether = larger(1, smaller(kMostLooks / Quads, kEach));
    bool met = true;
#pragma unroll 1
    for (int first = thread() / kWarp; first < Out; first += kTogether * Warps) {
      Pack<kQuad> quads[kTogether * Quads];
      met = await_quads(quads, stamp,
                        [&](int i) {
                          const int neuron = first + i / Quads * Warps, quad = i % Quads * kWarp + lane();
                          return neuron < Out && quad < kShape.packets_of()
                                     ? totals_ + neuron * kShape.packets_of() + quad
                                     : nullptr;
                        }) &&
            met;
      __syncwarp();
#pragma unroll
      for (int n = 0; n < kTogether; ++n) {
        Pack<kQuad> of_neuron[Quads];
#pragma unroll
        for (int i = 0; i < Quads; ++i) of_neuron[i] = quads[n * Quads + i];
        if (first + n * Warps < Out) leave(first + n * Warps, of_neuron);
      }
    }
    return met;
  }

 private:
  static constexpr int kClusters = kShape.clusters(), kOwned = kShape.owned(), kPackets = kShape.packets_each();
  static constexpr int kWeight = kStateArrays, kGradient = kStateArrays + 1;  // after the states
  static constexpr int kMostLooks = 8;                                        ///< packets that a thread awaits together

  __device__ __forceinline__ static int thread() { return static_cast<int>(threadIdx.x); }
  __device__ __forceinline__ static int lane() { return thread() % kWarp; }

  // Packet q: columns of a neuron.

  __device__ __forceinline__ static int neuron_of(int q) { return q / kShape.packets_of(); }
  __device__ __forceinline__ static int column_of(int q) { return q % kShape.packets_of() * kQuad; }
  /// Of a weight in the layout of Layers; -1: there is none.
  __device__ __forceinline__ int place(int q, int i) const {
    const int of_part = column_of(q) + i, column = part_ * kShape.columns() + of_part;
    if (of_part >= kShape.columns() || column > In) return -1;
    return column == In ? In * Out + neuron_of(q) : neuron_of(q) * In + column;
  }
  __device__ __forceinline__ float& own(int array, int i, int slot) const {
    return own_[(array * kQuad + i) * kOwned + slot];
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

  float* own_;
  const ResidentBuffers buffers_;
  const Control& control_;
  int part_, cluster_;
  Packet *parts_, *totals_;
  int parameters_, first_owned_, owned_;
};

}  // namespace heddle::mlp
