// Online learning: all weights change after every row. One block does all steps of a run, with parameters, states and
// the next rows in shared memory: scheme = online. Formulas: docs/design.md, "Perceptrons".
//
// A step is, in this order, with a barrier after each phase:
//
// | phase | work |
// |---|---|
// | forward | for each layer; some neighbouring lanes share the addends of a neuron |
// | outputs | the first warp: errors, deltas, their squares |
// | backward | for each layer but the first, a thread for a neuron's delta. The last warp counts the step meanwhile |
// | learn | a thread for a parameter |
//
// | parameter | meaning |
// |---|---|
// | Block | threads, at least two warps |
// | Sizes | neurons of the inputs, of every hidden layer, of the outputs |
#pragma once

#include "heddle/kernels/common/copies.cuh"
#include "heddle/kernels/mlp/cuda/activations.cuh"
#include "heddle/kernels/mlp/cuda/learning.cuh"
#include "heddle/kernels/mlp/cuda/online_sizes.cuh"

namespace heddle::mlp {

/// The buffers of a plan.
struct OnlineBuffers {
  const float *rows, *targets;
  const int* order;
  float *parameters, *state, *gradient;
  double* errors;
  int slots;  ///< of `order` and `errors`
};

/// Rows in the order in which they are learnt, epoch after epoch without an end.
class RowsInTurn {
 public:
  __device__ __forceinline__ RowsInTurn(const Control& control, const Progress& progress, const int* order, int slots)
      : order_(control.shuffled != 0 ? order : nullptr),
        rows_(control.rows),
        slots_(slots),
        slot_((progress.epoch - control.first_epoch) % slots),
        position_(progress.position) {}

  __device__ __forceinline__ int next() {
    const int row = order_ != nullptr ? order_[static_cast<long long>(slot_) * rows_ + position_] : position_;
    if (++position_ == rows_) {
      position_ = 0;
      slot_ = slot_ + 1 == slots_ ? 0 : slot_ + 1;
    }
    return row;
  }

 private:
  const int* order_;
  int rows_, slots_, slot_, position_;
};

template <int Block, int... Sizes>
class OnlineTraining {
 public:
  static constexpr int kLayers = static_cast<int>(sizeof...(Sizes)) - 1;
  static constexpr OnlineShape<int> kShape{kLayers, {Sizes...}};
  static constexpr int kInputs = kShape.sizes[0], kOutputs = kShape.sizes[kLayers];
  static constexpr int kParameters = kShape.parameters(), kRow = kShape.row();

  /// What one thread finds out for the block.
  struct Verdict {
    Progress progress;
    Step step;
    int decision;
    float squares;  ///< of the row's errors
  };
  static_assert(sizeof(Verdict) <= 4 * OnlinePieces<int>(kShape).verdict, "OnlinePieces::verdict");

  __device__ __forceinline__ OnlineTraining(const Control& control, const Progress& progress,
                                            const OnlineBuffers& buffers)
      : control_(control), buffers_(buffers), turn_(control, progress, buffers.order, buffers.slots) {
    constexpr OnlinePieces<int> kPieces(kShape);
    SharedMemory shared;
    verdict_ = reinterpret_cast<Verdict*>(shared.take<float>(kPieces.verdict));
    parameters_ = shared.take<float>(kPieces.parameters);
    state_ = shared.take<float>(kPieces.state);
    rows_ = shared.take<float>(kPieces.rows);
    values_ = shared.take<float>(kPieces.values);
    deltas_ = shared.take<float>(kPieces.deltas);
    if (thread() == 0) verdict_->progress = progress;
  }

  [[nodiscard]] __device__ __forceinline__ const Progress& progress() const { return verdict_->progress; }

  /// Brings parameters and states on chip, and starts to fetch the first rows.
  __device__ __forceinline__ void fetch() {
    row_to_come_ = turn_.next();
#pragma unroll 1
    for (int i = 0; i + 1 < kRowsAhead; ++i) start_row();
    each_parameter<0>([&](int at, int to) {
      parameters_[to] = buffers_.parameters[at];
#pragma unroll
      for (int array = 0; array < kStateArrays; ++array) {
        if (has_state(control_, array)) state(array, to) = buffers_.state[array * kParameters + at];
      }
    });
    groups_arrived<kRowsAhead - 2>();
    __syncthreads();
  }

  /// Writes parameters and states, and the gradient of the last step.
  __device__ __forceinline__ void store() {
    each_parameter<0>([&](int at, int to) {
      buffers_.parameters[at] = parameters_[to];
#pragma unroll
      for (int array = 0; array < kStateArrays; ++array) {
        if (has_state(control_, array)) buffers_.state[array * kParameters + at] = state(array, to);
      }
    });
    --step_;
    write_gradient<0>();
    groups_arrived<0>();  // rows that nobody awaits
  }

  __device__ __forceinline__ void step() {
    start_row();
    forward<0>();
    if (warp() == 0) find_output_deltas();
    __syncthreads();
    backward<kLayers - 1>();
    learn_all<0>();
    groups_arrived<kRowsAhead - 2>();
    ++step_;
    __syncthreads();
  }

 private:
  static constexpr int kWarps = Block / kWarp;

  __device__ __forceinline__ static int thread() { return static_cast<int>(threadIdx.x); }
  __device__ __forceinline__ static int lane() { return thread() % kWarp; }
  __device__ __forceinline__ static int warp() { return thread() / kWarp; }

  __device__ __forceinline__ float& state(int array, int i) const { return state_[array * kParameters + i]; }
  __device__ __forceinline__ float* row() const { return rows_ + step_ % kRowsAhead * kRow; }
  template <int L>
  __device__ __forceinline__ float* values() const {
    if constexpr (L == 0) {
      return row();
    } else {
      constexpr int kAt = kShape.values_at(L);
      return values_ + kAt;
    }
  }
  /// Of the neurons whose values are values<L>().
  template <int L>
  __device__ __forceinline__ float* deltas() const {
    constexpr int kAt = kShape.values_at(L);
    return deltas_ + kAt;
  }
  template <int L>
  __device__ __forceinline__ float* weights() const {
    constexpr int kAt = kShape.parameters_at(L);
    return parameters_ + kAt;
  }

  /// Calls use(place in the layout of Layers, place here) for this thread's parameters of layers L and beyond.
  template <int L, class Use>
  __device__ __forceinline__ void each_parameter(const Use& use) const {
    constexpr int kIn = kShape.sizes[L], kOut = kShape.sizes[L + 1], kColumns = kIn + 1;
    constexpr int kAt = kShape.parameters_at(L);
#pragma unroll 1
    for (int i = thread(); i < kColumns * kOut; i += Block) {
      const int neuron = i / kColumns, column = i % kColumns;
      use(kAt + (column < kIn ? neuron * kIn + column : kIn * kOut + neuron), kAt + i);
    }
    if constexpr (L + 1 < kLayers) each_parameter<L + 1>(use);
  }

  /// The row after all that are under way, and the number of the one after it, which a later step awaits.
  __device__ __forceinline__ void start_row() {
    float* const to = rows_ + started_ % kRowsAhead * kRow;
    const float* const from = buffers_.rows + static_cast<long long>(row_to_come_) * kInputs;
    const float* const targets = buffers_.targets + static_cast<long long>(row_to_come_) * kOutputs;
    for (int i = thread(); i < kInputs; i += Block) start_grouped_copy(to + i, from + i);
    for (int i = thread(); i < kOutputs; i += Block) start_grouped_copy(to + kInputs + i, targets + i);
    end_group();
    ++started_;
    row_to_come_ = turn_.next();
  }

  /// Lanes that share the addends of a neuron: as many as there are threads for, up to half of the addends.
  template <int L>
  static constexpr int lanes_of_neuron() {
    int lanes = 1;
    while (lanes < kWarp && 2 * lanes * kShape.sizes[L + 1] <= Block && 4 * lanes <= kShape.sizes[L] + 1) lanes *= 2;
    return lanes;
  }

  /// Values of layer L + 1; of the outputs their sums.
  template <int L>
  __device__ __forceinline__ void forward() {
    constexpr int kIn = kShape.sizes[L], kOut = kShape.sizes[L + 1], kColumns = kIn + 1;
    constexpr int kLanes = lanes_of_neuron<L>();
    const int share = thread() % kLanes;
#pragma unroll 1
    for (int base = 0; base < kOut; base += Block / kLanes) {
      const int neuron = base + thread() / kLanes;
      float sum = 0.0f;
      if (neuron < kOut) {
        const float* const own = weights<L>() + neuron * kColumns;
        if (share == 0) sum = own[kIn];
#pragma unroll 8
        for (int i = share; i < kIn; i += kLanes) sum += own[i] * values<L>()[i];
      }
      sum = sum_over_lanes<kLanes>(sum);
      if (neuron < kOut && share == 0) {
        values<L + 1>()[neuron] = L + 1 < kLayers ? activate(control_.hidden, sum) : sum;
      }
    }
    __syncthreads();
    if constexpr (L + 1 < kLayers) forward<L + 1>();
  }

  /// One warp.
  __device__ __forceinline__ void find_output_deltas() const {
    float* const own = values<kLayers>();
    finish_outputs(control_.output, kOutputs, own, static_cast<int>(threadIdx.x) % kWarp, kWarp);
    float squares = 0.0f;
    for (int k = lane(); k < kOutputs; k += kWarp) {
      const float value = own[k], error = value - row()[kInputs + k];
      squares += error * error;
      deltas<kLayers>()[k] = error * slope(control_.output, value);
    }
    squares = sum_over_lanes<kWarp>(squares);
    if (lane() == 0) verdict_->squares = squares;
  }

  /// One thread: counts the step.
  __device__ __forceinline__ void decide() const {
    Verdict& verdict = *verdict_;
    Progress progress = verdict.progress;  // in registers while it is counted
    verdict.decision =
        count_step(control_, kOutputs, static_cast<double>(verdict.squares), progress, buffers_.errors, buffers_.slots);
    verdict.step = step_of(control_, progress, 1);
    verdict.progress = progress;
  }

  /// Deltas of the layers before layer L.
  template <int L>
  __device__ __forceinline__ void backward() const {
    constexpr bool kCounts = L + 1 == kLayers;
    if (kCounts && warp() == kWarps - 1) {
      if (lane() == 0) decide();
    } else if constexpr (L > 0) {
      constexpr int kIn = kShape.sizes[L], kOut = kShape.sizes[L + 1], kColumns = kIn + 1;
#pragma unroll 1
      for (int i = thread(); i < kIn; i += kCounts ? Block - kWarp : Block) {
        float sum = 0.0f;
#pragma unroll 8
        for (int k = 0; k < kOut; ++k) sum += weights<L>()[k * kColumns + i] * deltas<L + 1>()[k];
        deltas<L>()[i] = sum * slope(control_.hidden, values<L>()[i]);
      }
    }
    __syncthreads();
    if constexpr (L > 1) backward<L - 1>();
  }

  template <int L>
  __device__ __forceinline__ float gradient_of(int i) const {
    constexpr int kIn = kShape.sizes[L], kColumns = kIn + 1;
    const int neuron = i / kColumns, column = i % kColumns;
    const float delta = deltas<L + 1>()[neuron];
    return column < kIn ? delta * values<L>()[column] : delta;
  }

  template <int L>
  __device__ __forceinline__ void learn_all() const {
    constexpr int kAt = kShape.parameters_at(L), kCount = kShape.columns(L) * kShape.sizes[L + 1];
    const Step step = verdict_->step;
    const int decision = verdict_->decision;
#pragma unroll 1
    for (int i = thread(); i < kCount; i += Block) {
      change_parameter(control_, step, decision, gradient_of<L>(i) * step.gradient_factor, parameters_[kAt + i],
                       [&](int array) -> float& { return state(array, kAt + i); });
    }
    if constexpr (L + 1 < kLayers) learn_all<L + 1>();
  }

  template <int L>
  __device__ __forceinline__ void write_gradient() const {
    constexpr int kIn = kShape.sizes[L], kOut = kShape.sizes[L + 1], kColumns = kIn + 1;
    constexpr int kAt = kShape.parameters_at(L);
#pragma unroll 1
    for (int i = thread(); i < kColumns * kOut; i += Block) {
      const int neuron = i / kColumns, column = i % kColumns;
      buffers_.gradient[kAt + (column < kIn ? neuron * kIn + column : kIn * kOut + neuron)] =
          gradient_of<L>(i) * verdict_->step.gradient_factor;
    }
    if constexpr (L + 1 < kLayers) write_gradient<L + 1>();
  }

  const Control control_;
  const OnlineBuffers buffers_;
  RowsInTurn turn_;
  Verdict* verdict_;
  float *parameters_, *state_, *rows_, *values_, *deltas_;
  int row_to_come_ = 0;
  unsigned step_ = 0, started_ = 0;
};

/// At most `steps` steps of one row each. One block.
template <int Block, int... Sizes>
__global__ void __launch_bounds__(Block, 1)
    train_online(const float* rows, const float* targets, const int* order, float* parameters, float* state,
                 float* gradient, const Control* control_at, Progress* progress, double* errors, int steps, int slots) {
  const Control control = *control_at;
  const Progress before = *progress;
  if (!goes_on(control, before, 0, steps)) return;
  OnlineTraining<Block, Sizes...> work(control, before,
                                       OnlineBuffers{rows, targets, order, parameters, state, gradient, errors, slots});
  work.fetch();
#pragma unroll 1
  for (int done = 0; goes_on(control, work.progress(), done, steps); ++done) work.step();
  work.store();
  if (threadIdx.x == 0) *progress = work.progress();
}

}  // namespace heddle::mlp
