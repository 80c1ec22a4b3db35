// Mini-batches of a network whose first layer fits into no block: scheme = spread. All steps of a run in one launch,
// whose blocks run at the same time. Formulas: docs/design.md, "Perceptrons".
//
// The weights of the first layer are divided among the blocks, by inputs and by neurons; their owners never send them
// to anybody. Every block also has all weights of the other layers, and some of the rows of a step for them. A step is,
// in this order:
//
// 1. First layer: every block finds its part of its neurons' sums, for all rows, and sends them to the blocks that have
//    the rows.
// 2. Other layers, in the blocks with rows: some threads await the sums, the others the new weights of the step before.
//    Values, errors, whose squares go to all, and deltas; those of the first layer's neurons go to the blocks that have
//    the neurons. Gradients of the other layers go to the owners.
// 3. Deltas: all blocks await those of their neurons. The rows of the next step start to arrive, and the last warp
//    counts the step.
// 4. Gradients of the first layer, in all blocks. Owners of the other layers' weights change them meanwhile, and send
//    them to all.
// 5. The first layer learns.
//
// Three waits for other blocks are in the way of a step: for the sums, for the deltas, and for the new weights, which
// are under way while the next step's sums are.
//
// | parameter | meaning |
// |---|---|
// | Block  | threads, at least two warps |
// | Blocks | of the grid |
// | Parts  | of the inputs |
// | Rows   | of a step at most |
// | In, Hidden, Rest | neurons of the inputs, of the first hidden layer, of the layers behind it |
#pragma once

#include "heddle/kernels/mlp/cuda/resident_exchange.cuh"
#include "heddle/kernels/mlp/cuda/spread_layer.cuh"

namespace heddle::mlp {

template <int Block, int Blocks, int Parts, int Rows, int In, int Hidden, int... Rest>
class SpreadTraining {
 public:
  using First = SpreadLayer<Block, Blocks, Parts, Rows, In, Hidden>;
  static constexpr int kOthers = Block - kWarp;  ///< threads that do not count the step
  using Upper = ResidentTile<Team<Block>, First::kShape.upper_tile(), kRowsShared, Hidden, Rest...>;
  static constexpr int kOutputs = Upper::kOutputs, kFirstParameters = (In + 1) * Hidden;
  using Exchange = ResidentExchange<Upper, kFirstParameters>;
  /// Whether owners learn while the gradient of the first layer is found: those that need no workspace.
  static constexpr bool kLearnBeside = ceil_div(Upper::kShape.packets(), Blocks) <= Exchange::kFewOwned;
  static constexpr SpreadPieces<int> kPieces{First::kShape, Upper::kShape};

  /// Hands out the block's shared memory.
  struct Memory {
    ResidentMemory first, upper;
    float *to_inputs, *targets;

    __device__ __forceinline__ Memory() {
      SharedMemory shared;
      first.rows = shared.take<float>(2 * kPieces.rows);
      first.weights = shared.take<float>(kPieces.weights);
      first.deltas = shared.take<float>(kPieces.deltas);
      first.own = shared.take<float>(kPieces.own);
      to_inputs = shared.take<float>(kPieces.to_inputs);
      targets = shared.take<float>(2 * kPieces.targets);
      ResidentPieces<int> of_upper(Upper::kShape, kRowsShared, Blocks);
      of_upper.workspace = kPieces.workspace;
      upper = ResidentMemory(shared, of_upper);
      first.workspace = upper.workspace;  // never needed at the same time
    }
  };

  __device__ __forceinline__ SpreadTraining(const Memory& memory, const ResidentBuffers& buffers,
                                            const Control& control)
      : memory_(memory),
        buffers_(buffers),
        control_(control),
        first_(memory.first, buffers, control,
               buffers.packets + ResidentPackets<int>{Blocks, Upper::kShape.packets()}.count(), parameters()),
        upper_(memory.upper, memory.upper.rows, control.hidden),
        exchange_(memory.upper, buffers, control, parameters()) {}

  /// Brings weights, states and the first step's rows on chip.
  __device__ __forceinline__ void fetch() {
    for (int i = thread(); i < Upper::kTile * Upper::kRowPitch; i += Block) {
      upper_.rows()[i] = i % Upper::kRowPitch == Hidden ? 1.0f : 0.0f;  // that of the biases
    }
    first_.fetch();
    exchange_.fetch(upper_);
    if (warp() < Upper::kWarps - 1) start_rows(memory_.upper.verdict->progress, true);
    copies_arrived();
    __syncthreads();
  }
  __device__ __forceinline__ void store() const {
    first_.store();
    exchange_.store();
  }

  /// One step. Returns false if a block is lost; every thread of the block the same.
  __device__ __forceinline__ bool step() {
    exchange_.begin_step();
    const Progress now = memory_.upper.verdict->progress;
    const int rows = rows_of_step(control_, now);
    const Share share(rows);
    exchange_.share_among(share.blocks);
    first_.use_rows(even_);
    first_.forward(rows, exchange_.stamp());
    bool met = true;
    if (share.count > 0) {
      met = pass_rows(share);
    } else {
      __syncthreads();  // the sums are read before deltas take their place
    }
    // The last warp counts the step while the others await the deltas, whose way is long enough to ask for rows.
    if (warp() == Upper::kWarps - 1) {
      met = exchange_.gather_squares() && met;
    } else {
      start_rows(after(now, rows), !even_);
      met = first_.template await_deltas<kOthers>(rows, exchange_.stamp()) && met;
    }
    __syncthreads();
    first_.find_gradient();
    if constexpr (kLearnBeside) met = exchange_.learn_owned() && met;
    __syncthreads();
    first_.learn(memory_.upper.verdict->step, memory_.upper.verdict->decision);
    if constexpr (!kLearnBeside) {
      __syncthreads();  // the workspace is free
      met = exchange_.learn_owned() && met;
    }
    learnt_ = exchange_.changes();
    even_ = !even_;
    copies_arrived();
    return __syncthreads_and(met ? 1 : 0) != 0;
  }

 private:
  /// The rows of a step whose other layers a block has, and how many blocks have some.
  struct Share {
    int first, count, blocks;
    __device__ __forceinline__ explicit Share(int rows) {
      const int each = ceil_div(rows, Blocks);
      blocks = ceil_div(rows, each);
      first = static_cast<int>(blockIdx.x) * each;
      count = max(0, min(each, rows - first));
    }
  };
  __device__ __forceinline__ static int thread() { return Upper::thread(); }
  __device__ __forceinline__ static int warp() { return Upper::warp(); }
  static constexpr int parameters() {
    constexpr ResidentShape<int> kShape = Upper::kShape;
    int all = kFirstParameters;
    for (int l = 0; l < kShape.count; ++l) all += (kShape.in(l) + 1) * kShape.out(l);
    return all;
  }
  /// Where the step after one of `rows` rows begins.
  __device__ __forceinline__ Progress after(Progress at, int rows) const {
    at.position += rows;
    if (at.position >= control_.rows) {
      at.position = 0;
      ++at.epoch;
    }
    return at;
  }

  /// All rows of the step at `at` for the first layer, and the targets of the block's own. All warps but the last.
  __device__ __forceinline__ void start_rows(const Progress& at, bool even) const {
    const int rows = rows_of_step(control_, at);
    const Share share(rows);
    first_.start_rows(at, rows, even);
    const int slot = (at.epoch - control_.first_epoch) % buffers_.slots;
    const int* const order = buffers_.order + static_cast<long long>(slot) * control_.rows + at.position;
    for (int i = thread(); i < share.count * kOutputs; i += kOthers) {
      const int row = share.first + i / kOutputs, place = control_.shuffled != 0 ? order[row] : at.position + row;
      start_copy(targets_of(even) + i, buffers_.targets + static_cast<long long>(place) * kOutputs + i % kOutputs);
    }
  }
  __device__ __forceinline__ float* targets_of(bool even) const {
    return memory_.targets + (even ? 0 : kPieces.targets);
  }

  /// The other layers of the block's rows, forward and back, and its part of their gradients. The whole block calls it.
  __device__ __forceinline__ bool pass_rows(const Share& share) {
    // Some threads await the values of the first layer while the others fetch the new weights.
    constexpr int kAwait = smaller(round_up(First::kOfRow, kWarp), Block / 2), kFetch = Block - kAwait;
    bool met = true;
    if (thread() < kAwait) {
      met = first_.template await_values<kAwait>(share.first, share.count, exchange_.stamp(), upper_.rows(),
                                                 Upper::kRowPitch);
    } else if (learnt_) {
      met = exchange_.template fetch_by<kFetch>(upper_, thread() - kAwait, 1);
    }
    __syncthreads();
    upper_.template forward<0>();
    const float* const targets = targets_of(even_);
    upper_.find_deltas(control_.output, share.count, [&](int row) { return targets + row * kOutputs; });
    __syncthreads();
    // The last warp has least to do.
    if (warp() == Upper::kWarps - 1) exchange_.post_squares(Upper::lane());
    upper_.template backward<Upper::kLayers - 1>();
    upper_.backward_to_inputs([&](int row, int neuron, const auto& found) {
      heddle::store(memory_.to_inputs + row * Upper::kRowPitch + neuron, found);
    });
    __syncthreads();
    first_.post_deltas(share.first, share.count, exchange_.stamp(), memory_.to_inputs, Upper::kRowPitch);
    if (warp() < Upper::kShape.gradient_warps()) upper_.template find_gradient<0>();
    __syncthreads();
    exchange_.post_parts(upper_);
    return met;
  }

  const Memory memory_;
  const ResidentBuffers buffers_;
  const Control control_;
  First first_;
  Upper upper_;
  Exchange exchange_;
  bool even_ = true, learnt_ = false;
};

/// At most `steps` steps; `order` and `errors`: of `slots` epochs.
template <int Block, int Blocks, int Parts, int Rows, int In, int Hidden, int... Rest>
__global__ void __launch_bounds__(Block, 1)
    train_spread(const float* rows, const float* targets, const int* order, float* parameters, float* state,
                 float* gradient, const Control* control_at, const Progress* before, Progress* after, double* errors,
                 Packet* packets, int steps, int slots) {
  using Training = SpreadTraining<Block, Blocks, Parts, Rows, In, Hidden, Rest...>;
  const Control control = *control_at;
  const typename Training::Memory memory;
  const Progress& progress = memory.upper.verdict->progress;
  if (threadIdx.x == 0) memory.upper.verdict->progress = *before;
  __syncthreads();
  if (!goes_on(control, progress, 0, steps)) return;
  Training work(memory, {rows, targets, order, parameters, state, gradient, errors, packets, nullptr, slots}, control);
  work.fetch();
  train_to_end(work, control, progress, after, steps);
}

}  // namespace heddle::mlp
