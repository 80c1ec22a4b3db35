// A parameter learns: the rules of control.cuh, chosen by the control.
#pragma once

#include "heddle/kernels/mlp/control.cuh"

namespace heddle::mlp {

/// Whether the rule has this array of states.
__device__ __forceinline__ bool has_state(const Control& control, int array) {
  if (array == kBestArray) return control.rule == kAdaptive && control.robust != 0;
  return array < (control.rule == kPlain ? 0 : control.rule == kAdaptive ? 3 : 2);
}

/// `decision`: what count_step() said. `gradient`: already times Step::gradient_factor. state(array): a reference to
/// one of the parameter's states.
template <class State>
__device__ __forceinline__ void change_parameter(const Control& control, const Step& step, int decision, float gradient,
                                                 float& parameter, const State& state) {
  if (decision == kLeave) return;
  float weight = parameter, s[3];
#pragma unroll
  for (int array = 0; array < 3; ++array) s[array] = has_state(control, array) ? state(array) : 0.0f;
  if (decision == kRestore) {
    restore(control, state(kBestArray), weight, s[0], s[1], s[2]);
  } else {
    if (decision == kKeepAndLearn) state(kBestArray) = weight;
    switch (control.rule) {
      case kPlain:
        learn<kPlain>(control, step, gradient, weight, s[0], s[1], s[2]);
        break;
      case kAdaptive:
        learn<kAdaptive>(control, step, gradient, weight, s[0], s[1], s[2]);
        break;
      case kRprop:
        learn<kRprop>(control, step, gradient, weight, s[0], s[1], s[2]);
        break;
      default:
        learn<kAdam, true>(control, step, gradient, weight, s[0], s[1], s[2]);
    }
  }
#pragma unroll
  for (int array = 0; array < 3; ++array) {
    if (has_state(control, array)) state(array) = s[array];
  }
  parameter = weight;
}

}  // namespace heddle::mlp
