// Vectors whose operations are rounded in one direction. Compiled at run time too. With AVX-512 an instruction says how
// it rounds. With AVX2 the mode of the thread does: a kernel sets it for a whole loop with a RoundingMode, within which
// operations of this direction alone may be used. With neither there are none, HEDDLE_DIRECTED_VECTORS is 0, and
// kernels take the number types one by one.
#pragma once

namespace heddle::fuzzy::cpu {
namespace {

enum class Rounding : unsigned { near = 0, down = 0x2000, up = 0x4000 };  // bits of MXCSR

#if defined(__AVX512F__)
#define HEDDLE_DIRECTED_VECTORS 64  // bytes of one
/// Whether operations of several directions may be mixed.
constexpr bool kRoundingInInstruction = true;

struct RoundingMode {
  explicit RoundingMode(Rounding) {}
};
#elif defined(__AVX2__) && defined(__FMA__)
#define HEDDLE_DIRECTED_VECTORS 32
constexpr bool kRoundingInInstruction = false;

/// The mode of this thread while it lives; before and after, it is to nearest. Volatile assembly is not moved across
/// volatile assembly, as which all operations below are written.
class RoundingMode {
 public:
  explicit RoundingMode(Rounding mode) {
    asm volatile("vstmxcsr %0" : "=m"(before_)::"memory");
    const unsigned own = (before_ & ~0x6000U) | static_cast<unsigned>(mode);
    asm volatile("vldmxcsr %0" ::"m"(own) : "memory");
  }
  ~RoundingMode() { asm volatile("vldmxcsr %0" ::"m"(before_) : "memory"); }
  RoundingMode(const RoundingMode&) = delete;
  RoundingMode& operator=(const RoundingMode&) = delete;

 private:
  unsigned before_;
};
#else
#define HEDDLE_DIRECTED_VECTORS 0
#endif

#if HEDDLE_DIRECTED_VECTORS
template <class T>
struct Directed {
  static constexpr int lanes = HEDDLE_DIRECTED_VECTORS / static_cast<int>(sizeof(T));
  typedef T Vector __attribute__((vector_size(HEDDLE_DIRECTED_VECTORS)));
};
template <class T>
using Vector = typename Directed<T>::Vector;

/// The sign of every lane set to 0.
inline __attribute__((always_inline)) Vector<double> magnitude(Vector<double> x) {
  typedef long long Bits __attribute__((vector_size(HEDDLE_DIRECTED_VECTORS)));
  return (Vector<double>)((Bits)x & 0x7fffffffffffffffLL);
}
inline __attribute__((always_inline)) Vector<float> magnitude(Vector<float> x) {
  typedef int Bits __attribute__((vector_size(HEDDLE_DIRECTED_VECTORS)));
  return (Vector<float>)((Bits)x & 0x7fffffff);
}

/// The smallest number above each lane, which must not be negative; infinity becomes no number.
inline __attribute__((always_inline)) Vector<double> next_above(Vector<double> x) {
  typedef long long Bits __attribute__((vector_size(HEDDLE_DIRECTED_VECTORS)));
  return (Vector<double>)((Bits)x + 1);
}
inline __attribute__((always_inline)) Vector<float> next_above(Vector<float> x) {
  typedef int Bits __attribute__((vector_size(HEDDLE_DIRECTED_VECTORS)));
  return (Vector<float>)((Bits)x + 1);
}
#endif

#if HEDDLE_DIRECTED_VECTORS == 64
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
HEDDLE_TWO(multiply_up, "vmul", "ru")
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

#elif HEDDLE_DIRECTED_VECTORS == 32
#define HEDDLE_TWO(NAME, INSTRUCTION)                                                             \
  inline __attribute__((always_inline)) Vector<double> NAME(Vector<double> a, Vector<double> b) { \
    Vector<double> result;                                                                        \
    asm volatile(INSTRUCTION "pd %2, %1, %0" : "=x"(result) : "x"(a), "xm"(b));                   \
    return result;                                                                                \
  }                                                                                               \
  inline __attribute__((always_inline)) Vector<float> NAME(Vector<float> a, Vector<float> b) {    \
    Vector<float> result;                                                                         \
    asm volatile(INSTRUCTION "ps %2, %1, %0" : "=x"(result) : "x"(a), "xm"(b));                   \
    return result;                                                                                \
  }
HEDDLE_TWO(add_down, "vadd")
HEDDLE_TWO(add_up, "vadd")
HEDDLE_TWO(add_near, "vadd")
HEDDLE_TWO(multiply_down, "vmul")
HEDDLE_TWO(multiply_up, "vmul")
HEDDLE_TWO(multiply_near, "vmul")
#undef HEDDLE_TWO

/// a b + c
inline __attribute__((always_inline)) Vector<double> fused_up(Vector<double> a, Vector<double> b, Vector<double> c) {
  asm volatile("vfmadd231pd %2, %1, %0" : "+x"(c) : "x"(a), "xm"(b));
  return c;
}
inline __attribute__((always_inline)) Vector<float> fused_up(Vector<float> a, Vector<float> b, Vector<float> c) {
  asm volatile("vfmadd231ps %2, %1, %0" : "+x"(c) : "x"(a), "xm"(b));
  return c;
}
#endif

}  // namespace
}  // namespace heddle::fuzzy::cpu
