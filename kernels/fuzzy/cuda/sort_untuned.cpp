// Which mapping a sort on a GPU has before it is tuned. What is chosen was fastest on an H200 (docs/performance.md,
// "Sort").
#include "heddle/kernels/fuzzy/cuda/sort_untuned.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <vector>

#include "heddle/kernels/fuzzy/cuda/sort_shape.hpp"

namespace heddle::fuzzy {
namespace {

constexpr std::int64_t kDigitBits = 8;
constexpr std::int64_t kReservedBytes = 1024;  // of shared memory, which CUDA takes for each block

/// Threads of a block and keys of a thread. All blocks that are at work together take about as long, so that the time
/// is that of whole rounds, and a few keys more or less for a thread may save one.
std::string default_tile(const DeviceIdentity& device, const ArrayShape& shape) {
  constexpr std::int64_t kBlocks = 2;                      // at a multiprocessor
  constexpr std::int64_t kRoom = std::int64_t{96} << 10U;  // of shared memory, for blocks of many threads
  // A tile of any size takes this long, as the time that so many keys of a thread take; and a block that has a
  // multiprocessor to itself this part of its time.
  constexpr double kOverhead = 3, kAlone = 0.6;
  struct Tiles {
    std::int64_t block;
    std::vector<std::int64_t> items;  // larger ones were not faster
  };
  const Tiles tiles = device.local_bytes < kRoom ? Tiles{256, {8, 4}}
                      : shape.is_double()        ? Tiles{384, {18, 16, 15, 14, 12, 10, 8, 4}}
                                                 : Tiles{512, {20, 19, 18, 16, 15, 14, 12, 10, 8, 4}};
  const std::int64_t units = std::max<std::int64_t>(device.units, 1);
  const auto time = [&](std::int64_t items) {
    const SortSizes sizes(tiles.block, items, kDigitBits, shape);
    const std::int64_t bytes = sizes.pass_shared_bytes(0);
    if (bytes > device.local_bytes) return std::numeric_limits<double>::infinity();
    const std::int64_t at_once =
        std::clamp((device.local_bytes + kReservedBytes) / (bytes + kReservedBytes), std::int64_t{1}, kBlocks);
    const auto time_of_round = [&](std::int64_t count) { return count == 0 ? 0.0 : count <= units ? kAlone : 1.0; };
    const std::int64_t rounds = sizes.tiles / (at_once * units);
    return (static_cast<double>(rounds) * time_of_round(at_once * units) +
            time_of_round(sizes.tiles % (at_once * units))) *
           (static_cast<double>(items) + kOverhead);
  };
  return fmt::format("block_size={} blocks={} coarsen_count={}", tiles.block, kBlocks,
                     *std::ranges::min_element(tiles.items, {}, time));
}

/// Parts of an array, of which each stays in the cache. Only where a miss brings many numbers, and an array has few
/// parts: else the gather gets slower.
std::int64_t gather_parts(const DeviceIdentity& device, const ArrayShape& shape) {
  constexpr std::int64_t kMostParts = 3, kMostWords = 2;
  const std::int64_t kept = kept_bytes(device), bytes = array_bytes(shape);
  return words_together(shape) > kMostWords || bytes > kMostParts * kept ? 1 : divided_up(bytes, kept);
}

}  // namespace

std::string untuned_sort(const DeviceIdentity& device, const ArrayShape& shape) {
  std::string text =
      fmt::format("{} digit_bits={} same_digit=votes look_back=4", default_tile(device, shape), kDigitBits);
  // Numbers of 8 bytes are faster moved apart.
  constexpr std::int64_t kMovedApart = 2;  // words
  if (is_one_pack(shape) && words_together(shape) != kMovedApart) {
    text += fmt::format(" move={}", kInLastPass);
  } else {
    std::int64_t width = 4;
    while (words_together(shape) % width != 0) width /= 2;
    const std::int64_t parts = gather_parts(device, shape);
    text += fmt::format(" move={} gather_width={} gather_block=256 gather_count={} gather_parts={}", kApart, width,
                        parts > 1 ? 4 : 2, parts);
  }
  // Drivers before CUDA 12.3 know nothing of overlapping launches in a graph.
  if (launches_overlap(device)) text += " launch=ordered";
  return text;
}

}  // namespace heddle::fuzzy
