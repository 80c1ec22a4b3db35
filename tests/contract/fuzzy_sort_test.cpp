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

struct Apart {
  int block = 64, digit_bits = 6, width = 1, parts = 3;
  std::string launch = "ordered";
};

/// Small blocks, so that a few hundred numbers are several tiles that wait for each other; numbers move apart.
std::string small_tiles(const Apart& of = {}) {
  return fmt::format(
      "block_size={} blocks=1 coarsen_count=4 digit_bits={} same_digit=votes look_back=4 move=apart gather_width={} "
      "gather_block=256 gather_count=2 gather_parts={} launch={}",
      of.block, of.digit_bits, of.width, of.parts, of.launch);
}

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
      const Verdict verdict = verdict_of(*device, family, small_tiles(), {601, 2, 32, layout});
      CHECK_MESSAGE(verdict.status == Status::correct, verdict.message);
    }
    for (const std::int64_t bits : {32, 64}) {
      const Verdict verdict = verdict_of(*device, family,
                                         "block_size=64 blocks=1 coarsen_count=4 digit_bits=6 same_digit=match "
                                         "look_back=1 move=last_pass launch=overlapped",
                                         {601, 1, bits, 1});
      CHECK_MESSAGE(verdict.status == Status::correct, verdict.message);
    }
  }
}

TEST_CASE("few numbers and many are sorted, whenever what is left of a key and a position share a word") {
  const auto device = open_emulator();
  const KernelFamily& family = fuzzy::sort_family(Encoding::midpoint_radius);
  const auto problem = [&](std::int64_t numbers, std::int64_t bits) {
    return Problem::from(family.axes(), {numbers, 1, bits, 1});
  };
  // The most numbers whose positions have room beside so many bits of a key, and one more.
  struct Room {
    int digit_bits;
    std::int64_t numbers;
  };
  for (const Room room : {Room{6, 4}, Room{6, 256}, Room{7, 16}, Room{7, 2048}, Room{8, 256}}) {
    CAPTURE(room.digit_bits);
    CAPTURE(room.numbers);
    const Configuration parsed =
        family.space(device->identity())
            .parse(small_tiles({.block = 256, .digit_bits = room.digit_bits, .launch = "overlapped"}));
    const auto kernels = [&](std::int64_t numbers) {
      return family.plan(parsed, problem(numbers, 32), device->identity(), 1).kernels;
    };
    CHECK(kernels(room.numbers) != kernels(room.numbers + 1));
    for (const std::int64_t numbers : {std::int64_t{1}, room.numbers, room.numbers + 1}) {
      for (const std::int64_t bits : {32, 64}) {
        const Verdict verdict = Verifier(*device, family, 3).verify(parsed, problem(numbers, bits));
        CHECK_MESSAGE(verdict.status == Status::correct, verdict.message);
      }
    }
  }
}

TEST_CASE("all parts of an array move, whatever divides what") {
  const auto device = open_emulator();
  const KernelFamily& family = fuzzy::sort_family(Encoding::lower_upper);
  for (const int width : {1, 2, 4}) {
    for (const int parts : {1, 2, 3}) {
      // Numbers of 12 words, so that a block ends within one.
      for (const std::int64_t numbers : {1, 2, 4, 601}) {
        const Verdict verdict = verdict_of(*device, family, small_tiles({.width = width, .parts = parts}),
                                           {numbers, 3, 64, fuzzy::kNumbers});
        CHECK_MESSAGE(verdict.status == Status::correct, verdict.message);
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
    return verdict_of(*emulator, planted, small_tiles(), sizes).status;
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
  SUBCASE("a position is read with the digit that was sorted by below it") {
    CHECK(found({{"cuda/sort.cuh", "word >> (key_bits + DigitBits)", "word >> key_bits"}}) == Status::wrong_result);
  }
  SUBCASE("a position is written a bit too low") {
    CHECK(found({{"cuda/sort.cuh", "position << key_bits |", "position << (key_bits - 1) |"}}) ==
          Status::illegal_access);
  }
  const auto message_of = [&](const std::string& before, const std::string& after) {
    const ReplacedTemplates planted(family, "emulator", {{"cuda/sort.cuh", before, after}});
    return verdict_of(*emulator, planted, small_tiles({.launch = "overlapped"}), sizes).message;
  };
  const std::string waits = "  wait_for_previous_launch();\n", lets = "  let_next_launch_start();\n";
  const std::string unordered = "without wait_for_previous_launch()";
  SUBCASE("a pass does not wait for the one before it") {
    const std::string then = "  __syncthreads();\n  const int tile";
    CHECK(message_of(waits + lets + then, lets + then).find(unordered) != std::string::npos);
  }
  SUBCASE("the first pass may take tiles before their counters are cleared") {
    const std::string then = "  __syncthreads();\n  // Neigh";
    CHECK(message_of(waits + lets + then, lets + waits + then).find(unordered) != std::string::npos);
  }
  SUBCASE("one part of the numbers moves") {
    CHECK(found({{"cuda/sort.cuh", "blockIdx.y % parts * of_part", "0"}}) == Status::wrong_result);
  }
  SUBCASE("numbers at the end are in no part") {
    CHECK(found({{"cuda/sort.cuh", "(count + parts - 1) / parts", "count / parts"}}) == Status::wrong_result);
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
