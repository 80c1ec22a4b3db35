// Sorts numbers by their keys on a CPU. Compiled at run time, and at build time for the default.
//
// A radix sort from the least significant digit on: the parts of the work count the values of a digit in their share of
// the keys, and then each moves its share to where the counts say, so that the order of equal keys stays. A digit that
// is the same in all keys is left out. At last each number moves once.
//
//   parameter  meaning
//   Real       type of keys and components
//   DigitBits  bits of a digit
#pragma once

#include "heddle/kernels/common/cpu_launch.hpp"

namespace heddle::fuzzy::cpu {
// Unnamed, so that objects compiled for different instruction sets keep their own code.
namespace {

using heddle::cpu::LaunchContext;
using heddle::cpu::meet;

template <class Real>
struct SortBits;
template <>
struct SortBits<float> {
  using Type = unsigned;
  static constexpr Type infinity = 0x7f800000U;
};
template <>
struct SortBits<double> {
  using Type = unsigned long long;
  static constexpr Type infinity = 0x7ff0000000000000ULL;
};

/// A key as an unsigned number that orders like it, and where its number lies.
template <class Real>
struct SortItem {
  using Bits = typename SortBits<Real>::Type;
  Bits key;
  unsigned position;
};

/// From -infinity to infinity; -0 and 0 are equal, and what is no number comes last.
template <class Real>
typename SortBits<Real>::Type sortable(Real key) {
  using Bits = typename SortBits<Real>::Type;
  constexpr Bits sign = Bits{1} << (8 * sizeof(Bits) - 1);
  const Bits bits = __builtin_bit_cast(Bits, key), size = bits & ~sign;
  if (size > SortBits<Real>::infinity) return ~Bits{0};
  if (size == 0) return sign;
  return size == bits ? bits | sign : ~bits;
}

/// The arguments of the kernel, in their order.
template <class Real>
struct SortArguments {
  const Real *keys, *numbers;
  Real* sorted;
  unsigned* positions;
  SortItem<Real>* items[2];
  long long* counts;  ///< [part][value]
  long long count;
  long long components;
  bool next_to_each_other;  ///< a number's components
  long long parts;

  explicit SortArguments(void* const* a)
      : keys(static_cast<const Real*>(a[0])),
        numbers(static_cast<const Real*>(a[1])),
        sorted(static_cast<Real*>(a[2])),
        positions(static_cast<unsigned*>(a[3])),
        items{static_cast<SortItem<Real>*>(a[4]), static_cast<SortItem<Real>*>(a[5])},
        counts(static_cast<long long*>(a[6])),
        count(*static_cast<const long long*>(a[7])),
        components(*static_cast<const long long*>(a[8])),
        next_to_each_other(*static_cast<const int*>(a[9]) == 1),
        parts(*static_cast<const int*>(a[10])) {}

  /// Calls action(part, first, end) for the parts of a thread.
  template <class Action>
  void for_parts(const LaunchContext& context, const Action& action) const {
    for (long long part = context.thread; part < parts; part += context.threads) {
      action(part, count * part / parts, count * (part + 1) / parts);
    }
  }
};

/// Moves number positions[i] to place i, for i from `first` to `end` - 1.
template <class Real>
void move_numbers(const SortArguments<Real>& of, const SortItem<Real>* items, long long first, long long end) {
  constexpr long long kAhead = 16;  // numbers; memory answers after about as many
  for (long long i = first; i < end; ++i) of.positions[i] = items[i].position;
  if (of.next_to_each_other) {
    for (long long i = first; i < end; ++i) {
      __builtin_prefetch(of.numbers + of.positions[i + kAhead < end ? i + kAhead : i] * of.components);
      const Real* const from = of.numbers + of.positions[i] * of.components;
      for (long long c = 0; c < of.components; ++c) of.sorted[i * of.components + c] = from[c];
    }
    return;
  }
  for (long long c = 0; c < of.components; ++c) {
    for (long long i = first; i < end; ++i) of.sorted[c * of.count + i] = of.numbers[c * of.count + of.positions[i]];
  }
}

template <class Real, int DigitBits>
void sort(const LaunchContext& context, void* const* arguments) {
  using Bits = typename SortBits<Real>::Type;
  constexpr int kValues = 1 << DigitBits, kBits = 8 * sizeof(Bits);
  const SortArguments<Real> of(arguments);
  unsigned round = 0;
  of.for_parts(context, [&](long long, long long first, long long end) {
    for (long long i = first; i < end; ++i) of.items[0][i] = {sortable(of.keys[i]), static_cast<unsigned>(i)};
  });
  int at = 0;
  for (int shift = 0; shift < kBits; shift += DigitBits) {
    const auto digit = [shift](const SortItem<Real>& item) { return item.key >> shift & (kValues - 1); };
    const SortItem<Real>* const from = of.items[at];
    SortItem<Real>* const to = of.items[1 - at];
    of.for_parts(context, [&](long long part, long long first, long long end) {
      long long* const counts = of.counts + part * kValues;
      for (int value = 0; value < kValues; ++value) counts[value] = 0;
      for (long long i = first; i < end; ++i) ++counts[digit(from[i])];
    });
    meet(context, ++round);
    long long same = 0;
    for (long long part = 0; part < of.parts; ++part) same += of.counts[part * kValues + digit(from[0])];
    if (same < of.count) {
      of.for_parts(context, [&](long long part, long long first, long long end) {
        long long next[kValues], before = 0;
        for (int value = 0; value < kValues; ++value) {
          for (long long p = 0; p < of.parts; ++p) {
            if (p == part) next[value] = before;
            before += of.counts[p * kValues + value];
          }
        }
        for (long long i = first; i < end; ++i) to[next[digit(from[i])]++] = from[i];
      });
      at = 1 - at;
    }
    meet(context, ++round);
  }
  of.for_parts(context, [&](long long, long long first, long long end) { move_numbers(of, of.items[at], first, end); });
}

}  // namespace
}  // namespace heddle::fuzzy::cpu
