// Activations and their slopes on a CPU. Compiled at run time too.
#pragma once

#include "heddle/kernels/common/cpu_vector.hpp"
#include "heddle/kernels/mlp/control.cuh"

namespace heddle::mlp::cpu {
namespace {

using namespace heddle::cpu;

template <int W>
inline Float<W> sigmoid(Float<W> a) {
  const Float<W> e = exp_of_negative<W>(-magnitude<W>(a));
  const Float<W> small = e / (1.0f + e);
  return a < 0.0f ? small : 1.0f - small;
}
/// What is no number stays so.
template <int W>
inline Float<W> hyperbolic_tangent(Float<W> a) {
  const Float<W> size = magnitude<W>(a), e = exp_of_negative<W>(-2.0f * size);
  // Near 0 the difference would lose digits: three terms of the series there.
  const Float<W> square = a * a;
  const Float<W> series = a * (1.0f + square * (square * (2.0f / 15.0f) - 1.0f / 3.0f));
  const Float<W> far = (1.0f - e) / (1.0f + e);
  return size < 0.125f ? series : a < 0.0f ? -far : far;
}

/// exp_of_negative() makes a number of what is none, so sums that are none are passed on as they are.
template <int W>
inline Float<W> passing_nan(Float<W> a, Float<W> value) {
  return a == a ? value : a;
}

template <int W>
inline Float<W> activated(Float<W> a, int kind) {
  switch (kind) {
    case kSigmoid:
      return passing_nan<W>(a, sigmoid<W>(a));
    case kTanh:
      return passing_nan<W>(a, hyperbolic_tangent<W>(a));
    case kRelu:
      return a < 0.0f ? Float<W>{} : a;
    default:
      return a;
  }
}
/// Of an activation whose value is y.
template <int W>
inline Float<W> slope(Float<W> y, int kind) {
  switch (kind) {
    case kSigmoid:
      return y * (1.0f - y);
    case kTanh:
      return 1.0f - y * y;
    case kRelu:
      return y > 0.0f ? broadcast<W>(1.0f) : Float<W>{};
    default:  // kSoftmax together with the cross-entropy, too
      return broadcast<W>(1.0f);
  }
}

/// `count` sums in place; the padding after them may be overwritten.
template <int W>
inline void soften(float* sums, int count) {
  const Int<W> lane = lanes<W>();
  Float<W> best = broadcast<W>(-kInfinity);
  bool usable = true;
  for (int n = 0; n < count; n += W) {
    const Float<W> a = load<W>(sums + n);
    best = lane < count - n ? larger<W>(a, best) : best;
  }
  for (int n = 0; n < count; ++n) usable &= sums[n] == sums[n];
  const float top = usable ? largest_lane<W>(best) : kInfinity - kInfinity;
  Float<W> all{};
  for (int n = 0; n < count; n += W) {
    const Float<W> e = exp_of_negative<W>(load<W>(sums + n) - top);
    const Float<W> own = lane < count - n ? e : Float<W>{};
    store<W>(sums + n, own);
    all += own;
  }
  const float scale = usable ? 1.0f / sum_of_lanes<W>(all) : top;
  for (int n = 0; n < count; n += W) store<W>(sums + n, load<W>(sums + n) * scale);
}

template <int W>
inline void activate(float* sums, int count, int kind) {
  if (kind == kSoftmax) return soften<W>(sums, count);
  for (int n = 0; n < count; n += W) store<W>(sums + n, activated<W>(load<W>(sums + n), kind));
}

}  // namespace
}  // namespace heddle::mlp::cpu
