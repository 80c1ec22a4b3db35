// The network in float64 on a CUDA device: what kernels are compared with where reference.cpp would take too long. As
// plain as that, and checked against it before it is trusted. Formulas: docs/design.md, "The network".
//
//   sweep_in_double    moves the antecedents of the sample before, fires the next: a warp for each rule
//   decide_in_double   rule decision, output, error, consequents and g_k of one sample: one block
//   predict_in_double  outputs of many rows: a block for each row in turn
//
// Everything is row after row without padding; rows, targets and order are those of Workload. Scratch: log_firing and
// gradient hold R values, outputs L. made_widths [R], made_at [R]: the width that an added rule was made with, and the
// position of its sample.
#pragma once

#include "heddle/kernels/common/reduce.cuh"
#include "heddle/kernels/sonfin/cuda/reference_control.cuh"

namespace heddle::sonfin {

__device__ __forceinline__ double sum_over_warp(double value) {
  for (int offset = kWarp / 2; offset > 0; offset /= 2) value += __shfl_xor_sync(kAllLanes, value, offset);
  return value;
}

__device__ __forceinline__ double largest_over_warp(double value) {
  for (int offset = kWarp / 2; offset > 0; offset /= 2) value = fmax(value, __shfl_xor_sync(kAllLanes, value, offset));
  return value;
}

/// Sum over j of ((x_j - m_j) / sigma_j)^2; all lanes of a warp together.
template <class Real>
__device__ __forceinline__ double squared_deviation(const float* x, const Real* m, const Real* sigma, int dim) {
  double sum = 0.0;
  for (int j = static_cast<int>(threadIdx.x) % kWarp; j < dim; j += kWarp) {
    const double z = (static_cast<double>(x[j]) - m[j]) / sigma[j];
    sum += z * z;
  }
  return sum_over_warp(sum);
}

__global__ void sweep_in_double(double* centres, double* widths, const ReferenceControl* control_at,
                                const ReferenceProgress* progress_at, const double* gradient, double* log_firing,
                                const float* rows, const int* order, int learns, int fires, int dim) {
  const int rule = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x) / kWarp;
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
  const ReferenceControl control = *control_at;
  const ReferenceProgress progress = *progress_at;
  if (rule >= progress.rules) return;
  double* const m = centres + static_cast<long long>(rule) * dim;
  double* const sigma = widths + static_cast<long long>(rule) * dim;
  if (learns != 0 && progress.learned >= 0) {
    const float* const x = rows + static_cast<long long>(progress.learned) * dim;
    for (int j = lane; j < dim; j += kWarp) {
      const double difference = static_cast<double>(x[j]) - m[j];
      const double by_centre = gradient[rule] * 2.0 * difference / (sigma[j] * sigma[j]);
      const double by_width = by_centre * difference / sigma[j];
      const double rate = control.antecedent_rate * (control.plain_step != 0 ? 1.0 : sigma[j] * sigma[j]);
      m[j] -= rate * by_centre;
      sigma[j] = fmax(sigma[j] - rate * by_width, control.minimum_width);
    }
  }
  if (fires != 0 && progress.position < control.end) {
    const float* const x = rows + static_cast<long long>(order[progress.position]) * dim;
    const double sum = squared_deviation(x, m, sigma, dim);
    if (lane == 0) log_firing[rule] = -sum;
  }
}

__global__ void __launch_bounds__(1024)
    decide_in_double(double* centres, double* widths, double* consequents, const ReferenceControl* control_at,
                     ReferenceProgress* progress_at, double* gradient, double* log_firing, double* outputs_at,
                     double* made_widths, int* made_at, const float* rows, const float* targets, const int* order,
                     int dim, int outputs) {
  const int thread = static_cast<int>(threadIdx.x), threads = static_cast<int>(blockDim.x);
  const int warp = thread / kWarp, lane = thread % kWarp;
  const ReferenceControl control = *control_at;
  const ReferenceProgress progress = *progress_at;
  __syncthreads();
  if (progress.position >= control.end) {
    if (thread == 0) progress_at->learned = -1;
    return;
  }
  const int row = order[progress.position];
  const float* const x = rows + static_cast<long long>(row) * dim;
  const float* const target = targets + static_cast<long long>(row) * outputs;

  // Every warp finds the leading rule for itself: the first of equals.
  double largest = -static_cast<double>(infinity());
  int leader = kNobody;
  for (int k = lane; k < progress.rules; k += kWarp) {
    if (log_firing[k] <= largest) continue;
    largest = log_firing[k];
    leader = k;
  }
  const double own = largest;
  largest = largest_over_warp(largest);
  leader = smallest_over_warp(own == largest ? leader : kNobody);

  int rules = progress.rules;
  if (rules == 0 || (largest <= control.log_threshold && rules < control.max_rules)) {
    double width = control.overlap * control.first_width;
    if (rules > 0) {
      double squared = 0.0;
      for (int j = lane; j < dim; j += kWarp) {
        const double difference = static_cast<double>(x[j]) - centres[static_cast<long long>(leader) * dim + j];
        squared += difference * difference;
      }
      squared = sum_over_warp(squared);
      width = control.overlap * (control.squared_width != 0 ? squared : sqrt(squared));
    }
    width = fmax(width, control.minimum_width);
    for (int j = thread; j < dim; j += threads) {
      centres[static_cast<long long>(rules) * dim + j] = x[j];
      widths[static_cast<long long>(rules) * dim + j] = width;
    }
    for (int l = thread; l < outputs; l += threads)
      consequents[static_cast<long long>(rules) * outputs + l] = target[l];
    if (thread == 0) {
      log_firing[rules] = 0.0;
      made_widths[rules] = width;
      made_at[rules] = progress.position;
    }
    largest = 0.0;
    ++rules;
  }
  __syncthreads();

  double total = 0.0;
  for (int k = lane; k < rules; k += kWarp) total += exp(log_firing[k] - largest);
  total = sum_over_warp(total);
  for (int l = warp; l < outputs; l += threads / kWarp) {
    double y = 0.0;
    for (int k = lane; k < rules; k += kWarp) {
      y += exp(log_firing[k] - largest) / total * consequents[static_cast<long long>(k) * outputs + l];
    }
    y = sum_over_warp(y);
    if (lane == 0) outputs_at[l] = y;
  }
  __syncthreads();

  for (int k = thread; k < rules; k += threads) {
    const double phi = exp(log_firing[k] - largest) / total;
    double by_log_firing = 0.0;
    for (int l = 0; l < outputs; ++l) {
      double& w = consequents[static_cast<long long>(k) * outputs + l];
      const double error = outputs_at[l] - static_cast<double>(target[l]);
      by_log_firing += phi * error * (w - outputs_at[l]);
      w -= control.consequent_rate * error * phi;
    }
    gradient[k] = by_log_firing;
  }
  if (thread == 0) {
    double loss = 0.0;
    for (int l = 0; l < outputs; ++l) {
      const double error = outputs_at[l] - static_cast<double>(target[l]);
      loss += 0.5 * error * error;
    }
    *progress_at = {rules, progress.position + 1, row, 0, progress.loss + loss};
  }
}

/// `log_firing`: R values for each block.
__global__ void __launch_bounds__(1024)
    predict_in_double(const float* centres, const float* widths, const float* consequents, const float* rows,
                      double* log_firing, double* outputs_at, int count, int rules, int dim, int outputs) {
  const int thread = static_cast<int>(threadIdx.x), threads = static_cast<int>(blockDim.x);
  const int warp = thread / kWarp, lane = thread % kWarp;
  double* const own = log_firing + static_cast<long long>(blockIdx.x) * rules;
  for (int row = static_cast<int>(blockIdx.x); row < count; row += static_cast<int>(gridDim.x)) {
    for (int k = warp; k < rules; k += threads / kWarp) {
      const long long first = static_cast<long long>(k) * dim;
      const double sum =
          squared_deviation(rows + static_cast<long long>(row) * dim, centres + first, widths + first, dim);
      if (lane == 0) own[k] = -sum;
    }
    __syncthreads();
    double largest = own[0];
    for (int k = lane; k < rules; k += kWarp) largest = fmax(largest, own[k]);
    largest = largest_over_warp(largest);
    double total = 0.0;
    for (int k = lane; k < rules; k += kWarp) total += exp(own[k] - largest);
    total = sum_over_warp(total);
    for (int l = warp; l < outputs; l += threads / kWarp) {
      double y = 0.0;
      for (int k = lane; k < rules; k += kWarp) {
        y += exp(own[k] - largest) / total * static_cast<double>(consequents[static_cast<long long>(k) * outputs + l]);
      }
      y = sum_over_warp(y);
      if (lane == 0) outputs_at[static_cast<long long>(row) * outputs + l] = y;
    }
    __syncthreads();
  }
}

}  // namespace heddle::sonfin
