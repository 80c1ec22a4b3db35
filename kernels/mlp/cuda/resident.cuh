// All steps of a run in one launch whose blocks run at the same time: scheme = resident. Formulas: docs/design.md,
// "Perceptrons".
//
// Each block has its share of the rows of a step and all weights on chip. Where all rows are learnt at once, a block
// keeps its rows. Those of a mini-batch are replaced while the block learns from the one before. A step is, in this
// order:
//
// | phase | work |
// |---|---|
// | forward, outputs | products of values and weights; errors of the outputs, whose squares go to all blocks at once |
// | backward | products of deltas and weights; of each layer's deltas and values: the block's part of the gradient |
// | gather | each block owns some parameters: it gets their parts, and adds them up in the order of the blocks |
// | learn | the owner changes its parameters, and sends them to all |
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

#include "heddle/kernels/mlp/cuda/resident_exchange.cuh"
#include "heddle/kernels/mlp/cuda/resident_tile.cuh"

namespace heddle::mlp {

/// Before the steps: empties their packets, and puts the progress where no block of theirs writes. Grid: enough threads
/// for all packets.
__global__ void begin_resident(Packet* packets, int count, const Progress* progress, Progress* before) {
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i < count) packets[i] = {0.0f, 0.0f, 0.0f, 0};
  if (i == 0) *before = *progress;
}

template <int Block, int Tile, int In, int... Sizes>
class ResidentTraining {
 public:
  using Products = ResidentTile<Team<Block>, Tile, In, Sizes...>;
  static constexpr int kLayers = Products::kLayers, kInputs = Products::kInputs, kOutputs = Products::kOutputs;
  static constexpr int kRowPitch = Products::kRowPitch, kByteColumns = Products::kByteColumns;

  __device__ __forceinline__ ResidentTraining(const ResidentMemory& memory, const ResidentBuffers& buffers,
                                              const Control& control)
      : memory_(memory),
        buffers_(buffers),
        control_(control),
        tile_(memory, rows_at(), control.hidden),
        exchange_(memory, buffers, control, parameters()) {
    share_rows(control.rows);
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
      tile_.scale_rows(1.0f / scale);
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
    for (int row = warp(); row < rows_; row += Products::kWarps) {
      const int place = control_.shuffled != 0 ? order[row] : first + row;
      const float* const from = buffers_.rows + static_cast<long long>(place) * kInputs;
      float* const to = rows_at() + row * kRowPitch;
      for (int i = lane(); i < kInputs; i += kWarp) start_copy(to + i, from + i);
      if (lane() == 0) memory_.places[row] = place;
    }
  }

  /// Brings parameters and states on chip.
  __device__ __forceinline__ void fetch() { exchange_.fetch(tile_); }
  /// Writes what the block owns.
  __device__ __forceinline__ void store() const { exchange_.store(); }

  /// One step. Returns false if a block is lost; every thread of the block the same.
  __device__ __forceinline__ bool step() {
    exchange_.begin_step();
    tile_.template forward<0>();
    const bool batches = in_batches();
    tile_.find_deltas(control_.output, rows_, [&](int row) {
      return buffers_.targets + static_cast<long long>(batches ? memory_.places[row] : first_row_ + row) * kOutputs;
    });
    __syncthreads();
    exchange_.post_squares();
    tile_.template backward<kLayers - 1>();
    bool met = true;
    if (warp() < Products::kShape.gradient_warps()) tile_.template find_gradient<0>();
    // The last warp counts the step meanwhile; a warp that is alone does so afterwards.
    if (warp() == Products::kWarps - 1) met = exchange_.gather_squares();
    __syncthreads();
    if (gridDim.x > 1) return learn_together(met);
    if (in_batches()) start_rows();
    exchange_.learn_alone(tile_);
    copies_arrived();
    __syncthreads();
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
  static constexpr int parameters() {
    int all = 0;
    for (int l = 0; l < kLayers; ++l) all += (Products::kShape.in(l) + 1) * Products::kShape.out(l);
    return all;
  }

  __device__ __forceinline__ static int thread() { return Products::thread(); }
  __device__ __forceinline__ static int lane() { return Products::lane(); }
  __device__ __forceinline__ static int warp() { return Products::warp(); }

  // The rows.

  __device__ __forceinline__ const float* row_values() const {
    return buffers_.rows + static_cast<long long>(first_row_) * kInputs;
  }
  /// Of a row of the tile, with its column of ones and its zeros.
  __device__ __forceinline__ float value_of(int row, int column) const {
    if (row >= rows_) return 0.0f;
    return column < kInputs ? row_values()[row * kInputs + column] : column == kInputs ? 1.0f : 0.0f;
  }
  __device__ __forceinline__ float* rows_at() const {
    if constexpr (In != kRowsGlobal) return memory_.rows;
    return buffers_.padded + static_cast<long long>(blockIdx.x) * Tile * kRowPitch;
  }

  /// `met`: whether all have met so far.
  __device__ __forceinline__ bool learn_together(bool met) {
    exchange_.post_parts(tile_);
    __syncthreads();  // workspace and weights are free
    if (in_batches()) start_rows();
    met = exchange_.learn_owned() && met;
    if (exchange_.changes()) met = exchange_.fetch_totals(tile_) && met;
    copies_arrived();
    return __syncthreads_and(met ? 1 : 0) != 0;
  }

  const ResidentMemory memory_;
  const ResidentBuffers buffers_;
  const Control control_;
  Products tile_;
  ResidentExchange<Products, 0> exchange_;
  int first_row_, rows_;
};

/// The steps of a run. Returns whether they could be done with rows of this kind.
template <int Block, int Tile, int In, int... Sizes>
__device__ __forceinline__ bool train_with(const ResidentMemory& memory, const ResidentBuffers& buffers,
                                           const Control& control, Progress* after, int steps) {
  ResidentTraining<Block, Tile, In, Sizes...> work(memory, buffers, control);
  if (!work.fetch_rows()) return false;
  work.fetch();
  const Progress& progress = memory.verdict->progress;
  train_to_end(work, control, progress, after, steps);
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
  SharedMemory shared;
  const ResidentMemory memory(shared, ResidentPieces<int>(kShape, In, static_cast<int>(gridDim.x)));
  if (threadIdx.x == 0) memory.verdict->progress = *before;
  __syncthreads();
  if (!goes_on(control, memory.verdict->progress, 0, steps)) return;
  const ResidentBuffers buffers{rows, targets, order, parameters, state, gradient, errors, packets, padded, slots};
  if (train_with<Block, Tile, In, Sizes...>(memory, buffers, control, after, steps)) return;
  if constexpr (In == kRowsBytes)
    train_with<Block, Tile, kRowsGlobal, Sizes...>(memory, buffers, control, after, steps);
}

}  // namespace heddle::mlp
