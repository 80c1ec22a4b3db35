// What a layered step does beside its products where a library computes them: product = library. The library's matrices
// have as many rows as a step may have. Rows that a step does not have are 0 in all of them, so they add nothing to any
// sum.
#pragma once

#include "heddle/kernels/mlp/cuda/activations.cuh"
#include "heddle/kernels/mlp/cuda/layered_steps.cuh"

namespace heddle::mlp {

/// to[batch][inputs]: the rows of the step, one behind the other; ones[batch]: 1 for each. Any grid.
__global__ void __launch_bounds__(kLayeredBlock)
    gather_rows(const float* rows, float* to, float* ones, const Control* control, const Progress* now,
                const int* order, int inputs, int batch, int done, int steps, int slots) {
  const StepUnderWay step = step_under_way(control, now, order, done, steps, slots);
  if (step.rows == 0) return;
  const long long stride = static_cast<long long>(gridDim.x) * kLayeredBlock;
  const long long thread = static_cast<long long>(blockIdx.x) * kLayeredBlock + threadIdx.x;
  for (long long i = thread; i < static_cast<long long>(batch) * inputs; i += stride) {
    const int row = static_cast<int>(i / inputs), column = static_cast<int>(i % inputs);
    to[i] = row < step.rows ? rows[static_cast<long long>(step.rows_of(row)) * inputs + column] : 0.0f;
  }
  for (long long i = thread; i < batch; i += stride) ones[i] = i < step.rows ? 1.0f : 0.0f;
}

/// Values in place of sums without biases, [batch][neurons]. Any grid.
__global__ void __launch_bounds__(kLayeredBlock)
    finish_sums(float* sums, const float* parameters, const Control* control, const Progress* now, LayerAt layer,
                int place, int batch, int done, int steps) {
  const StepUnderWay step = step_under_way(control, now, nullptr, done, steps, 1);
  if (step.rows == 0) return;
  const long long stride = static_cast<long long>(gridDim.x) * kLayeredBlock;
  for (long long i = static_cast<long long>(blockIdx.x) * kLayeredBlock + threadIdx.x;
       i < static_cast<long long>(batch) * layer.out; i += stride) {
    const int row = static_cast<int>(i / layer.out), neuron = static_cast<int>(i % layer.out);
    sums[i] =
        row < step.rows ? activate(step.activation_of(place), sums[i] + parameters[layer.biases() + neuron]) : 0.0f;
  }
}

/// Deltas in place of sums of deltas and weights, [batch][neurons]. Any grid.
__global__ void __launch_bounds__(kLayeredBlock)
    multiply_by_slopes(float* sums, const float* values, const Control* control, const Progress* now, int neurons,
                       int done, int steps) {
  const StepUnderWay step = step_under_way(control, now, nullptr, done, steps, 1);
  const long long stride = static_cast<long long>(gridDim.x) * kLayeredBlock;
  for (long long i = static_cast<long long>(blockIdx.x) * kLayeredBlock + threadIdx.x;
       i < static_cast<long long>(step.rows) * neurons; i += stride) {
    sums[i] *= slope(step.control.hidden, values[i]);
  }
}

}  // namespace heddle::mlp
