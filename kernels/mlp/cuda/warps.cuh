// All rows of a small network at once, in warps that keep them in registers: scheme = warps. All steps of a run in one
// launch, whose blocks run at the same time. Formulas: docs/design.md, "Perceptrons".
//
// The network has one hidden layer of at most 15 neurons. A warp takes its rows through the network and back without
// waiting for another warp (warps_tile.cuh). The last warp of a block has no rows: it counts the steps. A step is, in
// this order, with a barrier after each phase:
//
// | phase | warps with rows | last warp |
// |---|---|---|
// | forward | values, errors, deltas; the warp's squares | finds what counting needs beside the squares |
// | gradient | the warp's part | one block: decides what becomes of the step, and counts it while others learn.
// Several: sends the block's squares to all | | gather | send the block's part to the owners of parameters, who add up
// all blocks' | counts, with all squares | | learn | the owners change their parameters, and send them to all | |
//
// One block has the first two phases, and a thread for each parameter that learns.
//
// | parameter | meaning |
// |---|---|
// | Block | threads, at least two warps |
// | Rows  | of a block at most |
// | In, Hidden, Out | neurons of the inputs, of the hidden layer, of the outputs |
#pragma once

#include "heddle/kernels/mlp/cuda/resident_exchange.cuh"
#include "heddle/kernels/mlp/cuda/warps_tile.cuh"

namespace heddle::mlp {

template <int Block, int Rows, int In, int Hidden, int Out>
class WarpsTraining {
 public:
  using Tile = WarpsTile<Block, Rows, In, Hidden, Out>;
  using Exchange = ResidentExchange<Tile, 0>;
  static constexpr int kParameters = (In + 1) * Hidden + (Hidden + 1) * Out;

  /// Hands out the block's shared memory.
  struct Memory {
    ResidentMemory of_tile{};
    float *targets, *sums;

    __device__ __forceinline__ Memory() {
      constexpr WarpsShape<int> kSizes = Tile::kSizes;
      const WarpsPieces<int> of(kSizes, static_cast<int>(gridDim.x));
      SharedMemory shared;
      of_tile.rows = shared.take<float>(of.rows);
      of_tile.weights = shared.take<float>(of.weights);
      targets = shared.take<float>(of.targets);
      of_tile.workspace = shared.take<float>(of.workspace);
      sums = shared.take<float>(of.sums);
      of_tile.own = shared.take<float>(of.own);
      of_tile.losses = reinterpret_cast<double*>(shared.take<float>(of.losses));
      of_tile.verdict = reinterpret_cast<Verdict*>(shared.take<float>(of.verdict));
    }
  };

  __device__ __forceinline__ WarpsTraining(const Memory& memory, const ResidentBuffers& buffers, const Control& control)
      : sums_(memory.sums),
        tile_(memory.of_tile, memory.targets, control.hidden, control.output),
        exchange_(memory.of_tile, buffers, control, kParameters) {
    const int each = ceil_div(control.rows, static_cast<int>(gridDim.x)), first = static_cast<int>(blockIdx.x) * each;
    const auto from = static_cast<long long>(min(first, control.rows));
    tile_.fetch_rows(buffers.rows + from * In, buffers.targets + from * Out, max(0, min(each, control.rows - first)));
    exchange_.fetch(tile_);
    tile_.look_at_rows();
    element_ = exchange_.find_element(tile_, Tile::thread());
  }

  /// Writes what the block owns.
  __device__ __forceinline__ void store() const { exchange_.store(); }

  /// One step. Returns false if a block is lost; every thread of the block the same.
  __device__ __forceinline__ bool step() {
    constexpr int kLast = Tile::kPasses - 1;
    const bool counts = Tile::counts(), alone = gridDim.x == 1;
    exchange_.begin_step();
    if (counts) {
      exchange_.prepare_count();
    } else {
      tile_.begin();
#pragma unroll 1
      for (int pass = 0; pass < kLast; ++pass) {
        tile_.pass_rows(pass);
        tile_.add_gradient(pass);
      }
      tile_.pass_rows(kLast);
      tile_.tell_squares();
    }
    __syncthreads();
    bool met = true;
    double squares = 0.0;
    if (!counts) {
      tile_.add_gradient(kLast);
      tile_.leave_gradient();
    } else if (alone) {
      squares = tile_.block_squares();
      if (Tile::lane() == 0) squares = exchange_.decide_alone(squares);
    } else {
      exchange_.post_squares(Tile::lane(), tile_.block_squares());
    }
    __syncthreads();
    if (alone) {
      if (counts && Tile::lane() == 0) exchange_.end_count(squares);
      exchange_.learn_alone_apart(tile_, element_);
      __syncthreads();
      return true;
    }
    exchange_.post_parts_by_warps(tile_);
    met = counts ? exchange_.gather_prepared() : exchange_.gather_owned(sums_);
    __syncthreads();
    if (!counts) exchange_.learn_gathered(sums_);
    if (exchange_.changes()) met = exchange_.fetch_totals(tile_) && met;
    return __syncthreads_and(met ? 1 : 0) != 0;
  }

 private:
  float* sums_;
  Tile tile_;
  Exchange exchange_;
  typename Exchange::Element element_;  ///< the one that the thread changes, where the block is alone
};

/// At most `steps` steps; `errors`: of `slots` epochs.
template <int Block, int Rows, int In, int Hidden, int Out>
__global__ void __launch_bounds__(Block, 1)
    train_warps(const float* rows, const float* targets, float* parameters, float* state, float* gradient,
                const Control* control_at, const Progress* before, Progress* after, double* errors, Packet* packets,
                int steps, int slots) {
  using Training = WarpsTraining<Block, Rows, In, Hidden, Out>;
  const Control control = *control_at;
  const typename Training::Memory memory;
  const Progress& progress = memory.of_tile.verdict->progress;
  if (threadIdx.x == 0) memory.of_tile.verdict->progress = *before;
  __syncthreads();
  if (!goes_on(control, progress, 0, steps)) return;
  Training work(memory, {rows, targets, nullptr, parameters, state, gradient, errors, packets, nullptr, slots},
                control);
  train_to_end(work, control, progress, after, steps);
}

}  // namespace heddle::mlp
