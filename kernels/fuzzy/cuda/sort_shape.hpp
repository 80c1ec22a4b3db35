// Sizes of the sort on a GPU that host code alone needs; those that kernels need, too, are in sort_sizes.cuh.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "heddle/kernels/fuzzy/sort.hpp"

namespace heddle::fuzzy {

inline constexpr std::int64_t kWordBytes = 4;

/// Values of the parameter "move".
inline constexpr std::string_view kApart = "apart", kInLastPass = "last_pass";

[[nodiscard]] constexpr std::int64_t divided_up(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

/// Whether launches can be set up while the one before them runs.
[[nodiscard]] inline bool launches_overlap(const DeviceIdentity& device) { return device.compute_capability() >= 90; }

/// Words of a number that lie next to each other.
[[nodiscard]] std::int64_t words_together(const ArrayShape& shape);
/// Whether a thread can move a whole number at once.
[[nodiscard]] bool is_one_pack(const ArrayShape& shape);
/// Bytes of numbers, all of them or one component of all, that stand together.
[[nodiscard]] std::int64_t array_bytes(const ArrayShape& shape);
/// How many of these stay in the L2 cache while all multiprocessors ask for numbers: an H200, whose cache has two
/// halves, behaves as if it had one (docs/performance.md, "Sort"). 0: nothing is known of the cache.
[[nodiscard]] std::int64_t kept_bytes(const DeviceIdentity& device);

/// How keys and positions are stored before, between and after the passes: what sort.cuh calls it, and the bytes of a
/// key and its position in shared memory.
struct Form {
  std::string name;
  std::int64_t item_bytes;
};

/// The sizes that follow from threads of a block, keys of a thread and bits of a digit.
struct SortSizes {
  SortSizes(std::int64_t threads, std::int64_t keys, std::int64_t bits, const ArrayShape& array);
  SortSizes(const Configuration& configuration, const ArrayShape& array);

  std::string_view real;
  std::int64_t block, items, digit_bits, key_bytes, digits, values, tiles, position_bits;

  /// Bits that are left of the keys after so many passes, in whole digits.
  [[nodiscard]] std::int64_t bits_left(std::int64_t passes) const;
  /// How keys and positions are stored after so many passes (sort.cuh).
  [[nodiscard]] Form form(std::int64_t passes) const;
  /// Of the pass after so many: a tile of keys and positions, counts of every warp, one number for each value, sums of
  /// warps, the number of the tile.
  [[nodiscard]] std::int64_t pass_shared_bytes(std::int64_t passes) const;
  [[nodiscard]] std::int64_t count_shared_bytes() const;
  // In words of the buffer "state".
  [[nodiscard]] std::int64_t histogram(std::int64_t digit) const;
  [[nodiscard]] std::int64_t reports(std::int64_t digit) const;
};

}  // namespace heddle::fuzzy
