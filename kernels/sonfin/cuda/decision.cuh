// When a sample adds a rule, and how wide it is: the same arithmetic in every scheme.
#pragma once

#include "heddle/kernels/common/reduce.cuh"
#include "heddle/kernels/sonfin/control.cuh"

namespace heddle::sonfin {

/// A sample wants a rule if the largest l_k is at most this: any, if there is no rule; none (not a number) if there are
/// as many as may be.
__device__ __forceinline__ float rule_threshold(const Control& control, int rules) {
  if (rules >= control.max_rules) return __int_as_float(0x7fffffff);
  return rules == 0 ? infinity() : control.log_threshold;
}

/// `squared`: |x - m|^2 of the leading rule.
__device__ __forceinline__ float new_width(const Control& control, int rules, float squared) {
  if (rules == 0) return fmaxf(control.first_width, control.minimum_width);
  return fmaxf(control.overlap * (control.squared_width ? squared : squared * rsqrtf(fmaxf(squared, 1e-37f))),
               control.minimum_width);
}

}  // namespace heddle::sonfin
