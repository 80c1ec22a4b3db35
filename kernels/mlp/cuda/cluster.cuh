// All steps of a run in one launch whose blocks run at the same time, where all rows are learnt at once and are bytes:
// scheme = cluster. Formulas: docs/design.md, "Perceptrons".
//
// The blocks of a cluster divide the inputs of the first layer among them: each has its part of the inputs of all rows
// of the cluster, as bytes, and the weights of these inputs alone. So it also sends and gets that part of the
// parameters only. Of the other layers each block has all weights, and some of the cluster's rows. A step is, in this
// order:
//
// | phase | work |
// |---|---|
// | first layer | all blocks: their part of the sums of the cluster's rows; then those of its own rows from all |
// | other layers | values, errors, whose squares go to all blocks; deltas of the first layer, from all of the cluster |
// | gradient | of the block's part of the first layer, over the cluster's rows; of the other layers, over its own |
// | gather | blocks own parameters: they get the parts of their gradients, and add them up in the order of the blocks |
// | learn | owners change their parameters, and send them to the blocks that have them |
//
// Blocks of a cluster load from each other's shared memory, all others send packets.
//
// Where the rows do not fit on chip, a step has several passes over tiles of them, which add up their gradients. The
// first layer's gradient of the passes so far is in global memory: it takes less time than rows that do not fit beside
// it. Two passes are under way at a time, in slots: slot s exchanges the sums of pass s and the deltas of pass s - 1
// within the cluster. Half of the warps have the first layer, the others have the other layers, and they meet twice in
// a slot, together with those of the other blocks:
//
// | first layer | other layers |
// |---|---|
// | sums of pass s; they were found while the other layers had pass s - 1 | |
// | barrier of the cluster: sums and deltas are there | meanwhile: gradient of pass s - 1 |
// | deltas of pass s - 1, made digits | values of pass s |
// | second barrier: what all have loaded may change. All arrive now, and wait when they have something to change | |
// | gradient of pass s - 1; rows of pass s + 1 come where those of pass s - 1 were, in two parts | forward, errors |
// | wait; sums of pass s + 1 | wait; deltas of pass s, and the largest ones |
//
// The first and the last slot have one pass each. With one pass there are these two slots alone, and all warps do both
// halves, one after the other.
//
// A block that has a number that is no byte multiplies float32 numbers in global memory instead, which is slow.
//
// | parameter | meaning |
// |---|---|
// | Block  | threads, at least two warps |
// | Blocks | of the grid |
// | Parts  | blocks of a cluster, an even number |
// | Tile   | rows of a block in a pass at most; those of a cluster are whole chunks of 32 |
// | Passes | over the rows; with one they stay on chip |
// | In, Hidden, Rest | neurons of the inputs, of the first hidden layer, of the layers behind it |
#pragma once

#include "heddle/kernels/common/barriers.cuh"
#include "heddle/kernels/mlp/cuda/cluster_exchange.cuh"
#include "heddle/kernels/mlp/cuda/cluster_layer.cuh"
#include "heddle/kernels/mlp/cuda/resident_exchange.cuh"

namespace heddle::mlp {

#if __CUDA_ARCH__ >= 900

/// The layers behind the first one. The gradient of several passes is added up in memory of its own.
template <int Passes, class Tile>
class ClusterUpper : public Tile {
 public:
  __device__ __forceinline__ ClusterUpper(const ResidentMemory& memory, int hidden, float* sums)
      : Tile(memory, memory.rows, hidden), sums_(sums) {}

  /// Adds that of a pass to the block's part of the gradient.
  __device__ __forceinline__ void add_gradient(int pass) {
    if constexpr (Passes == 1) {
      Tile::template find_gradient_by<0, Tile::kWarps, Tile::kTile>(
          Tile::warp(), false, [&](auto layer, int share) { return this->gradient_of(layer, share); });
    } else {
      Tile::template find_gradient_by<0, Tile::kWarps, kPassShares>(
          Tile::warp(), pass > 0, [&](auto layer, int share) { return shares(layer, share); });
    }
  }
  /// An element of the block's part of the gradient of all passes.
  template <int L>
  __device__ __forceinline__ float part(Constant<L> layer, int neuron, int column) const {
    if constexpr (Passes == 1) return Tile::part(layer, neuron, column);
    return Tile::template sum_of_shares<kPassShares>(layer, shares(layer, 0), neuron, column);
  }

 private:
  template <int L>
  __device__ __forceinline__ float* shares(Constant<L>, int share) const {
    constexpr int kAt = Tile::kShape.shares_at(L, kPassShares), kWords = Tile::kShape.weight_words(L);
    return sums_ + kAt + share * kWords;
  }

  float* sums_;
};

template <int Block, int Blocks, int Parts, int Tile, int Passes, int In, int Hidden, int... Rest>
class ClusterTraining {
 public:
  static constexpr int kWarps = Block / kWarp, kUpperWarps = upper_warps(kWarps, Passes);
  static constexpr int kFirstWarps = first_warps(kWarps, Passes);
  /// Those who have the first layer, and the other layers; with one pass all have both.
  using FirstTeam = Team<kFirstWarps * kWarp, 0, (Passes > 1 ? 1 : 0)>;
  using UpperTeam = Team<kUpperWarps * kWarp, (kWarps - kUpperWarps) * kWarp, (Passes > 1 ? 2 : 0)>;
  using First = ClusterLayer<Block, Blocks, Parts, Tile, Passes, In, Hidden>;
  using Upper = ClusterUpper<Passes, ResidentTile<UpperTeam, round_up(Tile, kTileRows), kRowsShared, Hidden, Rest...>>;
  static constexpr int kOutputs = Upper::kOutputs, kFirstParameters = (In + 1) * Hidden;
  using Exchange = ResidentExchange<Upper, kFirstParameters>;
  static constexpr int kUpperPackets = Upper::kShape.packets(), kFirstPackets = First::kShape.packets_each();

  /// Hands out the block's shared memory.
  struct Memory {
    ClusterMemory first;
    ResidentMemory upper;

    __device__ __forceinline__ Memory() {
      constexpr ClusterPieces<int> kPieces(First::kShape, Upper::kShape);
      SharedMemory shared;
      first = ClusterMemory(shared, kPieces);
      upper = ResidentMemory(shared, kPieces.others);
      if (kPieces.others.workspace == 0) upper.workspace = first.weight_floats;
    }
  };

  __device__ __forceinline__ ClusterTraining(const Memory& memory, const ResidentBuffers& buffers,
                                             const Control& control)
      : memory_(memory),
        buffers_(buffers),
        control_(control),
        first_(memory.first, buffers.rows, buffers.padded, control),
        first_exchange_(memory.first.own, buffers, control, buffers.packets + kAtFirst, parameters()),
        upper_(memory.upper, control.hidden, memory.first.upper_sums),
        exchange_(memory.upper, buffers, control, parameters()) {
    const int each = ceil_div(control.rows, Blocks);
    first_row_ = static_cast<int>(blockIdx.x) * each;
    all_rows_ = max(0, min(each, control.rows - first_row_));
  }

  /// Brings rows, weights, states and targets on chip.
  __device__ __forceinline__ void fetch() {
    first_.open();
    first_.fetch_rows();
    Mailbox::publish();
    for (int i = thread(); i < Upper::kTile * Upper::kRowPitch; i += Block) {
      upper_.rows()[i] = i % Upper::kRowPitch == Hidden ? 1.0f : 0.0f;  // that of the biases
    }
    if (has_upper()) exchange_.fetch(upper_);
    first_exchange_.fetch();
    __syncthreads();
    if (Passes > 1 && thread() == 0) start_rows(0);
    if (has_upper()) start_targets(0);
    first_.leave_all_weights([&](int neuron, int quad) { return first_exchange_.first_weights(neuron, quad); });
    rows_arrived();
    cluster_barrier();
  }
  __device__ __forceinline__ void store() const {
    first_exchange_.store();
    if (has_upper()) exchange_.store();
  }

  /// One step. Returns false if a block is lost; every thread of the block the same.
  __device__ __forceinline__ bool step() {
    exchange_.begin_step();
    bool met = true;
#pragma unroll(kUnrolledSlots)
    for (int slot = 0; slot <= Passes; ++slot) {
      const bool last = slot == Passes, begins = !last, ends = slot > 0;  // pass `slot` begins, the one before ends
      const int warps = slot == 0 || last ? kWarps : kFirstWarps;         // of the first layer
      if (begins && (has_first() || slot == 0)) first_.find_sums(warps, slot, round_ + slot);
      cluster_arrive();
      if (ends && has_upper()) upper_.add_gradient(slot - 1);
      cluster_wait();
      if (begins && has_upper()) {
        if (Passes > 1) UpperTeam::sync();  // the values that the gradient is of are free
        first_.template find_values<UpperTeam>(upper_.rows(), Upper::kRowPitch);
        if (Passes > 1) copies_arrived();  // targets
      }
      if (ends && has_first()) first_.template divide_deltas<FirstTeam>();
      if (last) {
        __syncthreads();
        // The last warp counts the step, those with less of the gradient post that of the other layers.
        if (warp() == kTakers) {
          met = exchange_.gather_squares();
        } else if (warp() >= kPosting) {
          exchange_.template post_parts_by<(kTakers - kPosting) * kWarp>(upper_, thread() - kPosting * kWarp);
        }
      } else if (has_upper()) {
        UpperTeam::sync();
        if (Passes > 1) cluster_arrive_after_loads();
        pass_rows(slot);
      } else {
        FirstTeam::sync();
        cluster_arrive_after_loads();
      }
      if (ends && (has_first() || last)) {
        first_.find_gradient(
            warps, slot - 1, is_even(slot - 1),
            [&] {
              if (!last) change_rows(true, slot);
            },
            [&](int neuron, int quad, const Pack<kQuad>& gradient) {
              first_exchange_.post_part(neuron, quad, gradient, exchange_.stamp());
            });
      }
      if (Passes > 1 && begins && has_first()) {
        if (!ends) change_rows(true, slot);
        change_rows(false, slot);
        others_have_loaded();
        if (slot + 1 < Passes) first_.await_rows(true, round_ + slot + 1);
      }
    }
    __syncthreads();  // the step is counted; workspace and weights are free
    met = learn() && met;
    round_ += Passes;
    if (Passes > 1) rows_arrived();
    met = __syncthreads_and(met ? 1 : 0) != 0;
    return met;
  }

 private:
  static constexpr int kAtFirst = ResidentPackets<int>{Blocks, kUpperPackets}.count();
  /// Threads that fetch new weights of the other layers, while the others fetch those of the first one.
  static constexpr int kUpperThreads =
      smaller(round_up(ceil_div(Block * kUpperPackets, kUpperPackets + kFirstPackets), kWarp), Block - kWarp);
  static constexpr int kFirstThreads = Block - kUpperThreads;
  static constexpr int kUnrolledSlots = Passes == 1 ? 2 : 1;
  static constexpr int kTakers = kWarps - 1;  ///< all warps but the last one
  static constexpr int kPosting = First::kLessBusy < kTakers ? First::kLessBusy : 0;

  __device__ __forceinline__ static int thread() { return static_cast<int>(threadIdx.x); }
  __device__ __forceinline__ static int warp() { return thread() / kWarp; }
  __device__ __forceinline__ static bool has_first() { return Passes == 1 || warp() < kFirstWarps; }
  __device__ __forceinline__ static bool has_upper() { return Passes == 1 || warp() >= kFirstWarps; }
  static constexpr int parameters() {
    constexpr ResidentShape<int> kShape = Upper::kShape;
    int all = kFirstParameters;
    for (int l = 0; l < kShape.count; ++l) all += (kShape.in(l) + 1) * kShape.out(l);
    return all;
  }

  /// The block's rows of a pass.
  __device__ __forceinline__ int rows_of(int pass) const { return max(0, min(Tile, all_rows_ - pass * Tile)); }
  /// Which pass comes next.
  __device__ __forceinline__ static int after(int pass) { return pass + 1 == Passes ? 0 : pass + 1; }
  /// Whether a pass of this step is an even one of all steps.
  __device__ __forceinline__ bool is_even(int pass) const { return Passes == 1 || (round_ + pass) % 2 == 0; }
  /// Those who have the other layers: start to bring the targets of a pass on chip. copies_arrived(), and a barrier,
  /// have to follow.
  __device__ __forceinline__ void start_targets(int pass) const {
    const float* const from = buffers_.targets + (static_cast<long long>(first_row_) + pass * Tile) * kOutputs;
    for (int i = UpperTeam::thread(); i < rows_of(pass) * kOutputs; i += UpperTeam::kThreads) {
      start_copy(memory_.first.targets + i, from + i);
    }
  }
  __device__ __forceinline__ void rows_arrived() const {
    copies_arrived();
    if (Passes == 1) return;
    first_.await_rows(true, round_);
    first_.await_rows(false, round_);
  }

  /// All blocks of the cluster have loaded what they need of a slot: it may change.
  __device__ __forceinline__ static void others_have_loaded() { cluster_wait(); }

  /// Those who have the other layers: forward and back, of the block's rows.
  __device__ __forceinline__ void pass_rows(int pass) {
    upper_.template forward<0>();
    const float* const targets = memory_.first.targets;
    double& squares = memory_.upper.losses[Upper::warp()];  // of the passes so far
    // find_deltas() lets lane 0 of a warp write this sum. No barrier comes before that: no other lane may read it here.
    const bool counts = threadIdx.x % kWarp == 0;
    const double before = counts && pass > 0 ? squares : 0.0;
    upper_.find_deltas(control_.output, rows_of(pass), [&](int row) { return targets + row * kOutputs; });
    if (Passes > 1 && counts) squares += before;
    UpperTeam::sync();
    if (Passes > 1) start_targets(after(pass));
    if (pass + 1 == Passes) exchange_.post_squares();
    upper_.template backward<Upper::kLayers - 1>();
    if (Passes > 1) others_have_loaded();
    upper_.backward_to_inputs([&](int row, int neuron, const auto& found) { first_.leave_deltas(row, neuron, found); });
    UpperTeam::sync();
    first_.template find_largest_deltas<UpperTeam>();
  }
  /// One thread: both parts of the rows of a pass.
  __device__ __forceinline__ void start_rows(int pass) const {
    first_.start_rows(true, pass, is_even(pass));
    first_.start_rows(false, pass, is_even(pass));
  }
  /// Those who have the first layer: a part of the rows of the next pass comes where that of the one before was.
  __device__ __forceinline__ void change_rows(bool early, int pass) const {
    FirstTeam::sync();  // whose gradient has been found
    if (FirstTeam::thread() == 0) first_.start_rows(early, after(pass), is_even(pass + 1));
  }
  __device__ __forceinline__ bool learn() const {
    const Verdict& verdict = *memory_.upper.verdict;
    bool met = first_exchange_.learn_owned(exchange_.stamp(), verdict.step, verdict.decision);
    if (has_upper()) met = exchange_.learn_owned() && met;
    if (ceil_div(kUpperPackets, Blocks) > Exchange::kFewOwned) __syncthreads();  // its owners work in the workspace
    if (!exchange_.changes()) return met;
    if (thread() >= kFirstThreads) {
      return exchange_.template fetch_by<kUpperThreads>(upper_, thread() - kFirstThreads) && met;
    }
    return first_exchange_.template fetch_totals<kFirstThreads / kWarp, First::kLaneQuads>(
               exchange_.stamp(),
               [&](int neuron, const Pack<kQuad>(&weights)[First::kLaneQuads]) {
                 first_.leave_weights(neuron, weights);
               }) &&
           met;
  }

  const Memory memory_;
  const ResidentBuffers buffers_;
  const Control& control_;
  First first_;
  ClusterExchange<Block, Blocks, Parts, In, Hidden> first_exchange_;
  Upper upper_;
  Exchange exchange_;
  int first_row_, all_rows_;  ///< of the block
  int round_ = 0;             ///< passes of the steps before
};

/// At most `steps` steps; `errors`: of `slots` epochs.
template <int Block, int Blocks, int Parts, int Tile, int Passes, int In, int Hidden, int... Rest>
__global__ void __launch_bounds__(Block, 1)
    train_cluster(const float* rows, const float* targets, float* parameters, float* state, float* gradient,
                  const Control* control_at, const Progress* before, Progress* after, double* errors, Packet* packets,
                  float* padded, int steps, int slots) {
  using Training = ClusterTraining<Block, Blocks, Parts, Tile, Passes, In, Hidden, Rest...>;
  const typename Training::Memory memory;
  Progress& progress = memory.upper.verdict->progress;
  if (threadIdx.x == 0) {
    progress = *before;
    *memory.first.control = *control_at;
  }
  __syncthreads();
  const Control& control = *memory.first.control;
  if (!goes_on(control, progress, 0, steps)) return;
  Training work(memory, {rows, targets, nullptr, parameters, state, gradient, errors, packets, padded, slots}, control);
  work.fetch();
  train_to_end(work, control, progress, after, steps);
  cluster_barrier();  // no block ends while others may still write to its memory
}

#endif

}  // namespace heddle::mlp
