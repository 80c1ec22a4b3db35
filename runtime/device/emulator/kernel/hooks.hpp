// The functions that a compiler's sanitizer code generation calls, passed on to the emulator: -fsanitize=thread reports
// every load and store, -fsanitize=undefined what C++ leaves undefined. Neither runtime library is linked.
#pragma once

#include "heddle/runtime/device/emulator/kernel/interface.hpp"

/// Code of the emulated language itself, of which nothing is reported.
#define HEDDLE_PLAIN __attribute__((no_sanitize("thread"), no_sanitize("undefined")))
#define HEDDLE_HOOK extern "C" HEDDLE_PLAIN __attribute__((used, visibility("hidden"))) void

/// Set by the emulator when it loads the object.
extern "C" __attribute__((visibility("default"))) const heddle::emulator::Calls* heddle_emulator_calls;
const heddle::emulator::Calls* heddle_emulator_calls = nullptr;

#define HEDDLE_ACCESS(NAME, BYTES, TOUCH)                                                                \
  HEDDLE_HOOK NAME(void* address) {                                                                      \
    heddle_emulator_calls->access(address, BYTES, heddle::emulator::TOUCH, __builtin_return_address(0)); \
  }
#define HEDDLE_ACCESSES(BYTES)                                       \
  HEDDLE_ACCESS(__tsan_read##BYTES, BYTES, kRead)                    \
  HEDDLE_ACCESS(__tsan_write##BYTES, BYTES, kWrite)                  \
  HEDDLE_ACCESS(__tsan_unaligned_read##BYTES, BYTES, kRead)          \
  HEDDLE_ACCESS(__tsan_unaligned_write##BYTES, BYTES, kWrite)        \
  HEDDLE_ACCESS(__tsan_volatile_read##BYTES, BYTES, kRead)           \
  HEDDLE_ACCESS(__tsan_volatile_write##BYTES, BYTES, kWrite)         \
  HEDDLE_ACCESS(__tsan_unaligned_volatile_read##BYTES, BYTES, kRead) \
  HEDDLE_ACCESS(__tsan_unaligned_volatile_write##BYTES, BYTES, kWrite)
HEDDLE_ACCESSES(1)
HEDDLE_ACCESSES(2)
HEDDLE_ACCESSES(4)
HEDDLE_ACCESSES(8)
HEDDLE_ACCESSES(16)
HEDDLE_HOOK __tsan_read_range(void* address, unsigned long bytes) {
  heddle_emulator_calls->access(address, bytes, heddle::emulator::kRead, __builtin_return_address(0));
}
HEDDLE_HOOK __tsan_write_range(void* address, unsigned long bytes) {
  heddle_emulator_calls->access(address, bytes, heddle::emulator::kWrite, __builtin_return_address(0));
}
HEDDLE_HOOK __tsan_init() {}
HEDDLE_HOOK __tsan_func_entry(void*) {}
HEDDLE_HOOK __tsan_func_exit(void*) {}

// The first argument of each begins with the place in the source, except where the fault is a place of its own.
#define HEDDLE_UNDEFINED(NAME, WHAT)                                           \
  HEDDLE_HOOK __ubsan_handle_##NAME(void* data) {                              \
    heddle_emulator_calls->undefined(WHAT, data, __builtin_return_address(0)); \
  }
HEDDLE_UNDEFINED(type_mismatch_v1, "access through a null or misaligned pointer")
HEDDLE_UNDEFINED(out_of_bounds, "index outside an array")
HEDDLE_UNDEFINED(pointer_overflow, "pointer arithmetic on null, or beyond all memory")
HEDDLE_UNDEFINED(add_overflow, "overflow of a signed sum")
HEDDLE_UNDEFINED(sub_overflow, "overflow of a signed difference")
HEDDLE_UNDEFINED(mul_overflow, "overflow of a signed product")
HEDDLE_UNDEFINED(negate_overflow, "overflow of a negation")
HEDDLE_UNDEFINED(divrem_overflow, "division by zero, or its overflow")
HEDDLE_UNDEFINED(shift_out_of_bounds, "shift by more bits than there are")
HEDDLE_UNDEFINED(vla_bound_not_positive, "array without elements")
HEDDLE_UNDEFINED(load_invalid_value, "value that its type does not have")
HEDDLE_UNDEFINED(builtin_unreachable, "unreachable code reached")
HEDDLE_UNDEFINED(missing_return, "function ended without a value")
HEDDLE_UNDEFINED(float_cast_overflow, "floating-point value outside the integer's range")
HEDDLE_UNDEFINED(invalid_builtin, "zero given to a count of leading or trailing zeros")
HEDDLE_UNDEFINED(nonnull_arg, "null given where it is not allowed")
HEDDLE_UNDEFINED(nonnull_return_v1, "null returned where it is not allowed")
HEDDLE_UNDEFINED(alignment_assumption, "pointer less aligned than assumed")

namespace heddle::emulator {

template <class T>
inline constexpr char kKind = '<';
template <class T>
inline constexpr char kKind<T*> = 'p';
template <>
inline constexpr char kKind<int> = 'i';
template <>
inline constexpr char kKind<unsigned> = 'u';
template <>
inline constexpr char kKind<long> = 'l';
template <>
inline constexpr char kKind<long long> = 'l';
template <>
inline constexpr char kKind<unsigned long> = 'm';
template <>
inline constexpr char kKind<unsigned long long> = 'm';
template <>
inline constexpr char kKind<float> = 'f';
template <>
inline constexpr char kKind<double> = 'd';

HEDDLE_PLAIN inline char* write_number(char* end, unsigned long number) {
  if (number >= 10) end = write_number(end, number / 10);
  *end = static_cast<char>('0' + number % 10);
  return end + 1;
}

template <class T>
HEDDLE_PLAIN inline char* write_kind(char* end) {
  *end++ = kKind<T>;
  if (kKind<T> != '<') return end;
  end = write_number(end, sizeof(T));
  *end++ = '/';
  end = write_number(end, alignof(T));
  *end++ = '>';
  return end;
}

/// The parameters of a kernel: 'p' a pointer, 'i' an int, 'u' an unsigned int, 'l' and 'm' the same of 64 bits, 'f' a
/// float, 'd' a double, and for anything else its bytes and alignment, "<24/8>".
template <class... Parameter>
HEDDLE_PLAIN inline const char* parameters(void (*)(Parameter...)) {
  constexpr unsigned long kLongest = 44;  // two numbers of 64 bits, and three signs
  static char kinds[sizeof...(Parameter) * kLongest + 1];
  char* end = kinds;
  ((end = write_kind<Parameter>(end)), ...);
  *end = '\0';
  return kinds;
}

/// Calls a kernel with the values that `arguments` points to.
template <class... Parameter>
HEDDLE_PLAIN inline void start(void (*kernel)(Parameter...), void* const* arguments) {
  // Braces evaluate from left to right.
  struct Run {
    HEDDLE_PLAIN Run(void (*kernel)(Parameter...), Parameter... value) { kernel(value...); }
  };
  Run{kernel, *static_cast<Parameter*>(const_cast<void*>(*arguments++))...};
}

}  // namespace heddle::emulator
