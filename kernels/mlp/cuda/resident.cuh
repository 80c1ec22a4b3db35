// All steps of a run in one launch whose blocks run at the same time: scheme = resident. Formulas: docs/design.md,
// "Perceptrons".
//
// Each block has its share of the rows of a step and all weights on chip. Where all rows are learnt at once, a block
// keeps its rows. Those of a mini-batch are replaced while the block learns from the one before. A step is, in this
// order:
//
// | phase | work |
// |---|---|
// | forward, outputs | products of values and weights; errors of the outputs, whose squares are sent to all blocks at
// once | | backward | products of deltas and weights; of each layer's deltas and values: the block's part of the
// gradient | | gather | every block owns some of the parameters: it gets their parts from all blocks, and adds them up
// in the order of the blocks | | learn | the owner changes its parameters, and sends them to all |
//
// The gradient takes the place of the weights in shared memory, which nobody needs after the backward phase: owners
// keep their own parameters and their states apart.
//
// | parameter | meaning |
// |---|---|
// | Block  | threads |
// | Tile   | rows of a block at most, a multiple of 16 |
// | In     | a RowsIn |
// | Sizes  | neurons of the inputs, of every hidden layer, of the outputs |
#pragma once

#include "heddle/kernels/common/exchange.cuh"
#include "heddle/kernels/common/reduce.cuh"
#include "heddle/kernels/mlp/cuda/activations.cuh"
#include "heddle/kernels/mlp/cuda/learning.cuh"
#include "heddle/kernels/mlp/cuda/products.cuh"
#include "heddle/kernels/mlp/cuda/resident_sizes.cuh"

namespace heddle::mlp {

/// Before the steps: empties their packets, and puts the progress where no block of theirs writes. Grid: enough threads
/// for all packets.
__global__ void begin_resident(Packet* packets, int count, const Progress* progress, Progress* before) {
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i < count) packets[i] = {0.0f, 0.0f, 0.0f, 0};
  if (i == 0) *before = *progress;
}

__device__ __forceinline__ Packet packed(double value, unsigned stamp) {
  const long long bits = __double_as_longlong(value);
  return {__uint_as_float(static_cast<unsigned>(bits)), __uint_as_float(static_cast<unsigned>(bits >> 32)), 0.0f,
          stamp};
}
__device__ __forceinline__ double unpacked(const Packet& packet) {
  return __longlong_as_double(static_cast<long long>(static_cast<unsigned long long>(__float_as_uint(packet.b)) << 32 |
                                                     __float_as_uint(packet.a)));
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

/// What one thread finds out for its block.
struct Verdict {
  Progress progress;
  Step step;
  int decision;
};

/// A block's pieces of shared memory.
struct ResidentMemory {
  float *rows, *weights, *values, *deltas, *workspace, *own;
  int* places;  ///< of the rows of the tile, in the buffer of all rows
  double* losses;
  Verdict* verdict;

  __device__ __forceinline__ explicit ResidentMemory(const ResidentPieces<int>& of) {
    SharedMemory shared;
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

template <int V>
struct Constant {
  static constexpr int value = V;
};

template <int Block, int Tile, int In, int... Sizes>
class ResidentTraining {
 public:
  static constexpr int kLayers = static_cast<int>(sizeof...(Sizes)) - 1, kWarps = Block / kWarp;
  static constexpr ResidentShape<int> kShape{kLayers, {Sizes...}, kWarps, Tile};
  static constexpr int kInputs = kShape.in(0), kOutputs = kShape.out(kLayers - 1), kPackets = kShape.packets();
  static constexpr int kByteColumns = value_columns(kInputs);

  __device__ __forceinline__ ResidentTraining(const ResidentMemory& memory, const ResidentBuffers& buffers,
                                              const Control& control)
      : memory_(memory), buffers_(buffers), control_(control) {
    const int blocks = static_cast<int>(gridDim.x);
    share_rows(control.rows);
    owned_ = ceil_div(kPackets, blocks);
    first_owned_ = static_cast<int>(blockIdx.x) * owned_;
    own_ = max(0, min(owned_, kPackets - first_owned_));
  }

  /// Brings the rows of the block where the phases want them. Returns false if they are no bytes; every thread the
  /// same.
  __device__ __forceinline__ bool fetch_rows() {
    if (in_batches()) {
      for (int i = thread(); i < Tile * kRowPitch; i += Block) {
        rows_at()[i] = i % kRowPitch == kInputs ? 1.0f : 0.0f;
      }
      __syncthreads();
      start_rows();
      copies_arrived();
      return true;
    }
    if constexpr (In == kRowsBytes) {
      bool whole = true, fractions = true;
      for (int i = thread(); i < rows_ * kInputs; i += Block) {
        const float value = row_values()[i];
        whole = whole && is_byte(value);
        fractions = fractions && is_byte(255.0f * value);
      }
      const bool all_whole = __syncthreads_and(whole ? 1 : 0) != 0;
      const bool all_fractions = __syncthreads_and(fractions ? 1 : 0) != 0;
      if (!all_whole && !all_fractions) return false;
      const float scale = all_whole ? 1.0f : 255.0f;
      factor_ = 1.0f / scale;
      constexpr int kWords = kByteColumns / 4;
      unsigned* to = reinterpret_cast<unsigned*>(memory_.rows);
      for (int i = thread(); i < Tile * kWords; i += Block) {
        const int row = i / kWords, column = i % kWords * 4;
        unsigned word = 0;
#pragma unroll
        for (int j = 0; j < 4; ++j) {
          word |= static_cast<unsigned>(floorf(scale * value_of(row, column + j) + 0.5f)) << (8 * j);
        }
        to[i] = word;
      }
    } else {
      constexpr int kColumns = value_columns(kInputs);
      for (int i = thread(); i < Tile * kColumns; i += Block) {
        const int row = i / kColumns, column = i % kColumns;
        rows_at()[row * kRowPitch + column] = value_of(row, column);
      }
    }
    return true;
  }

  /// Starts to bring the block's rows of the next mini-batch on chip: copies_arrived(), and a barrier, have to follow.
  /// The last mini-batch of an epoch may leave rows of the tile as they are: their deltas are 0.
  __device__ __forceinline__ void start_rows() {
    const Progress& progress = memory_.verdict->progress;
    share_rows(rows_of_step(control_, progress));
    const int first = progress.position + first_row_;
    const int slot = (progress.epoch - control_.first_epoch) % buffers_.slots;
    const int* const order = buffers_.order + static_cast<long long>(slot) * control_.rows + first;
    // A warp for a row, so that only its lanes wait for the number of the row.
#pragma unroll 1
    for (int row = warp(); row < rows_; row += kWarps) {
      const int place = control_.shuffled != 0 ? order[row] : first + row;
      const float* const from = buffers_.rows + static_cast<long long>(place) * kInputs;
      float* const to = rows_at() + row * kRowPitch;
      for (int i = lane(); i < kInputs; i += kWarp) start_copy(to + i, from + i);
      if (lane() == 0) memory_.places[row] = place;
    }
  }

  /// Brings parameters and states on chip, and clears what stays 0.
  __device__ __forceinline__ void fetch() {
    constexpr ResidentPieces<int> kPieces(kShape, In, 1);
    for (int i = thread(); i < kPieces.weights; i += Block) memory_.weights[i] = 0.0f;
    for (int i = thread(); i < kPieces.values; i += Block) memory_.values[i] = 0.0f;
    for (int i = thread(); i < kPieces.deltas; i += Block) memory_.deltas[i] = 0.0f;
    __syncthreads();
    fill_ones<1>();
    for (int q = thread(); q < kPackets; q += Block) {
      at_packet(q, [this](auto layer, int neuron, int column, int values) {
        for (int i = 0; i < values; ++i) {
          weight<layer.value>(neuron, column + i) = buffers_.parameters[place<layer.value>(neuron, column + i)];
        }
      });
    }
    for (int slot = thread(); slot < own_; slot += Block) {
      at_packet(first_owned_ + slot, [this, slot](auto layer, int neuron, int column, int values) {
        for (int i = 0; i < values; ++i) {
          const int from = place<layer.value>(neuron, column + i);
#pragma unroll
          for (int array = 0; array < kStateArrays; ++array) {
            own(array, i, slot) = has_state(control_, array) ? buffers_.state[array * parameters() + from] : 0.0f;
          }
          own(kWeight, i, slot) = buffers_.parameters[from];
        }
      });
    }
    __syncthreads();
  }

  /// Writes what the block owns.
  __device__ __forceinline__ void store() {
    for (int slot = thread(); slot < own_; slot += Block) {
      at_packet(first_owned_ + slot, [this, slot](auto layer, int neuron, int column, int values) {
        for (int i = 0; i < values; ++i) {
          const int to = place<layer.value>(neuron, column + i);
#pragma unroll
          for (int array = 0; array < kStateArrays; ++array) {
            if (has_state(control_, array)) buffers_.state[array * parameters() + to] = own(array, i, slot);
          }
          buffers_.parameters[to] = own(kWeight, i, slot);
          buffers_.gradient[to] = own(kGradient, i, slot);
        }
      });
    }
  }

  /// One step. Returns false if a block is lost; every thread of the block the same.
  __device__ __forceinline__ bool step() {
    ++stamp_;
    forward<0>();
    find_deltas();
    __syncthreads();
    post_squares();
    backward<kLayers - 1>();
    bool met = true;
    if (warp() < kShape.gradient_warps()) find_gradient<0>();
    // The last warp counts the step meanwhile; a warp that is alone does so afterwards.
    if (warp() == kWarps - 1) met = gather_squares();
    __syncthreads();
    if (gridDim.x > 1) return learn_together(met);
    if (in_batches()) start_rows();
    learn_alone();
    return true;
  }

 private:
  /// Whether a step learns from a part of the rows. Only blocks with their rows in shared memory do so.
  __device__ __forceinline__ bool in_batches() const { return In == kRowsShared && control_.batch < control_.rows; }
  /// Deals the rows of a step to the blocks.
  __device__ __forceinline__ void share_rows(int rows) {
    const int each = ceil_div(rows, static_cast<int>(gridDim.x));
    first_row_ = static_cast<int>(blockIdx.x) * each;
    rows_ = max(0, min(each, rows - first_row_));
  }

  static constexpr int kWeight = kStateArrays, kGradient = kStateArrays + 1;  // after the states
  static constexpr int kRowPitch = In == kRowsShared ? kShape.value_pitch(0) : value_columns(kInputs);

  __device__ __forceinline__ static int thread() { return static_cast<int>(threadIdx.x); }
  __device__ __forceinline__ static int lane() { return thread() % kWarp; }
  __device__ __forceinline__ static int warp() { return thread() / kWarp; }

  // The parameters.

  __device__ __forceinline__ static int parameters() { return kPlaces.all; }
  struct Places {
    int at[kLayers] = {}, all = 0;
    constexpr Places() {
      for (int l = 0; l < kLayers; ++l) {
        at[l] = all;
        all += (kShape.in(l) + 1) * kShape.out(l);
      }
    }
  };
  static constexpr Places kPlaces{};
  /// Of a weight in the layout of Layers; column in(L): the bias.
  template <int L>
  __device__ __forceinline__ static int place(int neuron, int column) {
    constexpr int kAt = kPlaces.at[L], kIn = kShape.in(L), kOut = kShape.out(L);
    return kAt + (column < kIn ? neuron * kIn + column : kIn * kOut + neuron);
  }
  /// Calls use(layer, neuron, column, values): where the values of packet q belong.
  template <int L = 0, class Use>
  __device__ __forceinline__ static void at_packet(int q, const Use& use) {
    constexpr int kFirst = kShape.packets_at(L), kEnd = kShape.packets_at(L + 1), kEach = kShape.packets_of(L);
    if (L + 1 == kLayers || q < kEnd) {
      const int neuron = (q - kFirst) / kEach, column = (q - kFirst) % kEach * kPacketValues;
      use(Constant<L>{}, neuron, column, min(kPacketValues, kShape.in(L) + 1 - column));
      return;
    }
    if constexpr (L + 1 < kLayers) at_packet<L + 1>(q, use);
  }
  // Where things lie.

  __device__ __forceinline__ float& own(int array, int i, int slot) const {
    return memory_.own[(array * kPacketValues + i) * owned_ + slot];
  }
  template <int L>
  __device__ __forceinline__ float* weights() const {
    constexpr int kAt = kShape.weights_at(L);
    return memory_.weights + kAt;
  }
  template <int L>
  __device__ __forceinline__ float& weight(int neuron, int column) const {
    constexpr int kPitch = kShape.value_pitch(L);
    return weights<L>()[neuron * kPitch + column];
  }
  template <int L>
  __device__ __forceinline__ float* values() const {
    constexpr int kAt = offset_of_values(L);
    return memory_.values + kAt;
  }
  template <int L>
  __device__ __forceinline__ float* deltas() const {
    constexpr int kAt = offset_of_deltas(L);
    return memory_.deltas + kAt;
  }
  static constexpr int offset_of_values(int layer) {
    int words = 0;
    for (int l = 1; l < layer; ++l) words += Tile * kShape.value_pitch(l);
    return words;
  }
  static constexpr int offset_of_deltas(int layer) {
    int words = 0;
    for (int l = 0; l < layer; ++l) words += Tile * kShape.delta_pitch(l);
    return words;
  }
  template <int L>
  __device__ __forceinline__ void fill_ones() const {
    if constexpr (L < kLayers) {
      constexpr int kPitch = kShape.value_pitch(L), kColumn = kShape.in(L);
      for (int row = thread(); row < Tile; row += Block) values<L>()[row * kPitch + kColumn] = 1.0f;
      fill_ones<L + 1>();
    }
  }

  // The rows.

  __device__ __forceinline__ const float* row_values() const {
    return buffers_.rows + static_cast<long long>(first_row_) * kInputs;
  }
  /// Of a row of the tile, with its column of ones and its zeros.
  __device__ __forceinline__ float value_of(int row, int column) const {
    if (row >= rows_) return 0.0f;
    return column < kInputs ? row_values()[row * kInputs + column] : column == kInputs ? 1.0f : 0.0f;
  }
  /// As good as a whole number from 0 to 255: a fraction of 255 that float32 has rounded, times 255.
  __device__ __forceinline__ static bool is_byte(float value) {
    const float whole = floorf(value + 0.5f);
    return fabsf(value - whole) <= 2.4e-7f * whole && whole >= 0.0f && whole <= 255.0f;
  }
  __device__ __forceinline__ float* rows_at() const {
    if constexpr (In == kRowsShared) return memory_.rows;
    return buffers_.padded + static_cast<long long>(blockIdx.x) * Tile * kRowPitch;
  }

  // The products.

  template <int L>
  __device__ __forceinline__ auto left_factor(int row) const {
    if constexpr (L > 0) {
      constexpr int kPitch = kShape.value_pitch(L);
      return RowsAlong<kPitch>{values<L>() + row * kPitch};
    } else if constexpr (In == kRowsBytes) {
      constexpr int kPitch = kByteColumns / 4;
      return BytesAlong<kPitch>{reinterpret_cast<const unsigned*>(memory_.rows) + row * kPitch};
    } else {
      return RowsAlong<kRowPitch>{rows_at() + row * kRowPitch};
    }
  }
  template <int L>
  __device__ __forceinline__ auto left_of_gradient(int group) const {
    constexpr int kWidth = kShape.value_width(L);
    if constexpr (L > 0) {
      return ColumnsAcross<kShape.value_pitch(L), kWidth>{values<L>() + group * 8 * kWidth};
    } else if constexpr (In == kRowsBytes) {
      return BytesAcross<kByteColumns / 4>{reinterpret_cast<const unsigned*>(memory_.rows) + group * 8};
    } else {
      return ColumnsAcross<kRowPitch, kWidth>{rows_at() + group * 8 * kWidth};
    }
  }
  /// What a sum of products with the values of layer L has to be multiplied by.
  template <int L>
  __device__ __forceinline__ float factor() const {
    return L == 0 && In == kRowsBytes ? factor_ : 1.0f;
  }

  template <int L>
  __device__ __forceinline__ void finish_neuron(int row, int neuron, float sum) const {
    if (neuron >= kShape.out(L)) return;
    if constexpr (L + 1 < kLayers) {
      constexpr int kPitch = kShape.value_pitch(L + 1);
      values<L + 1>()[row * kPitch + neuron] = activate(control_.hidden, factor<L>() * sum);
    } else {
      constexpr int kPitch = kShape.delta_pitch(L);
      deltas<L>()[row * kPitch + neuron] = factor<L>() * sum;
    }
  }

  /// Values of layer L + 1; of the outputs their sums, where their deltas will be.
  template <int L>
  __device__ __forceinline__ void forward() {
    constexpr int kRowTiles = kShape.row_tiles(L), kColumnTiles = kShape.column_tiles(L);
    constexpr int kGroups = kShape.groups(L), kAcross = kShape.column_groups(L), kSharing = kShape.sharing(L);
    constexpr int kChunks = kShape.chunks(L), kPitch = kShape.value_pitch(L);
    const auto row_of = [](int group) { return group / kAcross * kRowTiles * kTileRows; };
    const auto neuron_of = [](int group) { return group % kAcross * kColumnTiles * kTileColumns; };
    // Element i of tile (m, n) of a lane.
    const auto finish = [&](int group, int of_lane, int m, int n, int i, float sum) {
      finish_neuron<L>(row_of(group) + m * kTileRows + of_lane / 4 + i / 2 * 8,
                       neuron_of(group) + n * kTileColumns + of_lane % 4 * 2 + i % 2, sum);
    };
    const auto add = [&](int group, float(&sums)[kRowTiles][kColumnTiles][4], int first, int step) {
      const int neuron = neuron_of(group);
      multiply_add(sums, left_factor<L>(row_of(group)),
                   NeuronsAlong<kPitch>{weights<L>() + neuron * kPitch, kShape.out(L) - 1 - neuron}, first, kChunks,
                   step);
    };
    if constexpr (kSharing == 1) {
#pragma unroll 1
      for (int group = warp(); group < kGroups; group += kWarps) {
        float sums[kRowTiles][kColumnTiles][4];
        clear(sums);
        add(group, sums, 0, 1);
#pragma unroll
        for (int m = 0; m < kRowTiles; ++m) {
#pragma unroll
          for (int n = 0; n < kColumnTiles; ++n) {
#pragma unroll
            for (int i = 0; i < 4; ++i) finish(group, lane(), m, n, i, sums[m][n][i]);
          }
        }
      }
    } else {
      // Half of the warps that share a group's addends leave their sums for the other half, which adds its own. All
      // threads add up what is left then.
      constexpr int kHalf = kSharing / 2, kWords = kShape.group_words(L);
      const int group = warp() % kGroups, share = warp() / kGroups;
      float sums[kRowTiles][kColumnTiles][4];
      clear(sums);
      if (share < kSharing) add(group, sums, share, kSharing);
      const auto each = [&](const auto& use) {
        float* at = memory_.workspace + (share % kHalf * kGroups + group) * kWords + lane();
#pragma unroll
        for (int m = 0; m < kRowTiles; ++m) {
#pragma unroll
          for (int n = 0; n < kColumnTiles; ++n) {
#pragma unroll
            for (int i = 0; i < 4; ++i) use(at[((m * kColumnTiles + n) * 4 + i) * kWarp], sums[m][n][i]);
          }
        }
      };
      if (share >= kHalf && share < kSharing) each([](float& left, float sum) { left = sum; });
      __syncthreads();
      if (share < kHalf) each([](float& left, float sum) { left += sum; });
      __syncthreads();
      for (int e = thread(); e < kGroups * kWords; e += Block) {
        float sum = memory_.workspace[e];
#pragma unroll
        for (int part = 1; part < kHalf; ++part) sum += memory_.workspace[part * kGroups * kWords + e];
        const int element = e % kWords / kWarp;
        finish(e / kWords, e % kWarp, element / (4 * kColumnTiles), element / 4 % kColumnTiles, element % 4, sum);
      }
    }
    __syncthreads();
    if constexpr (L + 1 < kLayers) forward<L + 1>();
  }

  /// Makes deltas of the sums of the outputs, and the squares of this thread's errors.
  __device__ __forceinline__ void find_deltas() {
    constexpr int kPitch = kShape.delta_pitch(kLayers - 1);
    float* const of_outputs = deltas<kLayers - 1>();
    const bool batches = in_batches();
    const auto targets = [&](int row) {
      return buffers_.targets + static_cast<long long>(batches ? memory_.places[row] : first_row_ + row) * kOutputs;
    };
    double squares = 0.0;
    if (control_.output == kSoftmax) {
      for (int row = thread(); row < Tile; row += Block) {
        float* const own = of_outputs + row * kPitch;
        if (row < rows_) soften<kOutputs>(own);
        for (int k = 0; k < kOutputs; ++k) {
          const float error = row < rows_ ? own[k] - targets(row)[k] : 0.0f;
          squares += static_cast<double>(error) * static_cast<double>(error);
          own[k] = error;
        }
      }
    } else {
      for (int i = thread(); i < Tile * kOutputs; i += Block) {
        const int row = i / kOutputs, k = i % kOutputs;
        float& at = of_outputs[row * kPitch + k];
        const float value = activate(control_.output, at);
        const float error = row < rows_ ? value - targets(row)[k] : 0.0f;
        squares += static_cast<double>(error) * static_cast<double>(error);
        at = row < rows_ ? error * slope(control_.output, value) : 0.0f;
      }
    }
#pragma unroll
    for (int offset = kWarp / 2; offset > 0; offset /= 2) squares += __shfl_xor_sync(kAllLanes, squares, offset);
    if (lane() == 0) memory_.losses[warp()] = squares;
  }

  /// Of the block's rows.
  __device__ __forceinline__ double own_squares() const {
    double squares = 0.0;
#pragma unroll
    for (int w = 0; w < kWarps; ++w) squares += memory_.losses[w];
    return squares;
  }

  /// Deltas of the layers before layer L.
  template <int L>
  __device__ __forceinline__ void backward() {
    if constexpr (L > 0) {
      constexpr int kWidth = kShape.value_width(L), kAcross = ceil_div(kShape.in(L), 8 * kWidth);
      constexpr int kChunks = ceil_div(kShape.out(L), kDepth), kItems = Tile / kTileRows * kAcross;
      constexpr int kFrom = kShape.delta_pitch(L), kTo = kShape.delta_pitch(L - 1), kPitch = kShape.value_pitch(L);
#pragma unroll 1
      for (int item = warp(); item < kItems; item += kWarps) {
        const int row = item / kAcross * kTileRows, neuron = item % kAcross * 8 * kWidth;
        float sums[1][kWidth][4];
        clear(sums);
        multiply_add(sums, RowsAlong<kFrom>{deltas<L>() + row * kFrom},
                     ColumnsBeside<kPitch, kWidth, false>{weights<L>() + neuron, kShape.out(L) - 1}, 0, kChunks);
#pragma unroll
        for (int n = 0; n < kWidth; ++n) {
#pragma unroll
          for (int i = 0; i < 4; ++i) {
            const int at_row = row + lane_group() + i / 2 * 8;
            const int at_neuron = neuron + kWidth * (2 * lane_of_group() + i % 2) + n;
            if (at_neuron < kShape.in(L)) {
              deltas<L - 1>()[at_row * kTo + at_neuron] =
                  sums[0][n][i] * slope(control_.hidden, values<L>()[at_row * kPitch + at_neuron]);
            }
          }
        }
      }
      __syncthreads();
      backward<L - 1>();
    }
  }

  /// The block's part of the gradient of layers L and beyond.
  template <int L>
  __device__ __forceinline__ void find_gradient() {
    constexpr int kWidth = kShape.value_width(L), kNeurons = kShape.delta_width(L), kGroups = kShape.value_groups(L);
    constexpr int kItems = kShape.items(L), kSharing = kShape.row_sharing(L), kPitch = kShape.value_pitch(L);
    constexpr int kFrom = kShape.delta_pitch(L), kColumns = kShape.in(L) + 1, kOut = kShape.out(L);
    constexpr int kParts = kShape.parts_at(L), kWords = kShape.weight_words(L);
    constexpr int kTaking = kShape.gradient_warps(), kFirstWarp = kShape.first_warp(L);
#pragma unroll 1
    for (int unit = (warp() + kTaking - kFirstWarp) % kTaking; unit < kItems * kSharing; unit += kTaking) {
      const int item = unit % kItems, share = unit / kItems;
      const int first = item / kGroups * 8 * kNeurons, column = item % kGroups * 8 * kWidth + kWidth * lane_group();
      float sums[kWidth / 2][kNeurons][4];
      clear(sums);
      multiply_add(sums, left_of_gradient<L>(item % kGroups),
                   ColumnsBeside<kFrom, kNeurons, true>{deltas<L>() + first, Tile - 1}, share, Tile / kDepth, kSharing);
      float* const to = kSharing == 1 ? weights<L>() : memory_.workspace + kParts + share * kWords;
#pragma unroll
      for (int n = 0; n < kNeurons; ++n) {
#pragma unroll
        for (int i = 0; i < 2; ++i) {
          const int neuron = first + kNeurons * (2 * lane_of_group() + i) + n;
          Pack<kWidth> found;
#pragma unroll
          for (int m = 0; m < kWidth / 2; ++m) {
            found.value[2 * m] = factor<L>() * sums[m][n][i];
            found.value[2 * m + 1] = factor<L>() * sums[m][n][i + 2];
          }
          if (neuron >= kOut) continue;
          if (column + kWidth <= kColumns) {
            heddle::store<kWidth>(to + neuron * kPitch + column, found);
          } else {
#pragma unroll
            for (int j = 0; j < kWidth; ++j) {
              if (column + j < kColumns) to[neuron * kPitch + column + j] = found.value[j];
            }
          }
        }
      }
    }
    if constexpr (L + 1 < kLayers) find_gradient<L + 1>();
  }

  /// An element of the block's part of the gradient.
  template <int L>
  __device__ __forceinline__ float part(int neuron, int column) const {
    constexpr int kSharing = kShape.row_sharing(L), kPitch = kShape.value_pitch(L);
    constexpr int kParts = kShape.parts_at(L), kWords = kShape.weight_words(L);
    if constexpr (kSharing == 1) return weight<L>(neuron, column);
    const float* from = memory_.workspace + kParts + neuron * kPitch + column;
    float sum = from[0];
#pragma unroll
    for (int share = 1; share < kSharing; ++share) sum += from[share * kWords];
    return sum;
  }

  // Learning.

  /// One thread: counts the step.
  __device__ __forceinline__ void decide(double squares) const {
    Verdict& verdict = *memory_.verdict;
    const int rows = rows_of_step(control_, verdict.progress);
    verdict.decision = count_step(control_, kOutputs, squares, verdict.progress,
                                  blockIdx.x == 0 ? buffers_.errors : nullptr, buffers_.slots);
    verdict.step = step_of(control_, verdict.progress, rows);
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

  __device__ __forceinline__ void learn_alone() {
    const Step step = memory_.verdict->step;
    const int decision = memory_.verdict->decision;
    for (int slot = thread(); slot < kPackets; slot += Block) {
      at_packet(slot, [&](auto layer, int neuron, int column, int values) {
        for (int i = 0; i < values; ++i) {
          const float sum = part<layer.value>(neuron, column + i);
          weight<layer.value>(neuron, column + i) = change(step, decision, i, slot, sum);
        }
      });
    }
    copies_arrived();
    __syncthreads();
  }

  // Packets: see ResidentPackets.

  __device__ __forceinline__ static ResidentPackets<int> packets() { return {static_cast<int>(gridDim.x), kPackets}; }
  __device__ __forceinline__ Packet* error_packets(int copy) const {
    const ResidentPackets<int> of = packets();
    return buffers_.packets + of.errors_at() +
           (static_cast<int>(stamp_ & 1) * of.error_copies() + copy) * static_cast<int>(gridDim.x);
  }

  __device__ __forceinline__ void post_squares() const {
    if (gridDim.x == 1 || thread() >= packets().error_copies()) return;
    post(error_packets(thread()) + blockIdx.x, packed(own_squares(), stamp_));
  }

  /// One warp: counts the step with the squares of all blocks.
  __device__ __forceinline__ bool gather_squares() const {
    const int blocks = static_cast<int>(gridDim.x);
    if (blocks == 1) {
      if (lane() == 0) decide(own_squares());
      return true;
    }
    double squares = 0.0;
    const int mine = lane() < blocks ? (blocks - lane() - 1) / kWarp + 1 : 0;
    const bool met = await_each(error_packets(static_cast<int>(blockIdx.x) % packets().error_copies()) + lane(), kWarp,
                                mine, stamp_, [&](int, const Packet& packet) { squares += unpacked(packet); });
    __syncwarp();
#pragma unroll
    for (int offset = kWarp / 2; offset > 0; offset /= 2) squares += __shfl_xor_sync(kAllLanes, squares, offset);
    if (lane() == 0) decide(squares);
    return met;
  }

  /// Sends every owner the block's part of the gradient.
  __device__ __forceinline__ void post_parts() const {
    const int blocks = static_cast<int>(gridDim.x), block = static_cast<int>(blockIdx.x);
    for (int q = thread(); q < kPackets; q += Block) {
      float value[kPacketValues] = {};
      at_packet(q, [&](auto layer, int neuron, int column, int values) {
#pragma unroll
        for (int i = 0; i < kPacketValues; ++i) {
          if (i < values) value[i] = part<layer.value>(neuron, column + i);
        }
      });
      const int owner = q / owned_, slot = q - owner * owned_;
      post(buffers_.packets + (owner * blocks + block) * owned_ + slot, {value[0], value[1], value[2], stamp_});
    }
  }

  /// Of an owner of few packets: a warp for each, whose lanes await the blocks' parts in one go. `changes`: the
  /// decision is not to leave all as it is.
  __device__ __forceinline__ bool learn_by_warps(bool changes) const {
    const int blocks = static_cast<int>(gridDim.x), block = static_cast<int>(blockIdx.x);
    const int mine = lane() < blocks ? (blocks - lane() - 1) / kWarp + 1 : 0;
    bool met = true;
    for (int slot = warp(); slot < own_; slot += kWarps) {
      float sum[kPacketValues] = {};
      const Packet* from = buffers_.packets + (block * blocks + lane()) * owned_ + slot;
      met = await_each(from, kWarp * owned_, mine, stamp_,
                       [&](int, const Packet& packet) {
                         sum[0] += packet.a;
                         sum[1] += packet.b;
                         sum[2] += packet.c;
                       }) &&
            met;
      __syncwarp();
#pragma unroll
      for (int i = 0; i < kPacketValues; ++i) sum[i] = sum_over_lanes<kWarp>(sum[i]);
      if (!changes) continue;
      float value = 0.0f;
      at_packet(first_owned_ + slot, [&](auto, int, int, int values) {
        const int i = lane();
        if (i >= values) return;
        value = change(memory_.verdict->step, memory_.verdict->decision, i, slot,
                       i == 0   ? sum[0]
                       : i == 1 ? sum[1]
                                : sum[2]);
      });
      __syncwarp();
      const float a = __shfl_sync(kAllLanes, value, 0), b = __shfl_sync(kAllLanes, value, 1);
      const float c = __shfl_sync(kAllLanes, value, 2);
      if (lane() < packets().copies()) post(totals(lane()) + first_owned_ + slot, {a, b, c, stamp_});
    }
    return met;
  }

  /// Of an owner of many packets: threads next to each other have packets next to each other.
  __device__ __forceinline__ bool learn_by_threads(bool changes) const {
    const int blocks = static_cast<int>(gridDim.x), block = static_cast<int>(blockIdx.x);
    bool met = true;
    for (int base = 0; base < own_; base += Block) {
      // Threads that add up the parts of one packet: each those of some of the blocks.
      const int slots = min(own_ - base, Block), sharing = min(Block / slots, blocks);
      const int slot = thread() % slots, share = thread() / slots;
      if (share < sharing) {
        float sum[kPacketValues] = {};
        const Packet* from = buffers_.packets + (block * blocks + share) * owned_ + base + slot;
        met = await_each<kManyPolls>(from, sharing * owned_, (blocks - share - 1) / sharing + 1, stamp_,
                                     [&](int, const Packet& packet) {
                                       sum[0] += packet.a;
                                       sum[1] += packet.b;
                                       sum[2] += packet.c;
                                     }) &&
              met;
#pragma unroll
        for (int i = 0; i < kPacketValues; ++i) memory_.workspace[(share * kPacketValues + i) * slots + slot] = sum[i];
      }
      __syncthreads();
      if (thread() < slots && changes) {
        const Step step = memory_.verdict->step;
        const int decision = memory_.verdict->decision;
        float value[kPacketValues] = {};
        at_packet(first_owned_ + base + slot, [&](auto, int, int, int values) {
#pragma unroll
          for (int i = 0; i < kPacketValues; ++i) {
            if (i >= values) break;
            float sum = 0.0f;
            for (int s = 0; s < sharing; ++s) sum += memory_.workspace[(s * kPacketValues + i) * slots + slot];
            value[i] = change(step, decision, i, base + slot, sum);
          }
        });
        for (int copy = 0; copy < packets().copies(); ++copy) {
          post(totals(copy) + first_owned_ + base + slot, {value[0], value[1], value[2], stamp_});
        }
      }
      if (base + Block < own_) __syncthreads();
    }
    return met;
  }

  /// The packets of the new parameters.
  __device__ __forceinline__ Packet* totals(int copy) const {
    return buffers_.packets + packets().totals_at() + copy * kPackets;
  }

  /// Brings the new parameters of all owners on chip.
  __device__ __forceinline__ bool fetch_totals() const {
    const Packet* from = totals(static_cast<int>(blockIdx.x) % packets().copies()) + thread();
    const int mine = thread() < kPackets ? (kPackets - thread() - 1) / Block + 1 : 0;
    return await_each<(kPackets > kPolls * Block ? kManyPolls : kPolls)>(
        from, Block, mine, stamp_, [&](int i, const Packet& packet) {
          at_packet(thread() + i * Block, [&](auto layer, int neuron, int column, int values) {
            const float value[kPacketValues] = {packet.a, packet.b, packet.c};
#pragma unroll
            for (int j = 0; j < kPacketValues; ++j) {
              if (j < values) weight<layer.value>(neuron, column + j) = value[j];
            }
          });
        });
  }

  /// `met`: whether all have met so far.
  __device__ __forceinline__ bool learn_together(bool met) {
    const bool changes = memory_.verdict->decision != kLeave;
    post_parts();
    __syncthreads();  // workspace and weights are free
    if (in_batches()) start_rows();
    met = (owned_ <= 2 * kWarps ? learn_by_warps(changes) : learn_by_threads(changes)) && met;
    if (changes) met = fetch_totals() && met;
    copies_arrived();
    return __syncthreads_and(met ? 1 : 0) != 0;
  }

  const ResidentMemory memory_;
  const ResidentBuffers buffers_;
  const Control control_;
  int first_row_, rows_;
  int owned_, first_owned_, own_;  // packets of an owner at most; the first of this block, and how many
  float factor_ = 1.0f;
  unsigned stamp_ = 0;
};

/// The steps of a run. Returns whether they could be done with rows of this kind.
template <int Block, int Tile, int In, int... Sizes>
__device__ __forceinline__ bool train_with(const ResidentMemory& memory, const ResidentBuffers& buffers,
                                           const Control& control, Progress* after, int steps) {
  ResidentTraining<Block, Tile, In, Sizes...> work(memory, buffers, control);
  if (!work.fetch_rows()) return false;
  work.fetch();
  const Progress& progress = memory.verdict->progress;
  bool met = true;
#pragma unroll 1
  for (int done = 0; met && goes_on(control, progress, done, steps); ++done) met = work.step();
  work.store();
  if (blockIdx.x == 0 && threadIdx.x == 0) {
    *after = progress;
    if (!met) after->halted = kLostBlock;
  }
  return true;
}

/// At most `steps` steps; `order` and `errors`: of `slots` epochs.
template <int Block, int Tile, int In, int... Sizes>
__global__ void __launch_bounds__(Block, 1)
    train_resident(const float* rows, const float* targets, const int* order, float* parameters, float* state,
                   float* gradient, const Control* control_at, const Progress* before, Progress* after, double* errors,
                   Packet* packets, float* padded, int steps, int slots) {
  constexpr ResidentShape<int> kShape{static_cast<int>(sizeof...(Sizes)) - 1, {Sizes...}, Block / kWarp, Tile};
  const Control control = *control_at;
  const ResidentMemory memory(ResidentPieces<int>(kShape, In, static_cast<int>(gridDim.x)));
  if (threadIdx.x == 0) memory.verdict->progress = *before;
  __syncthreads();
  if (!goes_on(control, memory.verdict->progress, 0, steps)) return;
  const ResidentBuffers buffers{rows, targets, order, parameters, state, gradient, errors, packets, padded, slots};
  if (train_with<Block, Tile, In, Sizes...>(memory, buffers, control, after, steps)) return;
  if constexpr (In == kRowsBytes)
    train_with<Block, Tile, kRowsGlobal, Sizes...>(memory, buffers, control, after, steps);
}

}  // namespace heddle::mlp
