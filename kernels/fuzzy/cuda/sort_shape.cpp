#include "heddle/kernels/fuzzy/cuda/sort_shape.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "heddle/kernels/common/cuda_limits.hpp"
#include "heddle/kernels/fuzzy/cuda/sort_sizes.cuh"

namespace heddle::fuzzy {
namespace {

constexpr std::int64_t kWordBits = 32;
constexpr std::int64_t kMostDigits = 32;  // places for the tile that is taken next, one for each digit

}  // namespace

std::int64_t words_together(const ArrayShape& shape) {
  return (shape.layout == kNumbers ? shape.components() : 1) * (shape.bits / 32);
}

bool is_one_pack(const ArrayShape& shape) {
  const std::int64_t words = words_together(shape);
  return shape.layout == kNumbers && (words == 1 || words == 2 || words == 4);
}

std::int64_t array_bytes(const ArrayShape& shape) { return shape.numbers * words_together(shape) * kWordBytes; }

std::int64_t kept_bytes(const DeviceIdentity& device) { return device.cache_bytes / 2; }

SortSizes::SortSizes(std::int64_t threads, std::int64_t keys, std::int64_t bits, const ArrayShape& array)
    : real(real_name(array)),
      block(threads),
      items(keys),
      digit_bits(bits),
      key_bytes(array.bits / 8),
      digits(digits_of_key(static_cast<int>(key_bytes), static_cast<int>(digit_bits))),
      values(std::int64_t{1} << digit_bits),
      tiles(divided_up(array.numbers, block * items)),
      position_bits(std::max(1, static_cast<int>(std::bit_width(static_cast<std::uint64_t>(array.numbers - 1))))) {}

SortSizes::SortSizes(const Configuration& configuration, const ArrayShape& array)
    : SortSizes(configuration.number("block_size"), configuration.number("coarsen_count"),
                configuration.number("digit_bits"), array) {}

std::int64_t SortSizes::bits_left(std::int64_t passes) const { return (digits - passes) * digit_bits; }

Form SortSizes::form(std::int64_t passes) const {
  const auto stored_as = [](std::string_view name, std::int64_t bytes) {
    return Form{fmt::format("heddle::fuzzy::{}", name), bytes};
  };
  if (passes == 0) return stored_as(fmt::format("Given<{}>", real), key_bytes + kWordBytes);
  if (passes == digits) return stored_as("Sorted", 0);
  if (bits_left(passes) + position_bits <= kWordBits) return stored_as("Packed", kWordBytes);
  if (8 * key_bytes - passes * digit_bits <= kWordBits) return stored_as("Separate<unsigned>", 2 * kWordBytes);
  return stored_as("Separate<unsigned long long>", 3 * kWordBytes);
}

std::int64_t SortSizes::pass_shared_bytes(std::int64_t passes) const {
  const std::int64_t warps = block / cuda::kWarp;
  return block * items * form(passes).item_bytes + kWordBytes * (warps * values + values + warps + 1);
}

std::int64_t SortSizes::count_shared_bytes() const {
  return kWordBytes * digits * values * count_copies(static_cast<int>(key_bytes));
}

std::int64_t SortSizes::histogram(std::int64_t digit) const { return kMostDigits + digit * values; }

std::int64_t SortSizes::reports(std::int64_t digit) const { return histogram(digits) + digit * tiles * values; }

}  // namespace heddle::fuzzy
