// Parameters learn on a CPU: the rules of control.cuh over arrays. Compiled at run time too.
#pragma once

#include "heddle/kernels/mlp/control.cuh"

namespace heddle::mlp::cpu {
namespace {

/// The buffers of a plan that hold parameters, their states and gradients.
struct Parameters {
  float *parameters, *state;
  const float* gradient;
  long long all;  ///< parameters
};

/// Copies of control and step, so that no store can be thought to change them.
template <int R>
inline void learn_all(Control control, Step step, const float* gradient, int count, float* weights,
                      float* const* states) {
  float *s0 = states[0], *s1 = states[1], *s2 = states[2];
#pragma GCC ivdep
  for (int i = 0; i < count; ++i) learn<R>(control, step, gradient[i], weights[i], s0[i], s1[i], s2[i]);
}

/// `count` parameters from `offset` on learn from their gradients, which are already times Step::gradient_factor.
/// `decision`: of count_step().
inline void change_parameters(const Control& control, Decision decision, const Step& step, const Parameters& of,
                              long long offset, int count) {
  if (decision == kLeave) return;
  const float* gradient = of.gradient + offset;
  float* weights = of.parameters + offset;
  float* states[kStateArrays];
  for (int s = 0; s < kStateArrays; ++s) states[s] = of.state + s * of.all + offset;
  if (decision == kRestore) {
    for (int i = 0; i < count; ++i) {
      restore(control, states[kBestArray][i], weights[i], states[0][i], states[1][i], states[2][i]);
    }
    return;
  }
  if (decision == kKeepAndLearn) {
    for (int i = 0; i < count; ++i) states[kBestArray][i] = weights[i];
  }
  switch (control.rule) {
    case kPlain:
      return learn_all<kPlain>(control, step, gradient, count, weights, states);
    case kAdaptive:
      return learn_all<kAdaptive>(control, step, gradient, count, weights, states);
    case kRprop:
      return learn_all<kRprop>(control, step, gradient, count, weights, states);
    default:
      return learn_all<kAdam>(control, step, gradient, count, weights, states);
  }
}

}  // namespace
}  // namespace heddle::mlp::cpu
