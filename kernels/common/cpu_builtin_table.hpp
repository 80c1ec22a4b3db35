// Tables of kernels compiled into the binary, one per instruction set.
#pragma once

#include "heddle/kernels/common/cpu_launch.hpp"

namespace heddle::cpu {

struct BuiltinKernel {
  const char* expression;  ///< as in Plan::kernels
  Kernel kernel;
};

constexpr int kBuiltinKernels = 10;
extern const BuiltinKernel builtin_baseline[kBuiltinKernels];
extern const BuiltinKernel builtin_v3[kBuiltinKernels];
extern const BuiltinKernel builtin_v4[kBuiltinKernels];

}  // namespace heddle::cpu
