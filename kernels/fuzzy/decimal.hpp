// Decimal texts and floating-point numbers, one turned into the other with bounds that hold.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "heddle/kernels/fuzzy/interval.hpp"

namespace heddle::fuzzy {

[[nodiscard]] constexpr bool is_digit(char c) { return c >= '0' && c <= '9'; }

/// The number that a text spells, between its closest neighbours in double. Both are the number itself where it is one.
struct Spelled {
  double down = 0.0;  ///< the largest double that is not above the number
  double near = 0.0;  ///< the one of the two that is closest
  double up = 0.0;    ///< the smallest double that is not below the number
};

/// The number that all of `text` spells: digits with or without a point, a sign, an exponent; or inf. Nothing for
/// anything else: nan, hexadecimal, words. The time grows with the length of the text and with nothing else.
///
/// Bounds in float are narrowed_down(down) and narrowed_up(up): rounding twice in one direction is rounding once.
[[nodiscard]] std::optional<Spelled> read_decimal(std::string_view text);

/// Appends a decimal that is not above (not below) `value`, which may be infinite but not nan. It is the shortest one
/// that only `value` is closest to, if that lies on the right side; otherwise it has 17 digits (9 in float).
template <class T>
void append_down(std::string& to, T value);
template <class T>
void append_up(std::string& to, T value);

/// Appends the shortest decimal that only `value` is closest to. Returns whether it is exactly `value`.
template <class T>
bool append_near(std::string& to, T value);

}  // namespace heddle::fuzzy
