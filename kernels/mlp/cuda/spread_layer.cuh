// A block's share of the first layer, for all rows of a step: scheme = spread. SpreadShape says what it has.
#pragma once

#include "heddle/kernels/mlp/cuda/learning.cuh"
#include "heddle/kernels/mlp/cuda/resident_tile.cuh"
#include "heddle/kernels/mlp/cuda/spread_sizes.cuh"

namespace heddle::mlp {

template <int Block, int Blocks, int Parts, int Rows, int In, int Out>
class SpreadLayer {
 public:
  static constexpr SpreadShape<int> kShape{In, Out, Blocks, Parts, Rows, Block / kWarp};
  static constexpr int kInputs = kShape.inputs_each(), kNeurons = kShape.neurons_each(),
                       kPackets = kShape.packets_each(), kOfRow = kShape.groups() * kPackets;
  using Products = ResidentTile<Team<Block>, kShape.tile(), kRowsShared, kInputs, kNeurons>;

  /// `memory`: rows, weights, deltas, workspace and own, the rows twice. `packets`: of SpreadShape, empty.
  __device__ __forceinline__ SpreadLayer(const ResidentMemory& memory, const ResidentBuffers& buffers,
                                         const Control& control, Packet* packets, int parameters)
      : memory_(memory),
        buffers_(buffers),
        control_(control),
        sums_(packets),
        deltas_(packets + kShape.sum_packets()),
        parameters_(parameters),
        group_(static_cast<int>(blockIdx.x) / Parts),
        part_(static_cast<int>(blockIdx.x) % Parts),
        tile_(memory, memory.rows, control.hidden) {}

  /// Brings weights and states on chip, and clears what stays 0.
  __device__ __forceinline__ void fetch() const {
    tile_.prepare();
    for (int i = thread(); i < 2 * Products::kTile * kPitch; i += Block) {
      memory_.rows[i] = i % kPitch == kInputs && part_ == 0 ? 1.0f : 0.0f;  // that of the biases
    }
    __syncthreads();
    for (int e = thread(); e < kElements; e += Block) {
      const int from = place(e);
      if (from < 0) continue;
#pragma unroll
      for (int array = 0; array < kStateArrays; ++array) {
        own(array, e) = has_state(control_, array) ? buffers_.state[array * parameters_ + from] : 0.0f;
      }
      weight(e) = own(kWeight, e) = buffers_.parameters[from];
    }
    __syncthreads();
  }
  __device__ __forceinline__ void store() const {
    for (int e = thread(); e < kElements; e += Block) {
      const int to = place(e);
      if (to < 0) continue;
#pragma unroll
      for (int array = 0; array < kStateArrays; ++array) {
        if (has_state(control_, array)) buffers_.state[array * parameters_ + to] = own(array, e);
      }
      buffers_.parameters[to] = own(kWeight, e);
      buffers_.gradient[to] = own(kGradient, e);
    }
  }

  /// Starts to bring the rows of the step at `at` on chip, for the step that is `even` or not. copies_arrived(), and a
  /// barrier, have to follow. Rows beyond those of the step stay as they are: their deltas are 0. All warps but the
  /// last.
  __device__ __forceinline__ void start_rows(const Progress& at, int rows, bool even) const {
    const int first = part_ * kInputs, count = min(kInputs, In - first);
    const int slot = (at.epoch - control_.first_epoch) % buffers_.slots;
    const int* const order = buffers_.order + static_cast<long long>(slot) * control_.rows + at.position;
    // The numbers of a warp's rows arrive together.
    constexpr int kWarps = Products::kWarps - 1;
    for (int base = warp(); base < rows; base += kWarps * kWarp) {
      const int mine = base + kWarps * lane();
      int place = at.position + mine;
      if (control_.shuffled != 0 && mine < rows) {
        place = order[mine];
        if (at.position + rows + mine < control_.rows)
          bring_into_cache(reinterpret_cast<const float*>(order + rows + mine));
      }
#pragma unroll 1
      for (int j = 0; j < kWarp && base + kWarps * j < rows; ++j) {
        const float* const from = buffers_.rows + static_cast<long long>(__shfl_sync(kAllLanes, place, j)) * In + first;
        float* const to = rows_of(even) + (base + kWarps * j) * kPitch;
        for (int i = lane() * kWide; i < count; i += kWarp * kWide) start_copy<kWide>(to + i, from + i);
      }
    }
  }
  /// Works with the rows of the steps that are `even` or not.
  __device__ __forceinline__ void use_rows(bool even) { tile_.change_rows(rows_of(even)); }

  /// The block's part of its neurons' sums, to the blocks that have the rows' other layers.
  __device__ __forceinline__ void forward(int rows, unsigned stamp) {
    tile_.template forward<0>();
    for (int e = thread(); e < rows * kPackets; e += Block) {
      const int row = e / kPackets, q = e % kPackets;
      const float* const from = row_of_deltas(row);
      float value[kPacketValues];
#pragma unroll
      for (int i = 0; i < kPacketValues; ++i)
        value[i] = q * kPacketValues + i < kNeurons ? from[q * kPacketValues + i] : 0.0f;
      post(sums_ + ((row * kShape.groups() + group_) * Parts + part_) * kPackets + q,
           {value[0], value[1], value[2], stamp});
    }
  }

  /// Of a block that has the other layers of `count` rows from `first` on: the values of all neurons, to[row][pitch].
  /// Of the first `Threads` threads, every one for itself. Returns false if a block is lost.
  template <int Threads>
  __device__ __forceinline__ bool await_values(int first, int count, unsigned stamp, float* to, int pitch) const {
    bool met = true;
    for (int e = thread(); e < count * kOfRow; e += Threads) {
      const int row = e / kOfRow, group = e % kOfRow / kPackets, q = e % kPackets;
      float sum[kPacketValues] = {};
      const Packet* const from = sums_ + ((first + row) * kShape.groups() + group) * Parts * kPackets + q;
      met = await_each<Parts>(from, kPackets, Parts, stamp,
                              [&](int, const Packet& packet) { add_packet(sum, packet); }) &&
            met;
#pragma unroll
      for (int i = 0; i < kPacketValues; ++i) {
        const int own = q * kPacketValues + i, neuron = group * kNeurons + own;
        if (own < kNeurons && neuron < Out) to[row * pitch + neuron] = activate(control_.hidden, sum[i]);
      }
    }
    return met;
  }
  /// The other way round: deltas from[row][pitch] of those rows, to the blocks that have the neurons.
  __device__ __forceinline__ void post_deltas(int first, int count, unsigned stamp, const float* from,
                                              int pitch) const {
    for (int e = thread(); e < count * kOfRow; e += Block) {
      const int row = e / kOfRow, group = e % kOfRow / kPackets, q = e % kPackets;
      float value[kPacketValues];
#pragma unroll
      for (int i = 0; i < kPacketValues; ++i) {
        const int own = q * kPacketValues + i, neuron = group * kNeurons + own;
        value[i] = own < kNeurons && neuron < Out ? from[row * pitch + neuron] : 0.0f;
      }
      post(deltas_ + (group * Rows + first + row) * kPackets + q, {value[0], value[1], value[2], stamp});
    }
  }

  /// Of the first `Threads` threads, every one for itself: the deltas of the block's neurons, for all rows.
  template <int Threads>
  __device__ __forceinline__ bool await_deltas(int rows, unsigned stamp) const {
    const int all = rows * kPackets, mine = thread() < all ? (all - thread() - 1) / Threads + 1 : 0;
    const bool met = await_each<smaller(ceil_div(Rows * kPackets, Threads), kPolls)>(
        deltas_ + group_ * Rows * kPackets + thread(), Threads, mine, stamp, [&](int i, const Packet& packet) {
          const int e = thread() + i * Threads, q = e % kPackets;
          const float value[kPacketValues] = {packet.a, packet.b, packet.c};
          float* const to = row_of_deltas(e / kPackets);
#pragma unroll
          for (int j = 0; j < kPacketValues; ++j) {
            if (q * kPacketValues + j < kNeurons) to[q * kPacketValues + j] = value[j];
          }
        });
    for (int e = thread(); e < (Products::kTile - rows) * kNeurons; e += Threads) {
      row_of_deltas(rows + e / kNeurons)[e % kNeurons] = 0.0f;
    }
    return met;
  }

  /// After a barrier: the gradient of the block's weights, from which they learn after another one.
  __device__ __forceinline__ void find_gradient() {
    if (warp() < Products::kShape.gradient_warps()) tile_.template find_gradient<0>();
  }
  __device__ __forceinline__ void learn(const Step& step, int decision) const {
#pragma unroll 2
    for (int e = thread(); e < kElements; e += Block) {
      const float gradient = tile_.part(Constant<0>{}, e / kColumns, e % kColumns) * step.gradient_factor;
      const bool there = place(e) >= 0;
      if (there) {
        own(kGradient, e) = gradient;
        change_parameter(control_, step, decision, gradient, own(kWeight, e),
                         [&](int array) -> float& { return own(array, e); });
      }
      weight(e) = there ? own(kWeight, e) : 0.0f;
    }
  }

 private:
  static constexpr int kPitch = Products::kRowPitch, kColumns = kInputs + 1, kElements = kNeurons * kColumns;
  static constexpr int kWeight = kStateArrays, kGradient = kStateArrays + 1;  // after the states
  static constexpr int kWide = In % 4 == 0 ? 4 : 1;

  __device__ __forceinline__ static int thread() { return Products::thread(); }
  __device__ __forceinline__ static int lane() { return Products::lane(); }
  __device__ __forceinline__ static int warp() { return Products::warp(); }

  __device__ __forceinline__ float* rows_of(bool even) const {
    return memory_.rows + (even ? 0 : Products::kTile * kPitch);
  }
  /// Where the sums of a row are first.
  __device__ __forceinline__ float* row_of_deltas(int row) const {
    constexpr int kDeltaPitch = Products::kShape.delta_pitch(0);
    return tile_.template deltas<0>() + row * kDeltaPitch;
  }
  __device__ __forceinline__ float& weight(int e) const {
    return tile_.weight(Constant<0>{}, e / kColumns, e % kColumns);
  }
  __device__ __forceinline__ float& own(int array, int e) const { return memory_.own[array * kElements + e]; }
  /// Of element e in the layout of Layers; -1: the network has no such weight.
  __device__ __forceinline__ int place(int e) const {
    const int neuron = group_ * kNeurons + e / kColumns, column = e % kColumns, input = part_ * kInputs + column;
    if (neuron >= Out) return -1;
    if (column == kInputs) return part_ == 0 ? In * Out + neuron : -1;
    return input < In ? neuron * In + input : -1;
  }

  const ResidentMemory memory_;
  const ResidentBuffers buffers_;
  const Control control_;
  Packet *sums_, *deltas_;
  int parameters_, group_, part_;
  Products tile_;
};

}  // namespace heddle::mlp
