// Kernels that add one to every value for every sample, most of them with a fault, for CUDA and what stands for it.
// One block; arguments as of good().
#pragma once

namespace heddle::faults {

// The loads are what takes time, and no compiler may leave them out.
template <int Work>
__device__ void add(float* values, float* result, int size, int samples) {
  const volatile float* const seen = values;
  for (int i = static_cast<int>(threadIdx.x); i < size; i += static_cast<int>(blockDim.x)) {
    for (int sample = 0; sample < samples; ++sample) {
      float sum = seen[i] + 1.0f;
      for (int again = 1; again < 64 * Work; ++again) sum = seen[i] + 1.0f;
      values[i] = sum;
      result[i] = sum;
    }
  }
}

template <int Work>
__global__ void good(float* values, float* result, int size, int samples) {
  add<Work>(values, result, size, samples);
}
template <int Work>
__global__ void null(float* values, float*, int, int) {
  volatile float* volatile nothing = nullptr;
  *nothing = values[0];
}
template <int Work>
__global__ void spin(float* values, float*, int, int) {
  volatile float* const seen = values;
  while (seen[0] > -1e30f) {
  }
}
template <int Work>
__global__ void memory(float* values, float*, int, int) {  // takes all there is, whoever it belongs to
  volatile float* const taken = values;
  for (long long i = 0;; i += 256) taken[i] = 1.0f;
}
template <int Work>
__global__ void leave(float*, float*, int, int) {
  __trap();
}
template <int Work>
__global__ void outside(float* values, float* result, int size, int samples) {
  add<0>(values, result, size, samples);
  if (threadIdx.x == 0) result[size] = 1.0f;
}
template <int Work>
__global__ void even(float* values, float* result, int size, int samples) {
  add<0>(values, result, size / 2 * 2, samples);
}

}  // namespace heddle::faults
