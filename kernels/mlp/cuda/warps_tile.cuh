// The rows of one warp through a network with one hidden layer and back, without leaving its registers: scheme = warps.
//
// Matrices are transposed: neurons are the rows of a tile of the tensor cores, and the rows of data its columns. What
// lane (g, t) = (lane / 4, lane % 4) then has of a product of weights and rows are neurons g and g + 8 for rows 2 t and
// 2 t + 1. That is the left factor of a product of deltas and rows, if row 2 t counts as addend t and row 2 t + 1 as
// addend t + 4. So the deltas never leave their lanes, and the rows, which do not change, can stay where each of the
// two products wants them.
#pragma once

#include "heddle/kernels/common/memory.cuh"
#include "heddle/kernels/common/reduce.cuh"
#include "heddle/kernels/mlp/cuda/activations.cuh"
#include "heddle/kernels/mlp/cuda/products.cuh"
#include "heddle/kernels/mlp/cuda/resident_memory.cuh"
#include "heddle/kernels/mlp/cuda/resident_tile.cuh"
#include "heddle/kernels/mlp/cuda/warps_sizes.cuh"

namespace heddle::mlp {

/// Block: threads, the last warp of which has no rows; Rows: of a block at most; In, Hidden, Out: neurons.
template <int Block, int Rows, int In, int Hidden, int Out>
class WarpsTile {
 public:
  static constexpr WarpsShape<int> kSizes{In, Hidden, Out, Block / kWarp - 1, Rows};
  static constexpr ResidentShape<int> kShape = kSizes.layers();
  static constexpr int kLayers = 2, kWarps = kSizes.warps, kBlock = Block, kOutputs = Out;

  __device__ __forceinline__ WarpsTile(const ResidentMemory& memory, float* targets, int hidden, int output)
      : memory_(memory), targets_(targets), hidden_(hidden), output_(output) {}

  __device__ __forceinline__ static int thread() { return static_cast<int>(threadIdx.x); }
  __device__ __forceinline__ static int lane() { return thread() % kWarp; }
  __device__ __forceinline__ static int warp() { return thread() / kWarp; }
  __device__ __forceinline__ static void sync() { __syncthreads(); }
  /// Whether the thread's warp counts the steps, and has no rows.
  __device__ __forceinline__ static bool counts() { return warp() == kWarps; }

  /// Column Hidden of the outputs' weights and column In of the others': the bias.
  template <int L>
  __device__ __forceinline__ float& weight(Constant<L>, int neuron, int column) const {
    return L == 0 ? memory_.weights[neuron * kPitch + column]
                  : memory_.weights[kSlots * kPitch + neuron * kSlots + column];
  }
  /// Where an element of the gradient is in the parts of all warps.
  template <int L>
  __device__ __forceinline__ static int part_at(Constant<L>, int neuron, int column) {
    return L == 0 ? neuron * kColumns + column : kSizes.first_part() + neuron * kSlots + column;
  }
  /// An element of the block's part of the gradient.
  template <int L>
  __device__ __forceinline__ float part(Constant<L> layer, int neuron, int column) const {
    return sum_of_parts(part_at(layer, neuron, column));
  }
  __device__ __forceinline__ float sum_of_parts(int at) const {
    const float* const from = memory_.workspace + at;
    constexpr int kWords = kSizes.part();
    float sum = from[0];
#pragma unroll
    for (int w = 1; w < kWarps; ++w) sum += from[w * kWords];
    return sum;
  }
  /// Clears what stays 0. A barrier has to follow.
  __device__ __forceinline__ void prepare() const {
    for (int i = thread(); i < kSlots * kPitch + Out * kSlots; i += Block) memory_.weights[i] = 0.0f;
    __syncthreads();
  }

  /// Brings `count` rows, each of In numbers, and their targets on chip. A barrier has to follow. The whole block.
  __device__ __forceinline__ void fetch_rows(const float* rows, const float* targets, int count) {
    count_ = count;
    const auto value = [&](int row, int column) {
      if (row >= count || column > In) return 0.0f;
      return column == In ? 1.0f : rows[static_cast<long long>(row) * In + column];
    };
    for (int i = thread(); i < count * Out; i += Block) targets_[i] = targets[i];
    if constexpr (kKept) {
      if (counts()) return;
#pragma unroll
      for (int j = 0; j < kTiles; ++j) {
        const int first = first_row(0) + 8 * j;
#pragma unroll
        for (int s = 0; s < kSlices; ++s) {
#pragma unroll
          for (int i = 0; i < 2; ++i) {
            kept_.of_forward[j][s].set(i, value(first + lane_group(), 8 * s + lane_of_group() + 4 * i));
            kept_.of_gradient[j][s].set(i, value(first + 2 * lane_of_group() + i, column_of_gradient(s)));
          }
        }
      }
    } else {
      for (int i = thread(); i < kSizes.room() * kColumns; i += Block) {
        memory_.rows[i / kColumns * kPitch + i % kColumns] = value(i / kColumns, i % kColumns);
      }
    }
  }
  /// After a barrier that follows fetch_rows().
  __device__ __forceinline__ void look_at_rows() {
    if constexpr (!kKept) {
      if (counts()) return;
      // A slice whose numbers have 11 bits each needs two products instead of three.
      rests_ = 0;
#pragma unroll 1
      for (int s = 0; s < kSlices; ++s) {
        bool rest = false;
        for (int p = 0; p < kPasses; ++p) {
          for (int j = 0; j < kTiles; ++j) {
            const Factor seen = of_forward(first_row(p) + 8 * j, s);
            rest = rest || seen.rest[0] != 0.0f || seen.rest[1] != 0.0f;
          }
        }
        // Both products go by pairs of slices.
        if (__any_sync(kAllLanes, rest ? 1 : 0) != 0) rests_ |= 3u << (s / 2 * 2);
      }
    }
  }

  /// A step begins: the warp's part of the gradient is 0.
  __device__ __forceinline__ void begin() {
#pragma unroll
    for (int chain = 0; chain < kChains; ++chain) {
#pragma unroll
      for (int s = 0; s < kSlices; ++s) {
#pragma unroll
        for (int i = 0; i < 4; ++i) sums_[chain][s][i] = 0.0f;
      }
    }
#pragma unroll
    for (int k = 0; k < Out; ++k) {
#pragma unroll
      for (int h = 0; h < kHalves; ++h) of_outputs_[k][h] = 0.0f;
    }
    squares_ = 0.0f;
#pragma unroll
    for (int k = 0; k < Out; ++k) {
#pragma unroll
      for (int h = 0; h < kHalves; ++h) {
        output_weights_[k][h] = weight(Constant<1>{}, k, lane_group() + 8 * h);
      }
    }
  }

  /// Values, errors and deltas of the rows of a pass.
  __device__ __forceinline__ void pass_rows(int pass) {
    float values[kTiles][4];
#pragma unroll
    for (int j = 0; j < kTiles; ++j) {
#pragma unroll
      for (int i = 0; i < 4; ++i) values[j][i] = 0.0f;
    }
    if constexpr (kKept) {
#pragma unroll
      for (int s = 0; s < kSlices; ++s) {
        multiply(
            values, weights_of(s), [&](int j) { return kept_.of_forward[j][s]; }, true);
      }
    } else {
#pragma unroll 2
      for (int s = 0; s < kSlices; ++s) {
        multiply(
            values, weights_of(s), [&](int j) { return of_forward(first_row(pass) + 8 * j, s); },
            (rests_ >> s & 1u) != 0);
      }
    }
    activate_all(values);

    float back[Out][2 * kTiles];
    find_output_deltas(pass, values, back);
#pragma unroll
    for (int k = 0; k < Out; ++k) {
#pragma unroll
      for (int j = 0; j < kTiles; ++j) {
#pragma unroll
        for (int i = 0; i < 2 * kHalves; ++i) of_outputs_[k][i / 2] += back[k][2 * j + i % 2] * values[j][i];
      }
    }
#pragma unroll
    for (int j = 0; j < kTiles; ++j) {
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        deltas_[j][i] = 0.0f;
        if (i >= 2 * kHalves) continue;
#pragma unroll
        for (int k = 0; k < Out; ++k) deltas_[j][i] += output_weights_[k][i / 2] * back[k][2 * j + i % 2];
      }
    }
    multiply_by_slopes(values);
  }
  /// The squared errors of all passes, to the warp that counts, which has less to do and adds them up.
  __device__ __forceinline__ void tell_squares() const { losses()[thread()] = squares_; }
  /// That warp, after a barrier: their sum.
  [[nodiscard]] __device__ __forceinline__ double block_squares() const {
    float squares[kWarps];
#pragma unroll
    for (int w = 0; w < kWarps; ++w) squares[w] = losses()[w * kWarp + lane()];
#pragma unroll
    for (int apart = 1; apart < kWarps; apart *= 2) {
#pragma unroll
      for (int w = 0; w + apart < kWarps; w += 2 * apart) squares[w] += squares[w + apart];
    }
    return static_cast<double>(sum_over_lanes<kWarp>(squares[0]));
  }
  /// Adds what the deltas of pass_rows() make of the gradient.
  __device__ __forceinline__ void add_gradient(int pass) {
#pragma unroll
    for (int j = 0; j < kTiles; ++j) {
      // Neurons g and g + 8 for addend t, which is row 2 t; and then for addend t + 4, row 2 t + 1.
      const float left[4] = {deltas_[j][0], deltas_[j][2], deltas_[j][1], deltas_[j][3]};
      float whole[4], rest[4];
      divide(left, whole, rest);
      if constexpr (kKept) {
#pragma unroll
        for (int s = 0; s < kSlices; ++s) multiply_add(s, whole, rest, kept_.of_gradient[j][s], true);
      } else {
        const float* const from = memory_.rows + (first_row(pass) + 8 * j + 2 * lane_of_group()) * kPitch;
        constexpr int kTogether = kSlices == 1 ? 1 : 2;
#pragma unroll
        for (int s = 0; s < kSlices; s += kTogether) {
          const auto upper = load<kTogether>(from + column_of_gradient(s));
          const auto lower = load<kTogether>(from + kPitch + column_of_gradient(s));
#pragma unroll
          for (int i = 0; i < kTogether; ++i) {
            Factor right;
            right.set(0, upper.value[i]);
            right.set(1, lower.value[i]);
            multiply_add(s + i, whole, rest, right, (rests_ >> s & 1u) != 0);
          }
        }
      }
    }
  }
  /// Leaves the warp's part of the gradient where part() finds it after a barrier.
  __device__ __forceinline__ void leave_gradient() {
#pragma unroll
    for (int s = 0; s < kSlices; ++s) {
#pragma unroll
      for (int i = 0; i < 4; ++i) {
#pragma unroll
        for (int chain = 1; chain < kChains; ++chain) sums_[0][s][i] += sums_[chain][s][i];
      }
    }
    float* const own = memory_.workspace + warp() * kSizes.part();
#pragma unroll
    for (int h = 0; h < kHalves; ++h) {
      float* const to = own + (lane_group() + 8 * h) * kColumns;
      if constexpr (kSlices == 1) {
        store<2>(to + 2 * lane_of_group(), {{sums_[0][0][2 * h], sums_[0][0][2 * h + 1]}});
      } else {
#pragma unroll
        for (int s = 0; s < kSlices; s += 2) {
          store<4>(to + 8 * s + 4 * lane_of_group(),
                   {{sums_[0][s][2 * h], sums_[0][s + 1][2 * h], sums_[0][s][2 * h + 1], sums_[0][s + 1][2 * h + 1]}});
        }
      }
#pragma unroll
      for (int k = 0; k < Out; ++k) {
        const float sum = sum_over_lanes<4>(of_outputs_[k][h]);
        if (lane_of_group() == 0) own[kSizes.first_part() + k * kSlots + lane_group() + 8 * h] = sum;
      }
    }
  }

  static constexpr int kPasses = kSizes.passes();

 private:
  static constexpr int kTiles = kSizes.tiles(), kSlices = kSizes.slices(), kColumns = kSizes.columns();
  static constexpr int kPitch = kSizes.pitch(), kSlots = kSizes.slots(), kHalves = kSlots / 8;
  static constexpr bool kKept = kSizes.in_registers();
  static constexpr int kChains = kSlices == 1 ? 3 : 1;

  /// Two numbers of a right factor, each as its leading term and the rest.
  struct Factor {
    float whole[2], rest[2];
    __device__ __forceinline__ void set(int i, float value) {
      whole[i] = leading(value);
      rest[i] = value - whole[i];
    }
  };
  struct Kept {
    Factor of_forward[kTiles][kKept ? kSlices : 1], of_gradient[kTiles][kKept ? kSlices : 1];
  };

  __device__ __forceinline__ static void divide(const float (&all)[4], float (&whole)[4], float (&rest)[4]) {
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      whole[i] = leading(all[i]);
      rest[i] = all[i] - whole[i];
    }
  }
  /// Slice s of the gradient: products of few slices go to sums of their own, so that fewer wait for each other.
  __device__ __forceinline__ void multiply_add(int s, const float (&whole)[4], const float (&rest)[4],
                                               const Factor& right, bool all) {
    multiply_add_16x8x8(sums_[1 % kChains][s], rest, right.whole);
    if (all) multiply_add_16x8x8(sums_[2 % kChains][s], whole, right.rest);
    multiply_add_16x8x8(sums_[0][s], whole, right.whole);
  }
  /// sums[j] += left right(j). `all`: the right factors have rests.
  struct Weights {
    float whole[4], rest[4];
  };
  template <class Right>
  __device__ __forceinline__ static void multiply(float (&sums)[kTiles][4], const Weights& left, const Right& right,
                                                  bool all) {
    Factor factors[kTiles];
#pragma unroll
    for (int j = 0; j < kTiles; ++j) factors[j] = right(j);
#pragma unroll
    for (int j = 0; j < kTiles; ++j) multiply_add_16x8x8(sums[j], left.rest, factors[j].whole);
    if (all) {
#pragma unroll
      for (int j = 0; j < kTiles; ++j) multiply_add_16x8x8(sums[j], left.whole, factors[j].rest);
    }
#pragma unroll
    for (int j = 0; j < kTiles; ++j) multiply_add_16x8x8(sums[j], left.whole, factors[j].whole);
  }

  [[nodiscard]] __device__ __forceinline__ float* losses() const { return reinterpret_cast<float*>(memory_.losses); }
  /// The first row of the warp's tiles in a pass.
  __device__ __forceinline__ static int first_row(int pass) { return (pass * kWarps + warp()) * 8 * kTiles; }
  /// Of slice s of a gradient: the column that the lane has as a right factor. The slices of a pair have every other
  /// column of 16, so that a lane has four neighbouring columns of what comes out.
  __device__ __forceinline__ static int column_of_gradient(int s) {
    return kSlices == 1 ? lane_group() : s / 2 * 16 + 2 * lane_group() + s % 2;
  }
  /// Of the hidden slots, for addends t and t + 4 of slice s.
  __device__ __forceinline__ Weights weights_of(int s) const {
    float all[4] = {};
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      if (i % 2 < kHalves)
        all[i] = memory_.weights[(lane_group() + i % 2 * 8) * kPitch + 8 * s + lane_of_group() + i / 2 * 4];
    }
    Weights weights;
    divide(all, weights.whole, weights.rest);
    return weights;
  }
  __device__ __forceinline__ Factor of_forward(int first, int s) const {
    const float* const from = memory_.rows + (first + lane_group()) * kPitch + 8 * s + lane_of_group();
    Factor factor;
    factor.set(0, from[0]);
    factor.set(1, from[4]);
    return factor;
  }

  // Activations: one branch for all values of a lane, so that their exponentials overlap.

  /// Calls change(value, tile, element) for all values of neurons that are there.
  template <class Change>
  __device__ __forceinline__ static void each_value(float (&values)[kTiles][4], const Change& change) {
#pragma unroll
    for (int j = 0; j < kTiles; ++j) {
#pragma unroll
      for (int i = 0; i < (Hidden > 8 ? 4 : 2); ++i) change(values[j][i], j, i);
    }
  }
  __device__ __forceinline__ void activate_all(float (&values)[kTiles][4]) const {
    if (hidden_ == kSigmoid) {
      each_value(values, [](float& value, int, int) { value = activate(kSigmoid, value); });
    } else if (hidden_ != kLinear) {
      each_value(values, [&](float& value, int, int) { value = activate(hidden_, value); });
    }
    // The slot after the neurons is 1.
#pragma unroll
    for (int j = 0; j < kTiles; ++j) {
#pragma unroll
      for (int i = 0; i < 2 * kHalves; ++i) {
        if (i / 2 == Hidden / 8 && lane_group() == Hidden % 8) values[j][i] = 1.0f;
      }
    }
  }
  __device__ __forceinline__ void multiply_by_slopes(const float (&values)[kTiles][4]) {
    if (hidden_ == kSigmoid) {
      each_value(deltas_, [&](float& delta, int j, int i) { delta *= slope(kSigmoid, values[j][i]); });
    } else if (hidden_ != kLinear) {
      each_value(deltas_, [&](float& delta, int j, int i) { delta *= slope(hidden_, values[j][i]); });
    }
  }

  // The outputs.

  /// Adds up 2 kTiles numbers over the groups of lanes of a warp. Lane (g, t) gets the sum of number g >> kShift.
  static constexpr int kShift = kTiles == 4 ? 0 : kTiles == 2 ? 1 : 2;
  __device__ __forceinline__ static float scatter_sums(float (&numbers)[2 * kTiles]) {
#pragma unroll
    for (int half = kTiles, offset = kWarp / 2; half > 0; half /= 2, offset /= 2) {
      const bool upper = (lane() & offset) != 0;
#pragma unroll
      for (int i = 0; i < half; ++i) {
        const float other = upper ? numbers[i] : numbers[i + half];
        const float own = upper ? numbers[i + half] : numbers[i];
        numbers[i] = own + __shfl_xor_sync(kAllLanes, other, offset);
      }
    }
#pragma unroll
    for (int offset = 4; offset < 4 << kShift; offset *= 2)
      numbers[0] += __shfl_xor_sync(kAllLanes, numbers[0], offset);
    return numbers[0];
  }
  /// `back`: deltas of the outputs for the rows of which the lane has values: tile j, row 2 t + i at 2 j + i.
  __device__ __forceinline__ void find_output_deltas(int pass, const float (&values)[kTiles][4],
                                                     float (&back)[Out][2 * kTiles]) {
    // Each lane has one row, or several lanes the same.
    const int number = lane_group() >> kShift;
    const int row = first_row(pass) + number / 2 * 8 + 2 * lane_of_group() + number % 2;
    const bool there = row < count_;
    float targets[Out], own[Out];
#pragma unroll
    for (int k = 0; k < Out; ++k) targets[k] = there ? targets_[row * Out + k] : 0.0f;
#pragma unroll
    for (int k = 0; k < Out; ++k) {
      float sums[2 * kTiles];
#pragma unroll
      for (int j = 0; j < kTiles; ++j) {
#pragma unroll
        for (int i = 0; i < 2; ++i) {
          sums[2 * j + i] = output_weights_[k][0] * values[j][i];
          if constexpr (kHalves == 2) sums[2 * j + i] += output_weights_[k][1] * values[j][2 + i];
        }
      }
      own[k] = scatter_sums(sums);
    }
    if (output_ == kSoftmax) {
      soften<Out>(own);
    } else {
      mlp::activate_all(output_, own);
    }
    const bool first = (lane_group() & ((1 << kShift) - 1)) == 0;
#pragma unroll
    for (int k = 0; k < Out; ++k) {
      const float error = there ? own[k] - targets[k] : 0.0f;
      if (first) squares_ += error * error;
      own[k] = there ? error * slope(output_, own[k]) : 0.0f;
    }
#pragma unroll
    for (int k = 0; k < Out; ++k) {
#pragma unroll
      for (int v = 0; v < 2 * kTiles; ++v) {
        back[k][v] = __shfl_sync(kAllLanes, own[k], (v << kShift) * 4 + lane_of_group());
      }
    }
  }

  const ResidentMemory memory_;
  float* targets_;
  int hidden_, output_, count_ = 0;
  unsigned rests_ = 0;  ///< bit s: slice s has numbers of more than 11 bits
  Kept kept_;           // where kKept
  float sums_[kChains][kSlices][4], of_outputs_[Out][kHalves], output_weights_[Out][kHalves], deltas_[kTiles][4];
  float squares_ = 0.0f;
};

}  // namespace heddle::mlp
