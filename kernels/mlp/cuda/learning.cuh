// A parameter learns: the rules of control.cuh, chosen by the control.
#pragma once

#include "heddle/kernels/mlp/control.cuh"

namespace heddle::mlp {

/// Whether the rule has this array of states.
__device__ __forceinline__ bool has_state(const Control& control, int array) {
  if (array == kBestArray) return control.rule == kAdaptive && control.robust != 0;
  return array < (control.rule == kPlain ? 0 : control.rule == kAdaptive ? 3 : 2);
}

template <int R>
struct RuleOf {
  static constexpr int value = R;
};

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

/// The same of several parameters of a thread, with one branch for all of them: they do not wait for each other.
template <int Count>
__device__ __forceinline__ void change_parameters(const Control& control, const Step& step, int decision,
                                                  const float (&gradients)[Count], float (&weights)[Count],
                                                  float (&states)[kStateArrays][Count]) {
  if (decision == kLeave) return;
  if (decision == kRestore) {
#pragma unroll
    for (int i = 0; i < Count; ++i) {
      restore(control, states[kBestArray][i], weights[i], states[0][i], states[1][i], states[2][i]);
    }
    return;
  }
  if (decision == kKeepAndLearn) {
#pragma unroll
    for (int i = 0; i < Count; ++i) states[kBestArray][i] = weights[i];
  }
  const auto learn_all = [&](auto rule) {
#pragma unroll
    for (int i = 0; i < Count; ++i) {
      learn<decltype(rule)::value, true>(control, step, gradients[i], weights[i], states[0][i], states[1][i],
                                         states[2][i]);
    }
  };
  switch (control.rule) {
    case kPlain:
      learn_all(RuleOf<kPlain>{});
      break;
    case kAdaptive:
      learn_all(RuleOf<kAdaptive>{});
      break;
    case kRprop:
      learn_all(RuleOf<kRprop>{});
      break;
    default:
      learn_all(RuleOf<kAdam>{});
  }
}

}  // namespace heddle::mlp
