// Sizes of the sort that host and kernels agree on.
#pragma once

namespace heddle::fuzzy {

/// Digits of a key of so many bytes: one pass for each.
constexpr int digits_of_key(int bytes, int digit_bits) { return (8 * bytes + digit_bits - 1) / digit_bits; }

/// Of each counter in shared memory, so that not all lanes count in one word.
constexpr int count_copies(int key_bytes) { return key_bytes == 4 ? 4 : 2; }

}  // namespace heddle::fuzzy
