// The part of CUDA C++ that kernel templates use, for the system's C++ compiler: every thread is a fibre of the
// emulator. What is missing is not needed yet, or left out on purpose: docs/kernel-debugging.md.
#pragma once

#include "heddle/runtime/device/emulator/kernel/hooks.hpp"

#define __CUDACC__ 1
#define __global__ inline  // may stand behind extern "C", and what is not called is not compiled
#define __device__
#define __host__
#define __forceinline__ inline __attribute__((always_inline))
#define __noinline__ __attribute__((noinline))
#define __launch_bounds__(...)
#define __align__(bytes) __attribute__((aligned(bytes)))
#define __constant__ __attribute__((used, visibility("default")))  // the host finds it by its name
// Wherever it stands, the one line that is shown says what to do. _Pragma takes one string only.
#define __shared__ _Pragma("GCC error \"the emulator has no __shared__ variables: use heddle::SharedMemory\"")

/// A call into the emulator: never inlined, so that its return address is the line that called it.
#define HEDDLE_CALL HEDDLE_PLAIN __attribute__((noinline)) inline
#define HEDDLE_CONSTANT HEDDLE_PLAIN __attribute__((noinline, const)) inline
#define HEDDLE_AT __builtin_return_address(0)
#define HEDDLE_CALLER const char *file = __builtin_FILE(), unsigned line = __builtin_LINE()
#define HEDDLE_LINE (heddle::emulator::Line{file, line, HEDDLE_AT})

// Built-in variables: constant for a fibre, so that the compiler may keep them.
HEDDLE_CONSTANT heddle::emulator::Index3 heddle_thread_index() { return heddle_emulator_calls->place()->thread; }
HEDDLE_CONSTANT heddle::emulator::Index3 heddle_block_index() { return heddle_emulator_calls->place()->block; }
HEDDLE_CONSTANT heddle::emulator::Index3 heddle_block_size() { return heddle_emulator_calls->place()->block_size; }
HEDDLE_CONSTANT heddle::emulator::Index3 heddle_grid_size() { return heddle_emulator_calls->place()->grid; }
#define threadIdx (heddle_thread_index())
#define blockIdx (heddle_block_index())
#define blockDim (heddle_block_size())
#define gridDim (heddle_grid_size())
constexpr int warpSize = 32;

// Vector types.
#define HEDDLE_VECTORS(TYPE, ELEMENT)                                    \
  struct alignas(2 * sizeof(ELEMENT)) TYPE##2 {                          \
    ELEMENT x, y;                                                        \
  };                                                                     \
  struct alignas(16) TYPE##4 {                                           \
    ELEMENT x, y, z, w;                                                  \
  };                                                                     \
  inline TYPE##2 make_##TYPE##2(ELEMENT x, ELEMENT y) { return {x, y}; } \
  inline TYPE##4 make_##TYPE##4(ELEMENT x, ELEMENT y, ELEMENT z, ELEMENT w) { return {x, y, z, w}; }
HEDDLE_VECTORS(int, int)
HEDDLE_VECTORS(uint, unsigned)
HEDDLE_VECTORS(float, float)
HEDDLE_VECTORS(double, double)

// Bits.
HEDDLE_PLAIN inline float __int_as_float(int bits) { return __builtin_bit_cast(float, bits); }
HEDDLE_PLAIN inline float __uint_as_float(unsigned bits) { return __builtin_bit_cast(float, bits); }
HEDDLE_PLAIN inline int __float_as_int(float value) { return __builtin_bit_cast(int, value); }
HEDDLE_PLAIN inline unsigned __float_as_uint(float value) { return __builtin_bit_cast(unsigned, value); }
HEDDLE_PLAIN inline long long __double_as_longlong(double value) { return __builtin_bit_cast(long long, value); }
HEDDLE_PLAIN inline int __double2hiint(double value) { return static_cast<int>(__double_as_longlong(value) >> 32); }
HEDDLE_PLAIN inline double __longlong_as_double(long long bits) { return __builtin_bit_cast(double, bits); }
inline int __clz(int value) { return value == 0 ? 32 : __builtin_clz(static_cast<unsigned>(value)); }
inline int __popc(unsigned value) { return __builtin_popcount(value); }
inline int __ffs(int value) { return __builtin_ffs(value); }

// Mathematics. Fast functions are the exact ones: a kernel must not depend on their error.
#define HEDDLE_UNARY(NAME)                                         \
  inline float NAME##f(float x) { return __builtin_##NAME##f(x); } \
  inline double NAME(double x) { return __builtin_##NAME(x); }     \
  inline float NAME(float x) { return __builtin_##NAME##f(x); }
HEDDLE_UNARY(exp)
HEDDLE_UNARY(exp2)
HEDDLE_UNARY(expm1)
HEDDLE_UNARY(log)
HEDDLE_UNARY(log2)
HEDDLE_UNARY(log1p)
HEDDLE_UNARY(sqrt)
HEDDLE_UNARY(fabs)
HEDDLE_UNARY(tanh)
HEDDLE_UNARY(sin)
HEDDLE_UNARY(cos)
HEDDLE_UNARY(floor)
HEDDLE_UNARY(ceil)
#define HEDDLE_BINARY(NAME)                                                    \
  inline float NAME##f(float x, float y) { return __builtin_##NAME##f(x, y); } \
  inline double NAME(double x, double y) { return __builtin_##NAME(x, y); }    \
  inline float NAME(float x, float y) { return __builtin_##NAME##f(x, y); }
HEDDLE_BINARY(fmax)
HEDDLE_BINARY(fmin)
HEDDLE_BINARY(pow)
HEDDLE_BINARY(fmod)
HEDDLE_BINARY(copysign)
inline float fmaf(float x, float y, float z) { return __builtin_fmaf(x, y, z); }
inline double fma(double x, double y, double z) { return __builtin_fma(x, y, z); }
inline float fma(float x, float y, float z) { return __builtin_fmaf(x, y, z); }
inline float rsqrtf(float x) { return 1.0f / __builtin_sqrtf(x); }
inline double rsqrt(double x) { return 1.0 / __builtin_sqrt(x); }
inline bool isnan(float x) { return __builtin_isnan(x); }
inline bool isinf(float x) { return __builtin_isinf(x); }
inline bool isfinite(float x) { return __builtin_isfinite(x); }
inline bool isnan(double x) { return __builtin_isnan(x); }
inline bool isfinite(double x) { return __builtin_isfinite(x); }
inline int abs(int x) { return x < 0 ? -x : x; }
inline float __expf(float x) { return __builtin_expf(x); }
inline float __logf(float x) { return __builtin_logf(x); }
inline float __powf(float x, float y) { return __builtin_powf(x, y); }
inline float __sinf(float x) { return __builtin_sinf(x); }
inline float __cosf(float x) { return __builtin_cosf(x); }
inline float __fdividef(float x, float y) { return x / y; }
inline float __saturatef(float x) { return x >= 0.0f ? (x <= 1.0f ? x : 1.0f) : 0.0f; }
inline float __frcp_rn(float x) { return 1.0f / x; }

// Operations with a rounding of their own. The thread's mode of rounding is another one for as long as the operation
// takes; what is volatile is neither moved out of that time nor fused.
extern "C" int fesetround(int) noexcept;
extern "C" int fegetround() noexcept;
namespace heddle::emulator {
#if defined(__x86_64__) || defined(__i386__)
constexpr int kDown = 0x400, kUp = 0x800, kNearest = 0;
#elif defined(__aarch64__)
constexpr int kDown = 0x800000, kUp = 0x400000, kNearest = 0;
#endif
}  // namespace heddle::emulator
#define HEDDLE_ROUNDED(NAME, TYPE, MODE, PARAMETERS, EXPRESSION, ...)  \
  HEDDLE_PLAIN __attribute__((noinline)) inline TYPE NAME PARAMETERS { \
    volatile TYPE __VA_ARGS__;                                         \
    const int before = fegetround();                                   \
    fesetround(heddle::emulator::MODE);                                \
    volatile TYPE result = EXPRESSION;                                 \
    fesetround(before);                                                \
    return result;                                                     \
  }
#define HEDDLE_ROUNDINGS(NAME, TYPE, PARAMETERS, EXPRESSION, ...)                \
  HEDDLE_ROUNDED(NAME##_rn, TYPE, kNearest, PARAMETERS, EXPRESSION, __VA_ARGS__) \
  HEDDLE_ROUNDED(NAME##_rd, TYPE, kDown, PARAMETERS, EXPRESSION, __VA_ARGS__)    \
  HEDDLE_ROUNDED(NAME##_ru, TYPE, kUp, PARAMETERS, EXPRESSION, __VA_ARGS__)
#define HEDDLE_ARITHMETIC(PREFIX, TYPE, FUSED, FUSE, ROOT)                     \
  HEDDLE_ROUNDINGS(PREFIX##add, TYPE, (TYPE x, TYPE y), (a + b), a = x, b = y) \
  HEDDLE_ROUNDINGS(PREFIX##sub, TYPE, (TYPE x, TYPE y), (a - b), a = x, b = y) \
  HEDDLE_ROUNDINGS(PREFIX##mul, TYPE, (TYPE x, TYPE y), (a * b), a = x, b = y) \
  HEDDLE_ROUNDINGS(PREFIX##div, TYPE, (TYPE x, TYPE y), (a / b), a = x, b = y) \
  HEDDLE_ROUNDINGS(PREFIX##sqrt, TYPE, (TYPE x), ROOT(a), a = x)               \
  HEDDLE_ROUNDINGS(FUSED, TYPE, (TYPE x, TYPE y, TYPE z), FUSE(a, b, c), a = x, b = y, c = z)
HEDDLE_ARITHMETIC(__f, float, __fmaf, __builtin_fmaf, __builtin_sqrtf)
HEDDLE_ARITHMETIC(__d, double, __fma, __builtin_fma, __builtin_sqrt)
#define HEDDLE_NARROWED(NAME, MODE)                                    \
  HEDDLE_PLAIN __attribute__((noinline)) inline float NAME(double x) { \
    volatile double wide = x;                                          \
    const int before = fegetround();                                   \
    fesetround(heddle::emulator::MODE);                                \
    volatile float result = static_cast<float>(wide);                  \
    fesetround(before);                                                \
    return result;                                                     \
  }
HEDDLE_NARROWED(__double2float_rn, kNearest)
HEDDLE_NARROWED(__double2float_rd, kDown)
HEDDLE_NARROWED(__double2float_ru, kUp)
#define HEDDLE_EXTREMES(TYPE)                               \
  inline TYPE min(TYPE x, TYPE y) { return y < x ? y : x; } \
  inline TYPE max(TYPE x, TYPE y) { return x < y ? y : x; }
HEDDLE_EXTREMES(int)
HEDDLE_EXTREMES(unsigned)
HEDDLE_EXTREMES(long long)
HEDDLE_EXTREMES(unsigned long long)
inline float min(float x, float y) { return __builtin_fminf(x, y); }
inline float max(float x, float y) { return __builtin_fmaxf(x, y); }
inline double min(double x, double y) { return __builtin_fmin(x, y); }
inline double max(double x, double y) { return __builtin_fmax(x, y); }

// Barriers of a block.
HEDDLE_CALL void __syncthreads(HEDDLE_CALLER) {
  heddle_emulator_calls->barrier(heddle::emulator::Vote::none, 0, HEDDLE_LINE);
}
HEDDLE_CALL int __syncthreads_count(int predicate, HEDDLE_CALLER) {
  return heddle_emulator_calls->barrier(heddle::emulator::Vote::count, predicate, HEDDLE_LINE);
}
HEDDLE_CALL int __syncthreads_and(int predicate, HEDDLE_CALLER) {
  return heddle_emulator_calls->barrier(heddle::emulator::Vote::all, predicate, HEDDLE_LINE);
}
HEDDLE_CALL int __syncthreads_or(int predicate, HEDDLE_CALLER) {
  return heddle_emulator_calls->barrier(heddle::emulator::Vote::any, predicate, HEDDLE_LINE);
}

// Operations that the lanes of a warp do together.
namespace heddle::emulator {

template <class T>
HEDDLE_PLAIN inline unsigned long long bits_of(T value) {
  static_assert(sizeof(T) == 4 || sizeof(T) == 8, "a word or two");
  if constexpr (sizeof(T) == 4) {
    return __builtin_bit_cast(unsigned, value);
  } else {
    return __builtin_bit_cast(unsigned long long, value);
  }
}

template <class T>
HEDDLE_PLAIN inline T from_bits(unsigned long long bits) {
  if constexpr (sizeof(T) == 4) {
    return __builtin_bit_cast(T, static_cast<unsigned>(bits));
  } else {
    return __builtin_bit_cast(T, bits);
  }
}

}  // namespace heddle::emulator

#define HEDDLE_SHUFFLE(NAME, OPERATION)                                                                             \
  template <class T>                                                                                                \
  HEDDLE_CALL T NAME(unsigned mask, T value, int argument, int width = 32, HEDDLE_CALLER) {                         \
    using namespace heddle::emulator;                                                                               \
    return from_bits<T>(                                                                                            \
        heddle_emulator_calls->warp(WarpOperation::OPERATION, mask, bits_of(value), argument, width, HEDDLE_LINE)); \
  }
HEDDLE_SHUFFLE(__shfl_sync, shuffle_index)
HEDDLE_SHUFFLE(__shfl_up_sync, shuffle_up)
HEDDLE_SHUFFLE(__shfl_down_sync, shuffle_down)
HEDDLE_SHUFFLE(__shfl_xor_sync, shuffle_xor)

#define HEDDLE_WARP(NAME, OPERATION, RESULT, VALUE)                                                       \
  HEDDLE_CALL RESULT NAME(unsigned mask, VALUE value, HEDDLE_CALLER) {                                    \
    using namespace heddle::emulator;                                                                     \
    return from_bits<RESULT>(                                                                             \
        heddle_emulator_calls->warp(WarpOperation::OPERATION, mask, bits_of(value), 0, 32, HEDDLE_LINE)); \
  }
HEDDLE_WARP(__all_sync, all, int, int)
HEDDLE_WARP(__any_sync, any, int, int)
HEDDLE_WARP(__ballot_sync, ballot, unsigned, int)
HEDDLE_WARP(__match_any_sync, match_any, unsigned, unsigned)
HEDDLE_WARP(__match_any_sync, match_any, unsigned, int)
HEDDLE_WARP(__match_any_sync, match_any, unsigned, float)
#if __CUDA_ARCH__ >= 800
HEDDLE_WARP(__reduce_add_sync, add, unsigned, unsigned)
HEDDLE_WARP(__reduce_add_sync, add, int, int)
HEDDLE_WARP(__reduce_min_sync, minimum, unsigned, unsigned)
HEDDLE_WARP(__reduce_min_sync, signed_minimum, int, int)
HEDDLE_WARP(__reduce_max_sync, maximum, unsigned, unsigned)
HEDDLE_WARP(__reduce_max_sync, signed_maximum, int, int)
HEDDLE_WARP(__reduce_and_sync, bit_and, unsigned, unsigned)
HEDDLE_WARP(__reduce_or_sync, bit_or, unsigned, unsigned)
HEDDLE_WARP(__reduce_xor_sync, bit_xor, unsigned, unsigned)
#endif
HEDDLE_CALL unsigned __match_all_sync(unsigned mask, unsigned value, int* same, HEDDLE_CALLER) {
  const auto lanes = static_cast<unsigned>(
      heddle_emulator_calls->warp(heddle::emulator::WarpOperation::match_all, mask, value, 0, 32, HEDDLE_LINE));
  *same = lanes != 0;
  return lanes;
}
HEDDLE_CALL void __syncwarp(unsigned mask = 0xffffffffu, HEDDLE_CALLER) {
  heddle_emulator_calls->warp(heddle::emulator::WarpOperation::sync, mask, 0, 0, 32, HEDDLE_LINE);
}
HEDDLE_CALL unsigned __activemask() { return heddle_emulator_calls->active_mask(); }

// Atomics: relaxed, as CUDA's are.
namespace heddle::emulator {

/// Sets *address to change(*address); returns what was there.
template <class T, class Change>
HEDDLE_CALL T exchange(T* address, const void* at, Change change) {
  heddle_emulator_calls->access(address, sizeof(T), kRead | kWrite | kAtomic, at);
  const T before = *address;
  *address = change(before);
  return before;
}

}  // namespace heddle::emulator

#define HEDDLE_ATOMIC(NAME, TYPE, CHANGE)                                                                             \
  HEDDLE_CALL TYPE NAME(TYPE* address, TYPE value) {                                                                  \
    return heddle::emulator::exchange(address, HEDDLE_AT, [value](TYPE old) HEDDLE_PLAIN -> TYPE { return CHANGE; }); \
  }
#define HEDDLE_ATOMICS(TYPE)                                                                                        \
  HEDDLE_ATOMIC(atomicAdd, TYPE, old + value)                                                                       \
  HEDDLE_ATOMIC(atomicExch, TYPE, value)                                                                            \
  HEDDLE_ATOMIC(atomicMin, TYPE, value < old ? value : old)                                                         \
  HEDDLE_ATOMIC(atomicMax, TYPE, old < value ? value : old)                                                         \
  HEDDLE_ATOMIC(atomicAnd, TYPE, old& value)                                                                        \
  HEDDLE_ATOMIC(atomicOr, TYPE, old | value)                                                                        \
  HEDDLE_ATOMIC(atomicXor, TYPE, old ^ value)                                                                       \
  HEDDLE_CALL TYPE atomicCAS(TYPE* address, TYPE compare, TYPE value) {                                             \
    return heddle::emulator::exchange(address, HEDDLE_AT,                                                           \
                                      [=](TYPE old) HEDDLE_PLAIN -> TYPE { return old == compare ? value : old; }); \
  }
HEDDLE_ATOMICS(int)
HEDDLE_ATOMICS(unsigned)
HEDDLE_ATOMICS(unsigned long long)
HEDDLE_ATOMIC(atomicSub, int, old - value)
HEDDLE_ATOMIC(atomicSub, unsigned, old - value)
HEDDLE_ATOMIC(atomicAdd, float, old + value)
HEDDLE_ATOMIC(atomicAdd, double, old + value)
HEDDLE_ATOMIC(atomicExch, float, value)

// Loads with a cache hint are loads.
template <class T>
__forceinline__ T __ldg(const T* from) {
  return *from;
}
template <class T>
__forceinline__ T __ldcg(const T* from) {
  return *from;
}
template <class T>
__forceinline__ T __ldcs(const T* from) {
  return *from;
}

HEDDLE_CALL void __trap() { heddle_emulator_calls->trap(HEDDLE_AT); }

// Without an order of memory between blocks that the emulator could follow: use kernels/common/exchange.cuh.
__attribute__((error("blocks exchange through the helpers of kernels/common/exchange.cuh"))) void __threadfence();
__attribute__((error("blocks exchange through the helpers of kernels/common/exchange.cuh"))) void __threadfence_block();
__attribute__((error("blocks exchange through the helpers of kernels/common/exchange.cuh"))) void
__threadfence_system();
