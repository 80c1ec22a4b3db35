// Judges one step of a kernel against the reference, in parts: its error and gradient at the weights before the step,
// and what the rule makes of the kernel's own gradient. The end of many steps would say little, because rules that
// compare signs amplify rounding.
#pragma once

#include <vector>

#include "heddle/kernels/mlp/workload.hpp"
#include "heddle/kernels/verification.hpp"

namespace heddle::mlp {

/// Parameters, states, progress and gradient, as they are between two steps.
struct Moment {
  std::vector<float> parameters, state, gradient;
  Progress progress{};
  std::vector<double> errors;
};
[[nodiscard]] Moment moment_of(const HostImage& image);

/// The gradient, layer by layer, weights and biases each: the norm of the difference at most 1e-4 of the norm of the
/// reference's, and what neurons of ReLU that float32 cannot tell from 0 may change. The sum of squared errors within
/// 1e-5. Every weight and state within float32's rounding of what the rule in float64 makes of `after.gradient`.
/// Counters of the progress are equal. Where no step is due, nothing has changed.
[[nodiscard]] Accuracy compare_step(const Workload& work, const Moment& before, const Moment& after);

/// Whether two moments are the same, bit by bit.
[[nodiscard]] Accuracy compare_moments(const Moment& found, const Moment& expected);

}  // namespace heddle::mlp
