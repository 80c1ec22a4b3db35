// The products of a layered step as the published programs lay them over a GPU: plain sums in float32, without tensor
// cores. What they compute, and their arguments, are those of forward_layer, backward_layer and find_layer_gradient in
// layered.cuh. They are what tables compare with; the search may choose them, too.
//
// | product | a sum | gradient |
// |---|---|---|
// | thread | one thread, after Gurgel (2014): a block for a row, a thread for a neuron | the product of every row and
// weight is stored, and learn_layered() adds up the rows |
// | tree | threads of a block by a tree, after Toman (2011): a block for a row, and for as many neurons as fit | a
// block for a weight, whose threads share the rows |
#pragma once

#include "heddle/kernels/mlp/cuda/activations.cuh"
#include "heddle/kernels/mlp/cuda/layered_steps.cuh"

namespace heddle::mlp {

/// Grid: rows.
__global__ void __launch_bounds__(kMostSummands)
    forward_by_thread(const float* from, const float* parameters, float* to, const Control* control,
                      const Progress* now, const int* order, LayerAt layer, int place, int done, int steps, int slots) {
  const StepUnderWay step = step_under_way(control, now, order, done, steps, slots);
  const int row = static_cast<int>(blockIdx.x);
  if (row >= step.rows) return;
  const float* const values = from + static_cast<long long>(step.row_of_layer(row, place)) * layer.in;
  for (int n = static_cast<int>(threadIdx.x); n < layer.out; n += static_cast<int>(blockDim.x)) {
    const float* const weights = parameters + layer.weights + static_cast<long long>(n) * layer.in;
    float sum = parameters[layer.biases() + n];
    for (int i = 0; i < layer.in; ++i) sum += weights[i] * values[i];
    to[static_cast<long long>(row) * layer.out + n] = activate(step.activation_of(place), sum);
  }
}

/// Grid: rows.
__global__ void __launch_bounds__(kMostSummands)
    backward_by_thread(const float* deltas, const float* values, const float* parameters, float* to,
                       const Control* control, const Progress* now, LayerAt layer, int done, int steps) {
  const StepUnderWay step = step_under_way(control, now, nullptr, done, steps, 1);
  const int row = static_cast<int>(blockIdx.x);
  if (row >= step.rows) return;
  const float* const own = deltas + static_cast<long long>(row) * layer.out;
  for (int n = static_cast<int>(threadIdx.x); n < layer.in; n += static_cast<int>(blockDim.x)) {
    const float* const weights = parameters + layer.weights + n;
    float sum = 0.0f;
    for (int k = 0; k < layer.out; ++k) sum += weights[static_cast<long long>(k) * layer.in] * own[k];
    const long long at = static_cast<long long>(row) * layer.in + n;
    to[at] = sum * slope(step.control.hidden, values[at]);
  }
}

/// parts[row][parameter]: of each row; 0 of rows that the step does not have. Grid: rows.
__global__ void __launch_bounds__(kMostSummands)
    gradient_by_thread(const float* deltas, const float* values, float* parts, const Control* control,
                       const Progress* now, const int* order, LayerAt layer, int place, int parameters, int done,
                       int steps, int slots) {
  const StepUnderWay step = step_under_way(control, now, order, done, steps, slots);
  if (step.rows == 0) return;
  const int row = static_cast<int>(blockIdx.x), columns = layer.in + 1;
  const bool there = row < step.rows;
  const float* const own = deltas + static_cast<long long>(row) * layer.out;
  const float* const inputs = values + static_cast<long long>(there ? step.row_of_layer(row, place) : 0) * layer.in;
  float* const to = parts + static_cast<long long>(row) * parameters;
  for (int i = static_cast<int>(threadIdx.x); i < columns * layer.out; i += static_cast<int>(blockDim.x)) {
    const int n = i / columns, column = i % columns;
    const float delta = there ? own[n] : 0.0f;
    if (column < layer.in) {
      to[layer.weights + n * layer.in + column] = there ? delta * inputs[column] : 0.0f;
    } else {
      to[layer.biases() + n] = delta;
    }
  }
}

/// Sum over the threads with the same threadIdx.y, whose number blockDim.x is a power of two and at least a warp;
/// thread 0 of them gets it. `words`: of shared memory, one for each thread of the block. The whole block calls it.
__device__ __forceinline__ float sum_by_tree(float value, float* words) {
  const int x = static_cast<int>(threadIdx.x), count = static_cast<int>(blockDim.x);
  float* const own = words + static_cast<int>(threadIdx.y) * count;
  own[x] = value;
  for (int half = count / 2; half >= kWarp; half /= 2) {
    __syncthreads();
    if (x < half) own[x] += own[x + half];
  }
  __syncthreads();
  return x < kWarp ? sum_over_lanes<kWarp>(own[x]) : 0.0f;
}

__device__ __forceinline__ int neuron_of_tree() {
  return static_cast<int>(blockIdx.y * blockDim.y) + static_cast<int>(threadIdx.y);
}
__device__ __forceinline__ float* words_of_tree() {
  SharedMemory shared;
  return shared.take<float>(static_cast<int>(blockDim.x * blockDim.y));
}

/// Grid: rows x groups of neurons; block: addends x neurons.
__global__ void __launch_bounds__(kMostSummands)
    forward_by_tree(const float* from, const float* parameters, float* to, const Control* control, const Progress* now,
                    const int* order, LayerAt layer, int place, int done, int steps, int slots) {
  float* const words = words_of_tree();
  const StepUnderWay step = step_under_way(control, now, order, done, steps, slots);
  const int row = static_cast<int>(blockIdx.x), neuron = neuron_of_tree(), x = static_cast<int>(threadIdx.x);
  if (row >= step.rows) return;
  const float* const values = from + static_cast<long long>(step.row_of_layer(row, place)) * layer.in;
  float sum = 0.0f;
  if (neuron < layer.out) {
    const float* const weights = parameters + layer.weights + static_cast<long long>(neuron) * layer.in;
    if (x == 0) sum = parameters[layer.biases() + neuron];
    for (int i = x; i < layer.in; i += static_cast<int>(blockDim.x)) sum += weights[i] * values[i];
  }
  sum = sum_by_tree(sum, words);
  if (neuron < layer.out && x == 0) {
    to[static_cast<long long>(row) * layer.out + neuron] = activate(step.activation_of(place), sum);
  }
}

/// Grid: rows x groups of the neurons before the layer; block: addends x neurons.
__global__ void __launch_bounds__(kMostSummands)
    backward_by_tree(const float* deltas, const float* values, const float* parameters, float* to,
                     const Control* control, const Progress* now, LayerAt layer, int done, int steps) {
  float* const words = words_of_tree();
  const StepUnderWay step = step_under_way(control, now, nullptr, done, steps, 1);
  const int row = static_cast<int>(blockIdx.x), neuron = neuron_of_tree(), x = static_cast<int>(threadIdx.x);
  if (row >= step.rows) return;
  float sum = 0.0f;
  if (neuron < layer.in) {
    const float* const own = deltas + static_cast<long long>(row) * layer.out;
    const float* const weights = parameters + layer.weights + neuron;
    for (int k = x; k < layer.out; k += static_cast<int>(blockDim.x)) {
      sum += weights[static_cast<long long>(k) * layer.in] * own[k];
    }
  }
  sum = sum_by_tree(sum, words);
  if (neuron < layer.in && x == 0) {
    const long long at = static_cast<long long>(row) * layer.in + neuron;
    to[at] = sum * slope(step.control.hidden, values[at]);
  }
}

/// parts[0][parameter]. Grid: inputs and the bias x neurons; block: rows.
__global__ void __launch_bounds__(kMostSummands)
    gradient_by_tree(const float* deltas, const float* values, float* parts, const Control* control,
                     const Progress* now, const int* order, LayerAt layer, int place, int parameters, int done,
                     int steps, int slots) {
  (void)parameters;
  float* const words = words_of_tree();
  const StepUnderWay step = step_under_way(control, now, order, done, steps, slots);
  if (step.rows == 0) return;
  const int column = static_cast<int>(blockIdx.x), neuron = neuron_of_tree(), x = static_cast<int>(threadIdx.x);
  float sum = 0.0f;
  for (int row = x; row < step.rows; row += static_cast<int>(blockDim.x)) {
    const float delta = deltas[static_cast<long long>(row) * layer.out + neuron];
    sum += column < layer.in ? delta * values[static_cast<long long>(step.row_of_layer(row, place)) * layer.in + column]
                             : delta;
  }
  sum = sum_by_tree(sum, words);
  if (x == 0) parts[column < layer.in ? layer.weights + neuron * layer.in + column : layer.biases() + neuron] = sum;
}

}  // namespace heddle::mlp
