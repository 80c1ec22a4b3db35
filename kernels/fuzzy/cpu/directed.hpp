// Vectors whose operations are rounded in one direction, by AVX-512's rounding in the instruction. Compiled at run time
// too. Without AVX-512 there are none: kDirectedVectors is false, and kernels take the number types one by one.
#pragma once

namespace heddle::fuzzy::cpu {
namespace {

#if defined(__AVX512F__)
constexpr bool kDirectedVectors = true;

template <class T>
struct Directed {
  static constexpr int lanes = 64 / static_cast<int>(sizeof(T));
  typedef T Vector __attribute__((vector_size(64)));
};
template <class T>
using Vector = typename Directed<T>::Vector;

// "rd" rounds downwards, "ru" upwards, "rn" to nearest; -sae: without exceptions. Assembly, since the functions of GCC
// and of Clang for this differ.
#define HEDDLE_TWO(NAME, INSTRUCTION, MODE)                                                       \
  inline __attribute__((always_inline)) Vector<double> NAME(Vector<double> a, Vector<double> b) { \
    Vector<double> result;                                                                        \
    asm(INSTRUCTION "pd %{" MODE "-sae%}, %2, %1, %0" : "=v"(result) : "v"(a), "v"(b));           \
    return result;                                                                                \
  }                                                                                               \
  inline __attribute__((always_inline)) Vector<float> NAME(Vector<float> a, Vector<float> b) {    \
    Vector<float> result;                                                                         \
    asm(INSTRUCTION "ps %{" MODE "-sae%}, %2, %1, %0" : "=v"(result) : "v"(a), "v"(b));           \
    return result;                                                                                \
  }
HEDDLE_TWO(add_down, "vadd", "rd")
HEDDLE_TWO(add_up, "vadd", "ru")
HEDDLE_TWO(add_near, "vadd", "rn")
HEDDLE_TWO(multiply_down, "vmul", "rd")
HEDDLE_TWO(multiply_near, "vmul", "rn")
#undef HEDDLE_TWO

/// a b + c
inline __attribute__((always_inline)) Vector<double> fused_up(Vector<double> a, Vector<double> b, Vector<double> c) {
  asm("vfmadd231pd %{ru-sae%}, %2, %1, %0" : "+v"(c) : "v"(a), "v"(b));
  return c;
}
inline __attribute__((always_inline)) Vector<float> fused_up(Vector<float> a, Vector<float> b, Vector<float> c) {
  asm("vfmadd231ps %{ru-sae%}, %2, %1, %0" : "+v"(c) : "v"(a), "v"(b));
  return c;
}

/// The sign of every lane set to 0.
inline __attribute__((always_inline)) Vector<double> magnitude(Vector<double> x) {
  typedef long long Bits __attribute__((vector_size(64)));
  return (Vector<double>)((Bits)x & 0x7fffffffffffffffLL);
}
inline __attribute__((always_inline)) Vector<float> magnitude(Vector<float> x) {
  typedef int Bits __attribute__((vector_size(64)));
  return (Vector<float>)((Bits)x & 0x7fffffff);
}
#else
constexpr bool kDirectedVectors = false;
#endif

}  // namespace
}  // namespace heddle::fuzzy::cpu
