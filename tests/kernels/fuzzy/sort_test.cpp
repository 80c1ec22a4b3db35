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

}  // namespace
}  // namespace heddle
