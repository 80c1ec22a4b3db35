// Sorts of fuzzy numbers on the emulator and the CPU, and faults in them that verification has to find.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <string>
#include <vector>

#include "heddle/kernels/fuzzy/sort.hpp"
#include "heddle/kernels/replaced_templates.hpp"
#include "heddle/runtime/device/cpu/cpu_device.hpp"
#include "heddle/runtime/device/emulator/emulator_device.hpp"
#include "heddle/tuner/verifier.hpp"

namespace heddle {
namespace {

using fuzzy::Encoding;

// Small blocks, so that a few hundred numbers are several tiles that wait for each other.
constexpr const char* kSmallTiles =
    "block_size=64 blocks=1 coarsen_count=4 digit_bits=6 same_digit=votes look_back=4 move=apart gather_width=1 "
    "gather_block=256 gather_count=2 ahead=0 launch=ordered";
const std::string kOverlapped =
    std::string(kSmallTiles).replace(std::string(kSmallTiles).rfind("ordered"), 7, "overlapped");

Verdict verdict_of(Device& device, const KernelFamily& family, const std::string& configuration,
                   const std::vector<AxisValue>& sizes) {
  return Verifier(device, family, 3)
      .verify(family.space(device.identity()).parse(configuration), Problem::from(family.axes(), sizes));
}

TEST_CASE("numbers are sorted on the emulator, whichever way they move and in any order of blocks") {
  for (const std::uint64_t order : {0, 1, 2}) {
    const auto device = open_emulator({.order = order});
    const KernelFamily& family = fuzzy::sort_family(order == 0 ? Encoding::midpoint_radius : Encoding::lower_upper);
    for (const std::int64_t layout : {1, 2}) {
      const Verdict verdict = verdict_of(*device, family, kSmallTiles, {601, 2, 32, layout});
      CHECK_MESSAGE(verdict.status == Status::correct, verdict.message);
    }
    for (const std::int64_t bits : {32, 64}) {
      const Verdict verdict = verdict_of(*device, family,
                                         "block_size=64 blocks=1 coarsen_count=4 digit_bits=6 same_digit=match "
                                         "look_back=1 move=last_pass ahead=2 launch=overlapped",
                                         {601, 1, bits, 1});
      CHECK_MESSAGE(verdict.status == Status::correct, verdict.message);
    }
  }
}

TEST_CASE("tiles that are brought into the cache ahead are in bounds on the emulator") {
  const auto device = open_emulator();
  const KernelFamily& family = fuzzy::sort_family(Encoding::lower_upper);
  // One tile more than are at work at once, and a part of one.
  const std::int64_t numbers = 256 * (device->identity().units + 1) + 3;
  const std::string ahead =
      "block_size=64 blocks=1 coarsen_count=4 digit_bits=6 same_digit=match look_back=1 move=last_pass ahead=1 "
      "launch=ordered";
  const std::vector<AxisValue> sizes{numbers, 1, 32, 1};
  const Verdict verdict = verdict_of(*device, family, ahead, sizes);
  CHECK_MESSAGE(verdict.status == Status::correct, verdict.message);
  const ReplacedTemplates planted(family, "emulator", {{"cuda/sort.cuh", "min(count - from, Tile) / 4 * 4", "Tile"}});
  CHECK(verdict_of(*device, planted, ahead, sizes).status == Status::illegal_access);
}

// What is left of a key and a position share a word as soon as there is room: for 2 numbers after the first pass over
// float keys, for 1025 later than for 1024.
TEST_CASE("few numbers and many are sorted, whenever keys and positions become one word") {
  const auto device = open_emulator();
  const KernelFamily& family = fuzzy::sort_family(Encoding::midpoint_radius);
  for (const std::int64_t bits : {32, 64}) {
    for (const std::int64_t numbers : {1, 2, 64, 1024, 1025}) {
      for (const std::int64_t digit_bits : {6, 7, 8}) {
        const Verdict verdict = verdict_of(
            *device, family,
            fmt::format("block_size=256 blocks=1 coarsen_count=4 digit_bits={} same_digit=votes look_back=4 move=apart "
                        "gather_width=1 gather_block=256 gather_count=2 ahead=1 launch=overlapped",
                        digit_bits),
            {numbers, 1, bits, 1});
        CHECK_MESSAGE(verdict.status == Status::correct,
                      fmt::format("{} numbers, {} bits: {}", numbers, bits, verdict.message));
      }
    }
  }
}

TEST_CASE("faults in a sort are found") {
  const auto emulator = open_emulator();
  const KernelFamily& family = fuzzy::sort_family(Encoding::lower_upper);
  const std::vector<AxisValue> sizes{601, 1, 32, 1};
  const auto found = [&](const std::vector<Replacement>& replacements) {
    const ReplacedTemplates planted(family, "emulator", replacements);
    return verdict_of(*emulator, planted, kSmallTiles, sizes).status;
  };
  SUBCASE("equal keys change places") {
    CHECK(found({{"cuda/sort.cuh", "same & ((1U << lane) - 1)", "same & ~((2U << lane) - 1)"}}) != Status::correct);
  }
  SUBCASE("-0 and 0 are told apart") {
    CHECK(found({{"cuda/sort.cuh", "order = size == 0 ? SortKey<Real>::kSign : order;", ""}}) == Status::wrong_result);
  }
  SUBCASE("keys that are no number are where their bits are") {
    CHECK(found({{"cuda/sort.cuh", "return size > SortKey<Real>::kInfinity ? ~Bits{0} : order;", "return order;"}}) ==
          Status::wrong_result);
  }
  SUBCASE("a position loses the digit that a key has lost") {
    CHECK(found({{"cuda/sort.cuh", "key >> (key_bits + DigitBits)", "key >> key_bits"}}) != Status::correct);
  }
  SUBCASE("what is left of a key reaches into the position") {
    CHECK(found({{"cuda/sort.cuh", "position << key_bits |", "position << (key_bits - 1) |"}}) != Status::correct);
  }
  SUBCASE("a pass does not wait for the one before it") {
    const ReplacedTemplates planted(
        family, "emulator",
        {{"cuda/sort.cuh",
          "  wait_for_previous_launch();\n  let_next_launch_start();\n  __syncthreads();\n  const int tile",
          "  __syncthreads();\n  const int tile"}});
    CHECK(verdict_of(*emulator, planted, kOverlapped, sizes).status != Status::correct);
  }
  SUBCASE("a tile reports what is before it, without itself") {
    CHECK(found({{"cuda/sort.cuh", "kUpToTile | (of_all + of_value)", "kUpToTile | of_all"}}) != Status::correct);
  }
}

TEST_CASE("faults in a sort on the CPU are found") {
  const auto device = open_cpu_device();
  const KernelFamily& family = fuzzy::sort_family(Encoding::lower_upper);
  const std::vector<AxisValue> sizes{1001, 2, 64, 2};
  CHECK(verdict_of(*device, family, "digit_bits=8 threads=1", sizes).status == Status::correct);
  const ReplacedTemplates planted(family, "cpu", {{"cpu/sort.hpp", "if (size == 0) return sign;", ""}});
  CHECK(verdict_of(*device, planted, "digit_bits=8 threads=1", sizes).status == Status::wrong_result);
}

}  // namespace
}  // namespace heddle
