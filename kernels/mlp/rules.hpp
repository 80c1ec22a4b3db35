// The learning rules' constants as published, and the states that training begins with. What a rule does with one
// weight: learn() in control.cuh.
#pragma once

#include <cstdint>
#include <vector>

#include "heddle/kernels/mlp/control.cuh"

namespace heddle::mlp {

/// How many arrays of the buffer "state" a rule uses, from the first on. The best weights are counted where robust
/// training is on.
[[nodiscard]] int state_arrays(Rule rule, bool robust);

/// A control with the constants that the rule was published with: kAdaptive as in Toman's run, kRprop and kAdam as in
/// docs/design.md. Plain steps have the rate 0.1. All rows, one after the other, at once; hidden layers of kSigmoid, an
/// output of kSigmoid, no decay, no end.
[[nodiscard]] Control published_control(Rule rule, std::int64_t rows);

/// The progress that training begins with.
[[nodiscard]] Progress first_progress();
/// The states that training begins with, kStateArrays x `parameters`. `first_step`: of kAdaptive and kRprop.
[[nodiscard]] std::vector<float> first_state(Rule rule, std::int64_t parameters, double first_step);
/// The published length of a first step: 0.5 of kAdaptive, 0.0125 of kRprop; 0 of the others.
[[nodiscard]] double published_first_step(Rule rule);

/// Where robust training is on, its error of a mean squared error over rows and outputs (Toman 2011): half its root.
[[nodiscard]] double published_error(double mean_square);

}  // namespace heddle::mlp
