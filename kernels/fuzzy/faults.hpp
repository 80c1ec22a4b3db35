// What is no fuzzy number, for host and device code alike. Compiled at run time too.
#pragma once

#include "heddle/kernels/fuzzy/rounding.hpp"

namespace heddle::fuzzy {

/// Rules for the components of one number, which lie next to each other. `fault`: what is wrong with them; null if
/// nothing is.

/// Lower and upper bounds of each cut.
struct BoundsRule {
  template <class T>
  static HEDDLE_EITHER const char* fault(const T* number, int components) {
    for (int c = 0; c < components; ++c) {
      if (number[c] != number[c]) return "nan";
    }
    for (int c = 0; c < components; c += 2) {
      const T lower = number[c], upper = number[c + 1];
      if (lower > upper) return "a lower bound above the upper one";
      // Operations take infinite bounds as those of the whole line.
      if (lower == Traits<T>::infinity) return "a lower bound of inf";
      if (upper == -Traits<T>::infinity) return "an upper bound of -inf";
      if ((lower == -Traits<T>::infinity) != (upper == Traits<T>::infinity)) {
        return "one infinite bound, which the whole line alone has";
      }
      if (c > 0 && (number[c] < number[c - 2] || number[c + 1] > number[c - 1])) {
        return "a cut outside of the one before";
      }
    }
    return nullptr;
  }
};

/// A midpoint, and a radius of each cut.
struct RadiiRule {
  template <class T>
  static HEDDLE_EITHER const char* fault(const T* number, int components) {
    for (int c = 0; c < components; ++c) {
      if (number[c] != number[c]) return "nan";
    }
    if (magnitude(number[0]) == Traits<T>::infinity) return "an infinite midpoint";
    for (int c = 1; c < components; ++c) {
      if (number[c] < T(0)) return "a radius below 0";
      if (c > 1 && number[c] > number[c - 1]) return "a cut outside of the one before";
    }
    return nullptr;
  }
};

/// One real number.
struct FiniteRule {
  template <class T>
  static HEDDLE_EITHER const char* fault(const T* number, int) {
    return magnitude(*number) < Traits<T>::infinity ? nullptr : "no finite number";
  }
};

}  // namespace heddle::fuzzy
