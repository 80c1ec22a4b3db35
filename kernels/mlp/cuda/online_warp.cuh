// Online learning by one warp, without a barrier: scheme = online with 32 threads. For networks with one hidden layer
// that is so small that parameters and states fit into the registers of 32 lanes. Formulas: docs/design.md,
// "Perceptrons".
//
// A row takes as long as its chain of instructions that wait for each other, so that chain is all that is left of a
// row: sums of the inputs over the lanes of a neuron, the neuron, sums over the neurons, the outputs, deltas, learning.
// Every lane finds the outputs. All else is done for a chunk of up to 32 rows: rows arrive while the chunk before is
// learnt, lane i finds what all weights share in the step of row i, and steps are counted at the end. A chunk ends
// where an epoch does. With robust training it has one row, because each decides about the next.
//
// | parameter | meaning |
// |---|---|
// | In, Hidden, Out | neurons of the inputs, of the hidden layer, of the outputs |
#pragma once

#include "heddle/kernels/common/copies.cuh"
#include "heddle/kernels/mlp/cuda/activations.cuh"
#include "heddle/kernels/mlp/cuda/learning.cuh"
#include "heddle/kernels/mlp/cuda/online.cuh"
#include "heddle/kernels/mlp/cuda/online_warp_sizes.cuh"

namespace heddle::mlp {

/// Count numbers, each with the states that rule R has.
template <int R, int Count>
struct WithStates {
  static constexpr int kStates = R == kPlain ? 0 : R == kAdaptive ? 3 : 2;
  float value[Count], state[Count][kStates == 0 ? 1 : kStates];
};

template <int R, int In, int Hidden, int Out>
class OnlineWarp {
 public:
  static constexpr OnlineWarpShape<int> kShape{In, Hidden, Out};

  __device__ __forceinline__ OnlineWarp(const Control& control, const Progress& progress, const OnlineBuffers& buffers,
                                        int steps)
      : control_(control), progress_(progress), buffers_(buffers), steps_(min(steps, control.steps)) {
    SharedMemory shared;
    rows_ = shared.take<float>(kShape.words());
    robust_ = R == kAdaptive && control.robust != 0;
  }

  [[nodiscard]] __device__ __forceinline__ const Progress& progress() const { return progress_; }

  /// All steps of the run.
  __device__ __forceinline__ void run() {
    for (int i = lane(); i < kShape.words(); i += kWarp) rows_[i] = i % kRow == In ? 1.0f : 0.0f;
    __syncwarp();
    each_parameter([&](int place, float& value, float* state) {
      value = buffers_.parameters[place];
#pragma unroll
      for (int array = 0; array < kStates; ++array) state[array] = buffers_.state[array * kParameters + place];
    });
    Chunk chunk = limited({progress_.epoch, progress_.position, 0, 0});
    Chunk next = after(chunk);
    start_rows(chunk, place_of(chunk), true);
    int place = place_of(next);
    bool even = true;
#pragma unroll 1
    while (chunk.count > 0 && progress_.halted == kGoesOn) {
      start_rows(next, place, !even);
      const Chunk later = after(next);
      place = place_of(later);
      groups_arrived<1>();
      __syncwarp();
      learn_chunk(chunk, rows_of(even));
      __syncwarp();  // all have read the rows, which others take the place of
      chunk = next;
      next = later;
      even = !even;
    }
    groups_arrived<0>();  // rows that nobody awaits
    store();
  }

 private:
  static constexpr int kStates = WithStates<R, 1>::kStates;
  static constexpr int kSharing = kShape.sharing(), kEach = kShape.inputs_of_lane(), kRow = kShape.row();
  static constexpr int kTargetsAt = kShape.targets_at();
  static constexpr int kParameters = (In + 1) * Hidden + (Hidden + 1) * Out;

  /// Rows of one epoch that follow each other.
  struct Chunk {
    int epoch, position, count;
    int before;  ///< rows of the run before them
  };

  __device__ __forceinline__ static int lane() { return static_cast<int>(threadIdx.x) % kWarp; }
  __device__ __forceinline__ static int neuron() { return lane() / kSharing; }
  __device__ __forceinline__ static int share() { return lane() % kSharing; }
  __device__ __forceinline__ float* rows_of(bool even) const { return rows_ + (even ? 0 : kWarp * kRow); }

  /// The chunk that begins there, with as many rows as it can have.
  __device__ __forceinline__ Chunk limited(Chunk chunk) const {
    const int most = min(robust_ ? 1 : kWarp, steps_ - chunk.before);
    chunk.count = chunk.epoch < control_.end ? max(0, min(most, control_.rows - chunk.position)) : 0;
    return chunk;
  }
  __device__ __forceinline__ Chunk after(Chunk chunk) const {
    chunk.before += chunk.count;
    chunk.position += chunk.count;
    if (chunk.position >= control_.rows) {
      chunk.position = 0;
      ++chunk.epoch;
    }
    return limited(chunk);
  }
  /// Of the row of the chunk that has the number of the lane, in the buffer of all rows.
  __device__ __forceinline__ int place_of(const Chunk& chunk) const {
    if (lane() >= chunk.count) return 0;
    const int position = chunk.position + lane();
    if (control_.shuffled == 0) return position;
    const int slot = (chunk.epoch - control_.first_epoch) % buffers_.slots;
    return buffers_.order[static_cast<long long>(slot) * control_.rows + position];
  }
  /// Starts to bring the rows of a chunk on chip, as a group of their own.
  __device__ __forceinline__ void start_rows(const Chunk& chunk, int place, bool even) const {
    float* const to = rows_of(even);
#pragma unroll 1
    for (int row = 0; row < chunk.count; ++row) {
      const long long at = __shfl_sync(kAllLanes, place, row);
#pragma unroll
      for (int base = 0; base < In + Out; base += kWarp) {
        const int i = base + lane();
        if (i < In) {
          start_grouped_copy(to + row * kRow + i, buffers_.rows + at * In + i);
        } else if (i < In + Out) {
          start_grouped_copy(to + row * kRow + kTargetsAt + i - In, buffers_.targets + at * Out + i - In);
        }
      }
    }
    end_group();
  }

  /// Calls use(place, value, states) for each of the lane's parameters; several lanes have the same ones.
  template <class Use>
  __device__ __forceinline__ void each_parameter(const Use& use) {
    if (neuron() < Hidden) {
#pragma unroll
      for (int k = 0; k < kEach; ++k) {
        const int input = share() + kSharing * k;
        if (input > In) continue;
        use(input < In ? neuron() * In + input : In * Hidden + neuron(), inputs_.value[k], inputs_.state[k]);
      }
#pragma unroll
      for (int k = 0; k < Out; ++k) {
        use((In + 1) * Hidden + k * Hidden + neuron(), outputs_.value[k], outputs_.state[k]);
      }
    }
#pragma unroll
    for (int k = 0; k < Out; ++k) {
      use((In + 1) * Hidden + Hidden * Out + k, biases_.value[k], biases_.state[k]);
    }
  }
  /// Whether this lane is the one of those with a parameter that writes it.
  __device__ __forceinline__ static bool writes(int place) {
    const int of_outputs = place - (In + 1) * Hidden;
    return of_outputs < 0 || (of_outputs < Hidden * Out ? share() == 0 : lane() == 0);
  }

  /// One row forward and back: deltas_, values and squares. Returns the sum of squared errors.
  __device__ __forceinline__ float pass(const float (&inputs)[kEach], const float (&targets)[Out]) {
    float even = 0.0f, odd = 0.0f;
#pragma unroll
    for (int k = 0; k < kEach; k += 2) {
      even += inputs_.value[k] * inputs[k];
      if (k + 1 < kEach) odd += inputs_.value[k + 1] * inputs[k + 1];
    }
    const float sum = sum_over_lanes<kSharing>(even + odd);
    value_ = activate(control_.hidden, sum);
    if (neuron() >= Hidden) value_ = 0.0f;  // so that its weights stay 0
    float own[Out];
#pragma unroll
    for (int k = 0; k < Out; ++k) own[k] = outputs_.value[k] * value_;
#pragma unroll
    for (int offset = kSharing; offset < kSharing * kNeurons; offset *= 2) {
#pragma unroll
      for (int k = 0; k < Out; ++k) own[k] += __shfl_xor_sync(kAllLanes, own[k], offset);
    }
#pragma unroll
    for (int k = 0; k < Out; ++k) own[k] += biases_.value[k];
    if (control_.output == kSoftmax) {
      soften<Out>(own);
    } else {
      activate_all(control_.output, own);
    }
    float squares = 0.0f, back = 0.0f;
#pragma unroll
    for (int k = 0; k < Out; ++k) {
      const float error = own[k] - targets[k];
      squares += error * error;
      output_deltas_[k] = error * slope(control_.output, own[k]);
      back += outputs_.value[k] * output_deltas_[k];
    }
    delta_ = back * slope(control_.hidden, value_);
    return squares;
  }

  /// Calls change(value, states, gradient) for each of the lane's parameters. Of one row a mean is a sum.
  template <class Change>
  __device__ __forceinline__ void each_gradient(const float (&inputs)[kEach], const Change& change) {
#pragma unroll
    for (int k = 0; k < kEach; ++k) change(inputs_.value[k], inputs_.state[k], delta_ * inputs[k]);
#pragma unroll
    for (int k = 0; k < Out; ++k) change(outputs_.value[k], outputs_.state[k], output_deltas_[k] * value_);
#pragma unroll
    for (int k = 0; k < Out; ++k) change(biases_.value[k], biases_.state[k], output_deltas_[k]);
  }
  __device__ __forceinline__ void learn_row(const Step& step, const float (&inputs)[kEach]) {
    each_gradient(inputs, [&](float& value, float* state, float gradient) {
      float none = 0.0f;
      learn<R, true>(control_, step, gradient, value, kStates > 0 ? state[0] : none, kStates > 1 ? state[1] : none,
                     kStates > 2 ? state[2] : none);
    });
  }
  /// Robust training: the best weights are in global memory.
  __device__ __forceinline__ void decide(int decision, const Step& step, const float (&inputs)[kEach]) {
    float* const best = buffers_.state + kBestArray * kParameters;
    if (decision == kRestore) {
      each_parameter([&](int place, float& value, float* state) {
        restore(control_, best[place], value, state[0], state[kStates > 1 ? 1 : 0], state[kStates > 2 ? 2 : 0]);
      });
      return;
    }
    if (decision == kKeepAndLearn) {
      each_parameter([&](int place, float& value, float*) {
        if (writes(place)) best[place] = value;
      });
      __syncwarp();
    }
    learn_row(step, inputs);
  }

  __device__ __forceinline__ static void read(const float* row, float (&inputs)[kEach], float (&targets)[Out]) {
#pragma unroll
    for (int k = 0; k < kEach; ++k) inputs[k] = row[share() + kSharing * k];
#pragma unroll
    for (int k = 0; k < Out; ++k) targets[k] = row[kTargetsAt + k];
  }

  __device__ __forceinline__ void learn_chunk(const Chunk& chunk, const float* rows) {
    // Of the step of row `lane`: powers by products one after the other, so that they do not depend on where chunks
    // begin.
    Progress counted = progress_;
    double beta1 = progress_.beta1_power, beta2 = progress_.beta2_power;
#pragma unroll 1
    for (int row = 0; row < chunk.count; ++row) {
      beta1 *= static_cast<double>(control_.beta1);
      beta2 *= static_cast<double>(control_.beta2);
      if (row != lane()) continue;
      counted.beta1_power = beta1;
      counted.beta2_power = beta2;
    }
    const Step own = step_of(control_, counted, 1);

    float targets[Out], later[kEach], later_targets[Out], squares = 0.0f, own_squares = 0.0f;
    read(rows, later, later_targets);
    int row = 0;
#pragma unroll 1
    for (; row < chunk.count; ++row) {
#pragma unroll
      for (int k = 0; k < kEach; ++k) inputs_now_[k] = later[k];
#pragma unroll
      for (int k = 0; k < Out; ++k) targets[k] = later_targets[k];
      read(rows + min(row + 1, chunk.count - 1) * kRow, later, later_targets);
      Step step = own;
      if constexpr (R == kAdam) {
        step.rate = __shfl_sync(kAllLanes, own.rate, row);
        step.root_factor = __shfl_sync(kAllLanes, own.root_factor, row);
      }
      squares = pass(inputs_now_, targets);
      if constexpr (R == kAdaptive) {
        if (robust_) {
          decide(count(squares), step, inputs_now_);
          return;
        }
      }
      if (row == lane()) own_squares = squares;
      if (!finite_number(squares)) break;
      learn_row(step, inputs_now_);
    }
    // The last of these rows, which may end an epoch or have no error that is a number, is counted by the rule.
    const int last = min(row, chunk.count - 1);
#pragma unroll 1
    for (int before = 0; before < last; ++before) {
      progress_.squares += static_cast<double>(__shfl_sync(kAllLanes, own_squares, before));
    }
    if (last > 0) {
      progress_.steps += last;
      progress_.position += last;
      progress_.beta1_power = __shfl_sync(kAllLanes, counted.beta1_power, last - 1);
      progress_.beta2_power = __shfl_sync(kAllLanes, counted.beta2_power, last - 1);
    }
    count(squares);
  }
  __device__ __forceinline__ int count(float squares) {
    return count_step(control_, Out, static_cast<double>(squares), progress_, lane() == 0 ? buffers_.errors : nullptr,
                      buffers_.slots);
  }

  /// Writes parameters and states, and the gradient of the last row.
  __device__ __forceinline__ void store() {
    each_parameter([&](int place, float& value, float* state) {
      if (!writes(place)) return;
      buffers_.parameters[place] = value;
#pragma unroll
      for (int array = 0; array < kStates; ++array) buffers_.state[array * kParameters + place] = state[array];
    });
    each_gradient(inputs_now_, [](float& value, float*, float gradient) { value = gradient; });
    each_parameter([&](int place, float& value, float*) {
      if (writes(place)) buffers_.gradient[place] = value;
    });
  }

  /// A power of two, of neurons and of places where there is none.
  static constexpr int kNeurons = kWarp / kSharing;

  const Control control_;
  Progress progress_;
  const OnlineBuffers buffers_;
  int steps_;
  bool robust_;
  float* rows_;
  WithStates<R, kEach> inputs_{};  ///< of the lane's neuron
  WithStates<R, Out> outputs_{}, biases_{};
  float inputs_now_[kEach] = {}, output_deltas_[Out] = {}, value_ = 0.0f, delta_ = 0.0f;
};

template <int R, int In, int Hidden, int Out>
__device__ __forceinline__ void train_online_by(const Control& control, Progress* progress,
                                                const OnlineBuffers& buffers, int steps) {
  OnlineWarp<R, In, Hidden, Out> work(control, *progress, buffers, steps);
  work.run();
  __syncwarp();
  if (threadIdx.x == 0) *progress = work.progress();
}

/// At most `steps` steps of one row each. One block of one warp.
template <int In, int Hidden, int Out>
__global__ void __launch_bounds__(kWarp, 1)
    train_online_warp(const float* rows, const float* targets, const int* order, float* parameters, float* state,
                      float* gradient, const Control* control_at, Progress* progress, double* errors, int steps,
                      int slots) {
  const Control control = *control_at;
  if (!goes_on(control, *progress, 0, steps)) return;
  const OnlineBuffers buffers{rows, targets, order, parameters, state, gradient, errors, slots};
  switch (control.rule) {
    case kPlain:
      train_online_by<kPlain, In, Hidden, Out>(control, progress, buffers, steps);
      break;
    case kAdaptive:
      train_online_by<kAdaptive, In, Hidden, Out>(control, progress, buffers, steps);
      break;
    case kRprop:
      train_online_by<kRprop, In, Hidden, Out>(control, progress, buffers, steps);
      break;
    default:
      train_online_by<kAdam, In, Hidden, Out>(control, progress, buffers, steps);
  }
}

}  // namespace heddle::mlp
