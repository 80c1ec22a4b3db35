// The split of Ferreira and Cruz: a block for a row, a thread for a rule, the least squares by a library, and the
// gradient of every row in memory before it is averaged. Their mapping, with activations in the log domain.
#pragma once

#include "heddle/kernels/tsk/cuda/tile.cuh"

namespace heddle::tsk {

/// Over the threads of a block, a power of two, by a tree; `words`: one for each.
template <bool Largest>
__device__ __forceinline__ float over_block(float value, float* words) {
  const int thread = static_cast<int>(threadIdx.x);
  words[thread] = value;
  __syncthreads();
  for (int half = static_cast<int>(blockDim.x) / 2; half > 0; half /= 2) {
    if (thread < half) {
      const float other = words[thread + half];
      words[thread] = Largest ? fmaxf(words[thread], other) : words[thread] + other;
    }
    __syncthreads();
  }
  const float result = words[0];
  __syncthreads();
  return result;
}

__device__ __forceinline__ float activation_of_thread(const Batch& batch, const float* centres, const float* widths,
                                                      const float* x, int k, float* words) {
  float log_activation = -infinity();
  if (k < batch.rules) {
    float sum = 0.0f;
    for (int j = 0; j < batch.dim; ++j) {
      const float u = (x[j] - centres[k * batch.dim + j]) / widths[k * batch.dim + j];
      sum += u * u;
    }
    log_activation = -0.5f * sum;
  }
  const float top = over_block<true>(log_activation, words);
  const float weight = exp_below(log_activation, top);
  return weight / over_block<false>(weight, words);
}

/// Row blockIdx.x of Phi and Y, as columns of doubles.
template <int Block>
__global__ void __launch_bounds__(Block)
    activate_sample(const float* rows, const float* targets, const float* centres, const float* widths,
                    const Control* control_at, const Progress* progress, Progress* before, double* columns, int dim,
                    int outputs, int rules, int terms, int pitch) {
  const Control control = *control_at;
  const Progress now = *progress;
  if (blockIdx.x == 0 && threadIdx.x == 0) *before = now;
  if (!goes_on(control, now)) return;
  const Batch batch{{dim, outputs, rules, terms}, rows, targets};
  SharedMemory shared;
  float* words = shared.take<float>(Block);
  const int row = static_cast<int>(blockIdx.x), k = static_cast<int>(threadIdx.x);
  const bool learnt = row < control.rows;
  const float* x = rows + static_cast<long long>(row) * dim;
  const float phi = learnt ? activation_of_thread(batch, centres, widths, x, k, words) : 0.0f;
  if (k < rules) {
    for (int t = 0; t < terms; ++t) {
      columns[(static_cast<long long>(k) * terms + t) * pitch + row] =
          t == 0 || !learnt ? static_cast<double>(phi) : static_cast<double>(phi) * static_cast<double>(x[t - 1]);
    }
  }
  for (int l = k; l < outputs; l += Block) {
    columns[(static_cast<long long>(batch.unknowns()) + l) * pitch + row] =
        learnt ? static_cast<double>(targets[static_cast<long long>(row) * outputs + l]) : 0.0;
  }
}

/// slopes[row][2 K D + 2]: what descend() sums.
template <int Block>
__global__ void __launch_bounds__(Block)
    gradient_sample(const float* rows, const float* targets, const float* centres, const float* widths,
                    const Control* control_at, const Progress* before, const double* solution, float* slopes, int dim,
                    int outputs, int rules, int terms) {
  const Control control = *control_at;
  if (!goes_on(control, *before)) return;
  const Batch batch{{dim, outputs, rules, terms}, rows, targets};
  SharedMemory shared;
  float* words = shared.take<float>(Block);
  const long long row = blockIdx.x;
  const int k = static_cast<int>(threadIdx.x), tasks = batch.tasks();
  float* part = slopes + row * batch.slopes();
  const bool learnt = row < control.rows, there = row < static_cast<long long>(control.rows) + control.held_back;
  const float* x = rows + row * dim;
  const float phi = there ? activation_of_thread(batch, centres, widths, x, k, words) : 0.0f;
  float change = 0.0f, squares = 0.0f;
  for (int l = 0; l < outputs; ++l) {
    float own = 0.0f;
    if (k < rules && there) {
      const double* theta = solution + static_cast<long long>(k) * terms * outputs + l;
      own = static_cast<float>(theta[0]);
      for (int t = 1; t < terms; ++t) own += static_cast<float>(theta[static_cast<long long>(t) * outputs]) * x[t - 1];
    }
    const float y = over_block<false>(phi * own, words);
    const float error = there ? y - targets[row * outputs + l] : 0.0f;
    squares += error * error;
    change += error * (own - y);
  }
  change *= learnt ? phi : 0.0f;
  for (int j = 0; k < rules && j < dim; ++j) {
    const int e = k * dim + j;
    const float u = there ? (x[j] - centres[e]) / widths[e] : 0.0f;
    part[e] = change * u;
    part[tasks + e] = change * u * u;
  }
  if (k == 0) {
    part[2 * tasks] = learnt ? squares : 0.0f;
    part[2 * tasks + 1] = learnt ? 0.0f : squares;
  }
}

}  // namespace heddle::tsk
