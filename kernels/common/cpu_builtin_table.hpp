// Tables of kernels compiled into the binary, one per instruction set and way of compiling.
#pragma once

#include "heddle/kernels/common/cpu_launch.hpp"

namespace heddle::cpu {

struct BuiltinKernel {
  const char* expression;  ///< as in Plan::kernels; null behind the last kernel of a table
  Kernel kernel;
};

// Compiled with cpu_builtin_options().
extern const BuiltinKernel builtin_baseline[];
extern const BuiltinKernel builtin_v3[];
extern const BuiltinKernel builtin_v4[];
// Compiled with cpu_exact_options().
extern const BuiltinKernel exact_baseline[];
extern const BuiltinKernel exact_v3[];
extern const BuiltinKernel exact_v4[];

}  // namespace heddle::cpu

#define HEDDLE_TEXT_(x) #x
#define HEDDLE_TEXT(x) HEDDLE_TEXT_(x)
/// An entry of a table: "heddle::mlp::cpu::train<16, 4, 2>", where the first argument is HEDDLE_CPU_WIDTH.
#define HEDDLE_KERNEL(family, template_, ...)                                                        \
  {                                                                                                  \
    "heddle::" #family "::cpu::" #template_ "<" HEDDLE_TEXT(HEDDLE_CPU_WIDTH) ", " #__VA_ARGS__ ">", \
        heddle::family::cpu::template_<HEDDLE_CPU_WIDTH, __VA_ARGS__>                                \
  }
/// One with no other argument: "heddle::mlp::cpu::train_online<16>".
#define HEDDLE_KERNEL_OF_WIDTH(family, template_)                                  \
  {                                                                                \
    "heddle::" #family "::cpu::" #template_ "<" HEDDLE_TEXT(HEDDLE_CPU_WIDTH) ">", \
        heddle::family::cpu::template_<HEDDLE_CPU_WIDTH>                           \
  }
/// One that has no vectors of its own: "heddle::fuzzy::cpu::sort<float, 8>".
#define HEDDLE_KERNEL_WITHOUT_WIDTH(family, template_, ...) \
  { "heddle::" #family "::cpu::" #template_ "<" #__VA_ARGS__ ">", heddle::family::cpu::template_<__VA_ARGS__> }
