// What every training kernel of a perceptron on the CPU is passed first.
#pragma once

#include "heddle/kernels/mlp/control.cuh"

namespace heddle::mlp::cpu {
// Unnamed, so that objects compiled for different instruction sets keep their own code.
namespace {

/// In the order of mapping.cpp; what belongs to a kernel alone follows.
struct RunArguments {
  explicit RunArguments(void* const* a)
      : parameters(static_cast<float*>(a[0])),
        state(static_cast<float*>(a[1])),
        gradient(static_cast<float*>(a[2])),
        progress(static_cast<Progress*>(a[3])),
        errors(static_cast<double*>(a[4])),
        control(static_cast<const Control*>(a[5])),
        rows(static_cast<const float*>(a[6])),
        targets(static_cast<const float*>(a[7])),
        order(static_cast<const int*>(a[8])) {}

  static constexpr int kCount = 9;

  float *parameters, *state, *gradient;
  Progress* progress;
  double* errors;
  const Control* control;
  const float *rows, *targets;
  const int* order;
};

}  // namespace
}  // namespace heddle::mlp::cpu
