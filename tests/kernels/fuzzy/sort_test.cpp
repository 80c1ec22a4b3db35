#include "heddle/kernels/fuzzy/sort.hpp"

#include <doctest/doctest.h>

#include <cstring>
#include <limits>
#include <string>
#include <vector>

namespace heddle {
namespace {

using fuzzy::ArrayFamily;
using fuzzy::Encoding;

template <class T>
std::vector<std::byte> as_bytes(const std::vector<T>& values) {
  std::vector<std::byte> bytes(values.size() * sizeof(T));
  std::memcpy(bytes.data(), values.data(), bytes.size());
  return bytes;
}

const ArrayFamily& array_family(Encoding encoding) {
  return dynamic_cast<const ArrayFamily&>(fuzzy::sort_family(encoding));
}

TEST_CASE("numbers are sorted by their keys: equal ones stay in order, what is no number comes last") {
  constexpr double infinity = std::numeric_limits<double>::infinity(),
                   nothing = std::numeric_limits<double>::quiet_NaN();
  const ArrayFamily& family = array_family(Encoding::midpoint_radius);
  const Problem problem = Problem::from(family.axes(), {8, 1, 64, fuzzy::kNumbers});
  const std::vector<double> keys{nothing, 1.0, 0.0, -0.0, -infinity, 1.0, infinity, -nothing};
  std::vector<double> numbers, right;
  numbers.reserve(2 * keys.size());
  right.reserve(2 * keys.size());
  for (std::size_t i = 0; i < keys.size(); ++i) {
    numbers.push_back(static_cast<double>(i));  // midpoint
    numbers.push_back(static_cast<double>(i) / 8.0);
  }
  const std::vector<std::uint32_t> positions{4, 2, 3, 1, 5, 6, 0, 7};
  for (const std::uint32_t at : positions) {
    right.push_back(static_cast<double>(at));
    right.push_back(static_cast<double>(at) / 8.0);
  }
  const HostImage sorted = family.expected(problem, {{"keys", as_bytes(keys)}, {"numbers", as_bytes(numbers)}});
  CHECK(sorted.at("positions") == as_bytes(positions));
  CHECK(sorted.at("sorted") == as_bytes(right));
}

TEST_CASE("a sort of either layout moves the same numbers") {
  for (const Encoding encoding : {Encoding::lower_upper, Encoding::midpoint_radius}) {
    const ArrayFamily& family = array_family(encoding);
    const auto shape = [&](fuzzy::Layout layout) {
      return fuzzy::ArrayShape{.encoding = encoding, .numbers = 50, .cuts = 3, .bits = 32, .layout = layout};
    };
    const fuzzy::ArrayShape together = shape(fuzzy::kNumbers), apart = shape(fuzzy::kCuts);
    const auto components = static_cast<std::size_t>(together.components());
    std::vector<float> keys, numbers(50 * components), cuts(50 * components);
    keys.reserve(50);
    for (std::int64_t i = 0; i < 50; ++i) {
      keys.push_back(static_cast<float>(i * 7 % 50));
      for (std::int64_t c = 0; c < together.components(); ++c) {
        const auto value = static_cast<float>(100 * i + c);
        numbers[static_cast<std::size_t>(together.place(i, c))] = cuts[static_cast<std::size_t>(apart.place(i, c))] =
            value;
      }
    }
    const auto sorted = [&](fuzzy::Layout layout, const std::vector<float>& array) {
      const Problem problem = Problem::from(family.axes(), {50, 3, 32, layout});
      const HostImage image = family.expected(problem, {{"keys", as_bytes(keys)}, {"numbers", as_bytes(array)}});
      std::vector<float> result(array.size());
      std::memcpy(result.data(), image.at("sorted").data(), image.at("sorted").size());
      return result;
    };
    const std::vector<float> a = sorted(fuzzy::kNumbers, numbers), b = sorted(fuzzy::kCuts, cuts);
    for (std::int64_t i = 0; i < 50; ++i) {
      for (std::int64_t c = 0; c < together.components(); ++c) {
        CHECK(a[static_cast<std::size_t>(together.place(i, c))] == b[static_cast<std::size_t>(apart.place(i, c))]);
      }
    }
  }
}

TEST_CASE("more numbers than a sort can count are refused") {
  const KernelFamily& family = fuzzy::sort_family(Encoding::lower_upper);
  const DeviceIdentity gpu{"cuda", "any", "9.0", 132, 80, 50 << 20, 227 << 10};
  const auto violated = [&](std::int64_t numbers) {
    const Problem problem = Problem::from(family.axes(), {numbers, 4, 32, fuzzy::kNumbers});
    return family.space(gpu).violated(family.default_configuration(gpu, problem), problem).value_or("");
  };
  CHECK(violated(fuzzy::kMostSorted).empty());
  CHECK(violated(fuzzy::kMostSorted + 1).find("at most 1073741823 numbers") != std::string::npos);
}

TEST_CASE("an untuned sort takes whole rounds of tiles, and parts of arrays that the cache keeps") {
  const ArrayFamily& family = array_family(Encoding::lower_upper);
  const DeviceIdentity card{.backend = "cuda",
                            .name = "any",
                            .architecture = "9.0",
                            .units = 132,
                            .memory_gib = 80,
                            .cache_bytes = 60 << 20,
                            .local_bytes = 227 << 10};
  const auto untuned = [&](const DeviceIdentity& device, std::int64_t numbers, std::int64_t cuts, std::int64_t bits) {
    return family.default_configuration(device, Problem::from(family.axes(), {numbers, cuts, bits, fuzzy::kNumbers}));
  };
  SUBCASE("tiles") {
    // 1028 tiles of 512 x 19 keys are 3.9 rounds of two blocks for each multiprocessor; 131 of 512 x 15 are half a
    // round, and 1447 of 384 x 18 are five and a half.
    CHECK(untuned(card, 10'000'000, 1, 32).number("coarsen_count") == 19);
    CHECK(untuned(card, 1'000'000, 1, 32).number("coarsen_count") == 15);
    CHECK(untuned(card, 10'000'000, 1, 64).number("coarsen_count") == 18);
  }
  SUBCASE("tiles where one block fills a multiprocessor's shared memory") {
    DeviceIdentity other = card;
    other.units = 108;
    other.local_bytes = 163 << 10;
    CHECK(untuned(other, 10'000'000, 1, 32).number("coarsen_count") == 14);
  }
  SUBCASE("parts") {
    const std::int64_t kept = (card.cache_bytes / 2) / 8;  // numbers of two floats
    const auto parts = [&](std::int64_t numbers) { return untuned(card, numbers, 1, 32).number("gather_parts"); };
    CHECK(parts(1) == 1);
    CHECK(parts(kept) == 1);
    CHECK(parts(kept + 1) == 2);
    CHECK(parts(3 * kept) == 3);
    CHECK(parts(3 * kept + 1) == 1);
    CHECK(untuned(card, kept, 3, 32).number("gather_parts") == 1);  // three times as large, and 24 bytes a number
    DeviceIdentity unknown = card;
    unknown.cache_bytes = 0;
    CHECK(untuned(unknown, kept + 1, 1, 32).number("gather_parts") == 1);
  }
  SUBCASE("a card whose launches cannot overlap") {
    DeviceIdentity older = card;
    older.architecture = "8.0";
    CHECK_FALSE(untuned(older, 10'000'000, 1, 32).has("launch"));
  }
}

}  // namespace
}  // namespace heddle
