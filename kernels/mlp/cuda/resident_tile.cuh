// The products of a network for a tile of rows, in one block: values, deltas and gradients. Everything lies in shared
// memory, but for rows that are kRowsGlobal. ResidentShape says how warps share the work.
#pragma once

#include "heddle/kernels/common/barriers.cuh"
#include "heddle/kernels/common/reduce.cuh"
#include "heddle/kernels/mlp/cuda/activations.cuh"
#include "heddle/kernels/mlp/cuda/products.cuh"
#include "heddle/kernels/mlp/cuda/resident_memory.cuh"
#include "heddle/kernels/mlp/cuda/resident_sizes.cuh"

namespace heddle::mlp {

template <int V>
struct Constant {
  static constexpr int value = V;
};

/// Warps of a block that work together: `Threads` threads from `First` on. They meet at a barrier of their own, or, if
/// its number is 0, at that of the block, all of which they are then.
template <int Threads, int First = 0, int Barrier = 0>
struct Team {
  static constexpr int kThreads = Threads, kFirst = First, kWarps = Threads / kWarp;

  __device__ __forceinline__ static int thread() { return static_cast<int>(threadIdx.x) - First; }
  __device__ __forceinline__ static int warp() { return thread() / kWarp; }
  __device__ __forceinline__ static void sync() {
    if constexpr (Barrier == 0) {
      __syncthreads();
    } else {
      partial_barrier<Barrier, Threads>();
    }
  }
};

/// Workers: a Team; Tile: rows, a multiple of 16; In: a RowsIn; Sizes: neurons of the inputs and of every layer.
template <class Workers, int Tile, int In, int... Sizes>
class ResidentTile {
 public:
  static constexpr int kLayers = static_cast<int>(sizeof...(Sizes)) - 1, kWarps = Workers::kWarps;
  static constexpr int kBlock = Workers::kThreads;
  static constexpr int kTile = Tile, kIn = In;
  static constexpr ResidentShape<int> kShape{kLayers, {Sizes...}, kWarps, Tile};
  static constexpr int kInputs = kShape.in(0), kOutputs = kShape.out(kLayers - 1);
  static constexpr int kByteColumns = value_columns(kInputs);
  static constexpr int kRowPitch = In == kRowsShared ? kShape.value_pitch(0) : value_columns(kInputs);

  /// `rows`: of the tile; bytes begin there, too. `hidden`: an Activation.
  __device__ __forceinline__ ResidentTile(const ResidentMemory& memory, float* rows, int hidden)
      : memory_(memory), rows_(rows), hidden_(hidden) {}

  __device__ __forceinline__ static int thread() { return Workers::thread(); }
  __device__ __forceinline__ static int lane() { return static_cast<int>(threadIdx.x) % kWarp; }
  __device__ __forceinline__ static int warp() { return Workers::warp(); }
  __device__ __forceinline__ static void sync() { Workers::sync(); }

  // Where things lie.

  template <int L>
  __device__ __forceinline__ float* weights() const {
    constexpr int kAt = kShape.weights_at(L);
    return memory_.weights + kAt;
  }
  /// Column in(L): the bias.
  template <int L>
  __device__ __forceinline__ float& weight(Constant<L>, int neuron, int column) const {
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
  /// Of layers L and beyond.
  template <int L>
  __device__ __forceinline__ void fill_ones() const {
    if constexpr (L < kLayers) {
      constexpr int kPitch = kShape.value_pitch(L), kColumn = kShape.in(L);
      for (int row = thread(); row < Tile; row += kBlock) values<L>()[row * kPitch + kColumn] = 1.0f;
      fill_ones<L + 1>();
    }
  }

  [[nodiscard]] __device__ __forceinline__ float* rows() const { return rows_; }
  __device__ __forceinline__ void change_rows(float* rows) { rows_ = rows; }
  /// What numbers of the rows have to be multiplied by.
  __device__ __forceinline__ void scale_rows(float factor) { factor_ = factor; }

  /// Clears what stays 0, and sets what stays 1. A barrier has to follow.
  __device__ __forceinline__ void prepare() const {
    constexpr ResidentPieces<int> kPieces(kShape, In, 1);
    for (int i = thread(); i < kPieces.weights; i += kBlock) memory_.weights[i] = 0.0f;
    for (int i = thread(); i < kPieces.values; i += kBlock) memory_.values[i] = 0.0f;
    for (int i = thread(); i < kPieces.deltas; i += kBlock) memory_.deltas[i] = 0.0f;
    sync();
    fill_ones<1>();
  }

  // The products.

  template <int L>
  __device__ __forceinline__ auto left_factor(int row) const {
    if constexpr (L > 0) {
      constexpr int kPitch = kShape.value_pitch(L);
      return RowsAlong<kPitch>{values<L>() + row * kPitch};
    } else if constexpr (In == kRowsBytes) {
      constexpr int kPitch = kByteColumns / 4;
      return BytesAlong<kPitch>{reinterpret_cast<const unsigned*>(rows_) + row * kPitch};
    } else {
      return RowsAlong<kRowPitch>{rows_ + row * kRowPitch};
    }
  }
  template <int L>
  __device__ __forceinline__ auto left_of_gradient(int group) const {
    constexpr int kWidth = kShape.value_width(L);
    if constexpr (L > 0) {
      return ColumnsAcross<kShape.value_pitch(L), kWidth>{values<L>() + group * 8 * kWidth};
    } else if constexpr (In == kRowsBytes) {
      return BytesAcross<kByteColumns / 4>{reinterpret_cast<const unsigned*>(rows_) + group * 8};
    } else {
      return ColumnsAcross<kRowPitch, kWidth>{rows_ + group * 8 * kWidth};
    }
  }
  /// What a sum of products with the values of layer L has to be multiplied by.
  template <int L>
  __device__ __forceinline__ float factor() const {
    return L == 0 && In == kRowsBytes ? factor_ : 1.0f;
  }

  /// Makes values of sums of layer L; of the outputs, whose deltas come next, whole sums.
  template <int L, int Count>
  __device__ __forceinline__ void finish_sums(float (&sums)[Count]) const {
#pragma unroll
    for (int i = 0; i < Count; ++i) sums[i] *= factor<L>();
    if constexpr (L + 1 < kLayers) activate_all(hidden_, sums);
  }
  template <int L>
  __device__ __forceinline__ void leave(int row, int neuron, float value) const {
    if (neuron >= kShape.out(L)) return;
    if constexpr (L + 1 < kLayers) {
      constexpr int kPitch = kShape.value_pitch(L + 1);
      values<L + 1>()[row * kPitch + neuron] = value;
    } else {
      constexpr int kPitch = kShape.delta_pitch(L);
      deltas<L>()[row * kPitch + neuron] = value;
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
    const auto leave_of = [&](int group, int of_lane, int m, int n, int i, float value) {
      leave<L>(row_of(group) + m * kTileRows + of_lane / 4 + i / 2 * 8,
               neuron_of(group) + n * kTileColumns + of_lane % 4 * 2 + i % 2, value);
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
            finish_sums<L>(sums[m][n]);
#pragma unroll
            for (int i = 0; i < 4; ++i) leave_of(group, lane(), m, n, i, sums[m][n][i]);
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
      sync();
      if (share < kHalf) each([](float& left, float sum) { left += sum; });
      sync();
      for (int e = thread(); e < kGroups * kWords; e += kBlock) {
        float sum[1] = {memory_.workspace[e]};
#pragma unroll
        for (int part = 1; part < kHalf; ++part) sum[0] += memory_.workspace[part * kGroups * kWords + e];
        finish_sums<L>(sum);
        const int element = e % kWords / kWarp;
        leave_of(e / kWords, e % kWarp, element / (4 * kColumnTiles), element / 4 % kColumnTiles, element % 4, sum[0]);
      }
    }
    sync();
    if constexpr (L + 1 < kLayers) forward<L + 1>();
  }

  /// Makes deltas of the sums of the outputs, and the squares of this thread's errors. `output`: an Activation;
  /// `count`: rows that are there; targets(row): those of a row of the tile.
  template <class Targets>
  __device__ __forceinline__ void find_deltas(int output, int count, const Targets& targets) const {
    constexpr int kPitch = kShape.delta_pitch(kLayers - 1);
    float* const of_outputs = deltas<kLayers - 1>();
    double squares = 0.0;
    if (output == kSoftmax) {
      for (int row = thread(); row < Tile; row += kBlock) {
        float* const own = of_outputs + row * kPitch;
        if (row < count) soften<kOutputs>(own);
        for (int k = 0; k < kOutputs; ++k) {
          const float error = row < count ? own[k] - targets(row)[k] : 0.0f;
          squares += static_cast<double>(error) * static_cast<double>(error);
          own[k] = error;
        }
      }
    } else {
      const Slope slope(output);
#pragma unroll 1
      for (int i = thread(); i < Tile * kOutputs; i += kBlock) {
        const int row = i / kOutputs, k = i % kOutputs;
        float& at = of_outputs[row * kPitch + k];
        float value[1] = {at};
        activate_all(output, value);
        const float error = row < count ? value[0] - targets(row)[k] : 0.0f;
        squares += static_cast<double>(error) * static_cast<double>(error);
        at = row < count ? error * slope.at(value[0]) : 0.0f;
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
      constexpr int kTo = kShape.delta_pitch(L - 1), kPitch = kShape.value_pitch(L);
      go_back<L>(values<L>(), kPitch, [&](int row, int neuron, const auto& found) {
        heddle::store(deltas<L - 1>() + row * kTo + neuron, found);
      });
      sync();
      backward<L - 1>();
    }
  }
  /// After backward(), where the inputs are values of hidden neurons: calls leave(row, neuron, deltas) with the deltas
  /// of neighbouring ones, a whole number of which lie in a row of values; behind the last one they are 0.
  template <class Leave>
  __device__ __forceinline__ void backward_to_inputs(const Leave& leave) const {
    go_back<0>(rows_, kRowPitch, leave);
  }

  /// The block's part of the gradient of layers L and beyond.
  template <int L>
  __device__ __forceinline__ void find_gradient() {
    find_gradient_by<L, kShape.gradient_warps(), Tile>(
        warp(), false, [&](auto layer, int share) { return gradient_of(layer, share); });
  }
  /// The same by `Taking` warps, of which the calling one is number `warp`, for at most `Most` shares of the rows,
  /// added to what is there if `adds`; at(layer, share): where the part of a share goes.
  template <int L, int Taking, int Most, class At>
  __device__ __forceinline__ void find_gradient_by(int warp, bool adds, const At& at) {
    constexpr int kWidth = kShape.value_width(L), kNeurons = kShape.delta_width(L), kGroups = kShape.value_groups(L);
    constexpr int kItems = kShape.items(L), kSharing = kShape.shares(L, Most), kPitch = kShape.value_pitch(L);
    constexpr int kFrom = kShape.delta_pitch(L), kColumns = kShape.in(L) + 1, kOut = kShape.out(L);
    constexpr int kFirstWarp = kShape.first_warp(L, Taking, Most);
#pragma unroll 1
    for (int unit = (warp + Taking - kFirstWarp) % Taking; unit < kItems * kSharing; unit += Taking) {
      const int item = unit % kItems, share = unit / kItems;
      const int first = item / kGroups * 8 * kNeurons, column = item % kGroups * 8 * kWidth + kWidth * lane_group();
      float sums[kWidth / 2][kNeurons][4];
      clear(sums);
      multiply_add(sums, left_of_gradient<L>(item % kGroups),
                   ColumnsBeside<kFrom, kNeurons, true>{deltas<L>() + first, Tile - 1}, share, Tile / kDepth, kSharing);
      float* const to = at(Constant<L>{}, share);
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
          float* const own = to + neuron * kPitch + column;
          if (adds) {
#pragma unroll
            for (int j = 0; j < kWidth; ++j) found.value[j] += column + j < kColumns ? own[j] : 0.0f;
          }
          if (column + kWidth <= kColumns) {
            heddle::store<kWidth>(own, found);
          } else {
#pragma unroll
            for (int j = 0; j < kWidth; ++j) {
              if (column + j < kColumns) own[j] = found.value[j];
            }
          }
        }
      }
    }
    if constexpr (L + 1 < kLayers) find_gradient_by<L + 1, Taking, Most>(warp, adds, at);
  }

  /// An element of the block's part of the gradient.
  template <int L>
  __device__ __forceinline__ float part(Constant<L> layer, int neuron, int column) const {
    return sum_of_shares<Tile>(layer, gradient_of(layer, 0), neuron, column);
  }
  /// The same of parts that begin at `from`, one of at most `Most` shares behind the other.
  template <int Most, int L>
  __device__ __forceinline__ static float sum_of_shares(Constant<L>, const float* from, int neuron, int column) {
    constexpr int kPitch = kShape.value_pitch(L), kWords = kShape.weight_words(L);
    from += neuron * kPitch + column;
    float sum = from[0];
#pragma unroll
    for (int share = 1; share < kShape.shares(L, Most); ++share) sum += from[share * kWords];
    return sum;
  }

 protected:
  /// Where the part of a share of the rows goes: over the weights, or next to the others into the workspace.
  template <int L>
  __device__ __forceinline__ float* gradient_of(Constant<L>, int share) const {
    constexpr int kParts = kShape.parts_at(L), kWords = kShape.weight_words(L);
    return kShape.row_sharing(L) == 1 ? weights<L>() : memory_.workspace + kParts + share * kWords;
  }

 private:
  /// The deltas before layer L, whose values are at `values`: calls leave() as backward_to_inputs() does.
  template <int L, class Leave>
  __device__ __forceinline__ void go_back(const float* values, int value_pitch, const Leave& leave) const {
    constexpr int kWidth = kShape.back_width(L), kAcross = ceil_div(kShape.in(L), 8 * kWidth);
    constexpr int kChunks = ceil_div(kShape.out(L), kDepth), kItems = Tile / kTileRows * kAcross;
    constexpr int kFrom = kShape.delta_pitch(L), kPitch = kShape.value_pitch(L);
    const Slope slope(hidden_);
#pragma unroll 1
    for (int item = warp(); item < kItems; item += kWarps) {
      const int first = item / kAcross * kTileRows, neurons = item % kAcross * 8 * kWidth;
      float sums[1][kWidth][4];
      clear(sums);
      multiply_add(sums, RowsAlong<kFrom>{deltas<L>() + first * kFrom},
                   ColumnsBeside<kPitch, kWidth, false>{weights<L>() + neurons, kShape.out(L) - 1}, 0, kChunks);
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        const int row = first + lane_group() + i / 2 * 8, neuron = neurons + kWidth * (2 * lane_of_group() + i % 2);
        Pack<kWidth> found = load<kWidth>(values + row * value_pitch + neuron);
#pragma unroll
        for (int n = 0; n < kWidth; ++n) {
          found.value[n] = neuron + n < kShape.in(L) ? sums[0][n][i] * slope.at(found.value[n]) : 0.0f;
        }
        if (neuron < kShape.in(L)) leave(row, neuron, found);
      }
    }
  }

  const ResidentMemory memory_;
  float* rows_;
  int hidden_;
  float factor_ = 1.0f;
};

}  // namespace heddle::mlp
