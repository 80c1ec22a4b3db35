// Sizes of the sort that host and kernels agree on.
#pragma once

namespace heddle::fuzzy {

/// Digits of a key of so many bytes: one pass for each.
constexpr int digits_of_key(int bytes, int digit_bits) { return (8 * bytes + digit_bits - 1) / digit_bits; }

/// Words of shared memory that hold one thing first and another one later.
constexpr int words_in_turns(int first, int later) { return first > later ? first : later; }

}  // namespace heddle::fuzzy
