// What all kernels of a layered step ask first: which step is under way, and which rows it has.
#pragma once

#include "heddle/kernels/mlp/control.cuh"
#include "heddle/kernels/mlp/cuda/layered_sizes.cuh"

namespace heddle::mlp {

struct AsItStands {
  __device__ __forceinline__ int operator()(int i) const { return i; }
};
/// Rows in the order of an epoch.
struct AsOrdered {
  const int* order;  ///< of the rows of the step; null: as they come
  int first;
  __device__ __forceinline__ int operator()(int i) const { return order != nullptr ? order[i] : first + i; }
};

/// A layer may be both. The last one keeps its sums.
enum LayerPlace { kFirstLayer = 1, kLastLayer = 2 };

/// The rows of a step that a launch has: `count` of them at most, from `first` on, as they come or in the order of the
/// epoch.
struct StepPart {
  int first, count, ordered;
};

/// The step under way.
struct StepUnderWay {
  Control control;
  Progress progress;
  AsOrdered rows_of;
  int rows = 0;  ///< 0: there are none

  /// `place`: LayerPlace of a layer. The row of what it takes that belongs to row i of the step.
  [[nodiscard]] __device__ __forceinline__ int row_of_layer(int i, int place) const {
    return (place & kFirstLayer) != 0 ? rows_of(i) : i;
  }
  [[nodiscard]] __device__ __forceinline__ int activation_of(int place) const {
    return (place & kLastLayer) != 0 ? static_cast<int>(kLinear) : control.hidden;
  }
};

/// Step `done` of a run of `steps`; `slots`: epochs in `order`.
__device__ __forceinline__ StepUnderWay step_under_way(const Control* control, const Progress* now, const int* order,
                                                       int done, int steps, int slots,
                                                       const StepPart& part = {0, 0x7fffffff, 1}) {
  StepUnderWay step{*control, *now, {nullptr, 0}};
  if (!goes_on(step.control, step.progress, done, steps)) return step;
  step.rows = max(0, min(part.count, rows_of_step(step.control, step.progress) - part.first));
  step.rows_of.first = step.progress.position + part.first;
  if (step.control.shuffled != 0 && part.ordered != 0) {
    const int slot = (step.progress.epoch - step.control.first_epoch) % slots;
    step.rows_of.order = order + static_cast<long long>(slot) * step.control.rows + step.rows_of.first;
  }
  return step;
}

/// One layer of weights: where it is among the parameters, and its sizes.
struct LayerAt {
  int weights, in, out;
  __device__ __forceinline__ int biases() const { return weights + in * out; }
};

}  // namespace heddle::mlp
