// When a sample adds a rule, and how wide it is: the same arithmetic in every scheme.
#pragma once

#include "heddle/kernels/sonfin/control.cuh"

namespace heddle::sonfin {

/// Whether the sample wants a rule; `leading_log_firing`: the largest l_k.
__device__ __forceinline__ bool wants_rule(const Control& control, int rules, float leading_log_firing) {
  return rules < control.max_rules && (rules == 0 || leading_log_firing <= control.log_threshold);
}

/// `squared`: |x - m|^2 of the leading rule.
__device__ __forceinline__ float new_width(const Control& control, int rules, float squared) {
  if (rules == 0) return fmaxf(control.first_width, control.minimum_width);
  return fmaxf(control.overlap * (control.squared_width ? squared : squared * rsqrtf(fmaxf(squared, 1e-37f))),
               control.minimum_width);
}

}  // namespace heddle::sonfin
