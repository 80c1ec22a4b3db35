// What neurons make of their sums, and its slope.
#pragma once

#include "heddle/kernels/common/reduce.cuh"
#include "heddle/kernels/mlp/control.cuh"

namespace heddle::mlp {

/// `kind`: an Activation, but for kSoftmax. A sigmoid is within 2 units in the last place: a division of all numbers
/// has a branch for those that are seldom there.
__device__ __forceinline__ float activate(int kind, float sum) {
  if (kind == kSigmoid) return __fdividef(1.0f, 1.0f + __expf(-sum));
  if (kind == kTanh) return tanhf(sum);
  if (kind == kRelu) return fmaxf(sum, 0.0f);
  return sum;
}

/// The same for several sums, in their place: one branch, so that their exponentials overlap.
template <int Count>
__device__ __forceinline__ void activate_all(int kind, float (&sums)[Count]) {
  if (kind == kSigmoid) {
#pragma unroll
    for (int i = 0; i < Count; ++i) sums[i] = activate(kSigmoid, sums[i]);
  } else if (kind != kLinear) {
#pragma unroll
    for (int i = 0; i < Count; ++i) sums[i] = activate(kind, sums[i]);
  }
}

/// Of an activation whose value is y; with kSoftmax that of the cross-entropy by the sums.
__device__ __forceinline__ float slope(int kind, float y) {
  if (kind == kSigmoid) return y * (1.0f - y);
  if (kind == kTanh) return 1.0f - y * y;
  if (kind == kRelu) return y > 0.0f ? 1.0f : 0.0f;
  return 1.0f;
}

/// The same without branches, but for softmax: a polynomial of degree 2, or a step.
class Slope {
 public:
  __device__ __forceinline__ explicit Slope(int kind)
      : constant_(kind == kSigmoid ? 0.0f : 1.0f),
        linear_(kind == kSigmoid ? 1.0f : 0.0f),
        square_(kind == kSigmoid || kind == kTanh ? -1.0f : 0.0f),
        steps_(kind == kRelu) {}
  __device__ __forceinline__ float at(float y) const {
    const float smooth = fmaf(y, fmaf(square_, y, linear_), constant_);
    return steps_ ? (y > 0.0f ? 1.0f : 0.0f) : smooth;
  }

 private:
  float constant_, linear_, square_;
  bool steps_;
};

template <int Kind>
struct KindOf {
  static constexpr int value = Kind;
};

/// Several sums times the slopes of the activation at these values: one branch.
template <int Count>
__device__ __forceinline__ void multiply_by_slopes_of(int kind, const float (&values)[Count], float (&sums)[Count]) {
  const auto multiply = [&](auto known) {
#pragma unroll
    for (int i = 0; i < Count; ++i) sums[i] *= slope(decltype(known)::value, values[i]);
  };
  if (kind == kSigmoid) {
    multiply(KindOf<kSigmoid>{});
  } else if (kind == kTanh) {
    multiply(KindOf<kTanh>{});
  } else if (kind == kRelu) {
    multiply(KindOf<kRelu>{});
  }
}

/// The softmax of a row of sums, in their place.
template <int Count>
__device__ __forceinline__ void soften(float* sums) {
  float largest = sums[0], all = 0.0f;
  for (int k = 1; k < Count; ++k) largest = fmaxf(largest, sums[k]);
  for (int k = 0; k < Count; ++k) all += sums[k] = __expf(sums[k] - largest);
  const float share = 1.0f / all;
  for (int k = 0; k < Count; ++k) sums[k] *= share;
}

/// `lanes` lanes, a power of two, make the outputs of a row of their sums, in place. All lanes of the warp call it.
__device__ __forceinline__ void finish_outputs(int activation, int outputs, float* own, int lane, int lanes) {
  if (activation != kSoftmax) {
    for (int k = lane; k < outputs; k += lanes) own[k] = activate(activation, own[k]);
    return;
  }
  float largest = -infinity(), all = 0.0f;
  for (int k = lane; k < outputs; k += lanes) largest = fmaxf(largest, own[k]);
  for (int offset = lanes / 2; offset > 0; offset /= 2) {
    largest = fmaxf(largest, __shfl_xor_sync(kAllLanes, largest, offset));
  }
  for (int k = lane; k < outputs; k += lanes) all += own[k] = __expf(own[k] - largest);
  for (int offset = lanes / 2; offset > 0; offset /= 2) all += __shfl_xor_sync(kAllLanes, all, offset);
  for (int k = lane; k < outputs; k += lanes) own[k] /= all;
}

}  // namespace heddle::mlp
