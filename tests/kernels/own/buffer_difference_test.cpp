#include "heddle/kernels/own/buffer_difference.hpp"

#include <doctest/doctest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <vector>

namespace heddle {
namespace {

template <class Number>
std::vector<std::byte> image(const std::vector<Number>& numbers) {
  std::vector<std::byte> bytes(numbers.size() * sizeof(Number));
  std::memcpy(bytes.data(), numbers.data(), bytes.size());
  return bytes;
}

double of_floats(const std::vector<float>& found, const std::vector<float>& expected) {
  return buffer_difference(ElementType::float32, image(found), image(expected));
}

constexpr double kInfinity = std::numeric_limits<double>::infinity();

TEST_CASE("rounding everywhere is as large as it is relative to the norm") {
  std::mt19937 random(std::random_device{}());
  std::normal_distribution<float> normal;
  std::vector<float> expected(100'003), found;
  found.reserve(expected.size());
  for (float& value : expected) {
    value = normal(random);
    found.push_back(value + 1e-6F * normal(random));
  }
  const double difference = of_floats(found, expected);
  CHECK(difference > 0.9e-6);
  CHECK(difference < 1.1e-6);
}

TEST_CASE("one wrong number among many is found") {
  std::vector<float> expected(1'000'003, 1.0F), found = expected;
  found[700'001] = 2.0F;
  CHECK(of_floats(found, expected) == doctest::Approx(0.1));
  found[700'001] = std::nanf("");
  CHECK(of_floats(found, expected) == kInfinity);
}

TEST_CASE("a small number may be off by as much as the usual one") {
  CHECK(of_floats({1.0F, 1e-3F}, {1.0F, 0.0F}) == doctest::Approx(1e-3));
  CHECK(of_floats({0.0F, 1e-3F}, {0.0F, 0.0F}) == kInfinity);
}

TEST_CASE("equal bytes are equal numbers, and what is not comparable is infinitely far") {
  const float infinite = std::numeric_limits<float>::infinity();
  CHECK(of_floats({infinite, 1.0F, std::nanf("")}, {infinite, 1.0F, std::nanf("")}) == 0.0);
  CHECK(of_floats({infinite, 1.0F}, {1.0F, 1.0F}) == kInfinity);
  const float negative = std::copysign(std::nanf(""), -1.0F), unwritten = std::bit_cast<float>(0xffffffffU);
  CHECK(of_floats({1.0F, negative}, {1.0F, std::nanf("")}) == 0.0);
  CHECK(of_floats({1.0F, unwritten}, {1.0F, std::nanf("")}) == kInfinity);
  CHECK(of_floats({1.0F}, {1.0F, 1.0F}) == kInfinity);
  CHECK(buffer_difference(ElementType::int32, image<int>({1, 2}), image<int>({1, 2})) == 0.0);
  CHECK(buffer_difference(ElementType::int32, image<int>({1, 2}), image<int>({1, 3})) == kInfinity);
  CHECK(buffer_difference(ElementType::float64, image<double>({1.0, 2.0}), image<double>({1.0, 2.5})) > 0.01);
}

}  // namespace
}  // namespace heddle
