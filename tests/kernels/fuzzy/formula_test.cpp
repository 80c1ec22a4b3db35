#include "heddle/kernels/fuzzy/formula.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include "heddle/kernels/error.hpp"
#include "heddle/kernels/family_registry.hpp"
#include "heddle/kernels/fuzzy/host_cuts.hpp"
#include "heddle/kernels/fuzzy/map.hpp"
#include "heddle/kernels/fuzzy/workload.hpp"

namespace heddle::fuzzy {
namespace {

std::string refused(const std::string& text) {
  try {
    const Formula formula(text);
  } catch (const Error& error) {
    CHECK(error.kind() == ErrorKind::usage);
    return error.what();
  }
  return {};
}

/// The bounds of the one constant in "x + CONSTANT".
Interval<double> constant(const std::string& text) {
  const Formula formula("x+" + text);
  for (const Formula::Step& step : formula.steps()) {
    if (step.operation == Formula::Operation::constant) return {step.at_least, step.at_most};
  }
  return {1.0, -1.0};
}

constexpr int kFormulaCuts = 3;

/// What the formula makes of random arrays, beside what `right` makes of one number of all cuts.
template <class Number, class Right>
void compare(const char* text, Encoding encoding, const Right& right) {
  using T = typename Number::Real;
  const Formula formula(text);
  for (const Layout layout : {kNumbers, kCuts}) {
    const ArrayShape shape{encoding, 300, kFormulaCuts, sizeof(T) * 8, layout};
    std::vector<std::vector<std::byte>> arrays;
    std::vector<std::span<const std::byte>> views;
    arrays.reserve(formula.names().size());
    views.reserve(formula.names().size());
    for (std::size_t i = 0; i < formula.names().size(); ++i) {
      arrays.push_back(random_array(shape, 5 + i, NumberKind::hostile));
    }
    for (const auto& array : arrays) views.emplace_back(array);
    const std::vector<std::byte> result = evaluate(formula, shape, views);
    std::vector<T> found(result.size() / sizeof(T)), values(found.size());
    std::memcpy(found.data(), result.data(), result.size());
    int wrong = 0;
    for (std::int64_t i = 0; i < shape.numbers; ++i) {
      std::vector<Number> x(arrays.size());
      for (std::size_t k = 0; k < arrays.size(); ++k) {
        std::memcpy(values.data(), arrays[k].data(), arrays[k].size());
        for (int cut = 0; cut < kFormulaCuts; ++cut) {
          if constexpr (sizeof(Number) == 2 * kFormulaCuts * sizeof(T)) {
            x[k].lower[cut] = values[static_cast<std::size_t>(shape.place(i, 2 * cut))];
            x[k].upper[cut] = values[static_cast<std::size_t>(shape.place(i, 2 * cut + 1))];
          } else {
            x[k].midpoint = values[static_cast<std::size_t>(shape.place(i, 0))];
            x[k].radius[cut] = values[static_cast<std::size_t>(shape.place(i, 1 + cut))];
          }
        }
      }
      const Number expected = right(x);
      for (int cut = 0; cut < kFormulaCuts; ++cut) {
        const auto at = [&](std::int64_t c) { return found[static_cast<std::size_t>(shape.place(i, c))]; };
        if constexpr (sizeof(Number) == 2 * kFormulaCuts * sizeof(T)) {
          wrong += static_cast<int>(at(2 * cut) != expected.lower[cut] || at(2 * cut + 1) != expected.upper[cut]);
        } else {
          wrong += static_cast<int>(at(0) != expected.midpoint || at(1 + cut) != expected.radius[cut]);
        }
      }
    }
    CHECK_MESSAGE(wrong == 0, text);
  }
}

template <class Number>
void compare_all(Encoding encoding) {
  compare<Number>("a*b + c", encoding, [](const auto& x) { return x[0] * x[1] + x[2]; });
  compare<Number>("-(a - b)/a", encoding, [](const auto& x) { return -(x[0] - x[1]) / x[0]; });
  compare<Number>("exp(a)/b", encoding, [](const auto& x) { return exp(x[0]) / x[1]; });
  compare<Number>("log(a) - sqrt(b)", encoding, [](const auto& x) { return log(x[0]) - sqrt(x[1]); });
  compare<Number>("max(a, b)^3*min(a, b)**-2", encoding,
                  [](const auto& x) { return pow(max(x[0], x[1]), 3) * pow(min(x[0], x[1]), -2); });
  compare<Number>("-a^2 + 0.5*b - 3", encoding, [](const auto& x) {
    using T = typename Number::Real;
    return -pow(x[0], 2) + Number::crisp(T(0.5)) * x[1] - Number::crisp(T(3));
  });
}

TEST_CASE("a formula is what the number types make of its operations, cut by cut, in every form") {
  compare_all<LowerUpper<double, kFormulaCuts>>(Encoding::lower_upper);
  compare_all<LowerUpper<float, kFormulaCuts>>(Encoding::lower_upper);
  compare_all<MidpointRadius<double, kFormulaCuts>>(Encoding::midpoint_radius);
  compare_all<MidpointRadius<float, kFormulaCuts>>(Encoding::midpoint_radius);
}

TEST_CASE("constants are enclosed by their closest neighbours") {
  for (const char* text : {"0.5", "3", "1e3", "0", "0.0e9", "4503599627370497", "00012.50"}) {
    CAPTURE(text);
    CHECK(constant(text).lower == std::stod(text));
    CHECK(constant(text).upper == std::stod(text));
  }
  for (const char* text : {"0.1", "1e23", "9007199254740993", "3.141592653589793238", "1e-400", "2e-310", "5e-324",
                           "0.500000000000000000000000000000000000000000000000000001"}) {
    CAPTURE(text);
    const Interval<double> bounds = constant(text);
    CHECK(bounds.upper == std::nextafter(bounds.lower, std::numeric_limits<double>::infinity()));
    const long double near = std::stold(text);
    CHECK(static_cast<long double>(bounds.lower) <= near);
    CHECK(near <= static_cast<long double>(bounds.upper));
  }
}

TEST_CASE("names and spaces do not matter, and a family is called after what does") {
  const Formula formula(" power *volts+ power ");
  CHECK(formula.names() == std::vector<std::string>{"power", "volts"});
  CHECK(formula.canonical() == "x1*x2+x1");
  CHECK(map_name(formula, Encoding::lower_upper) == map_name(Formula("a*b+a"), Encoding::lower_upper));
  CHECK(map_name(formula, Encoding::lower_upper) != map_name(formula, Encoding::midpoint_radius));
  CHECK(map_name(formula, Encoding::lower_upper) != map_name(Formula("a*b+b"), Encoding::lower_upper));
  FamilyRegistry families = builtin_families();
  const KernelFamily& family = families.add(describe_map(formula, Encoding::midpoint_radius));
  CHECK(family.name() == map_name(formula, Encoding::midpoint_radius));
  CHECK(family.name().starts_with("fuzzy-map-mr@"));
  CHECK_FALSE(family.tuned_unasked());
}

TEST_CASE("a formula of the greatest length makes a family, though its canonical text is longer") {
  std::string text = "a+b+c+d+e+f+g+h+i+j+k+l+m+n+o+0.";
  text.append(Formula::kLongest - text.size(), '3');
  const Formula formula(text);
  CHECK(formula.canonical().size() > Formula::kLongest);
  FamilyRegistry families = builtin_families();
  const KernelFamily& family = families.add(describe_map(formula, Encoding::lower_upper));
  CHECK(family.name() == map_name(formula, Encoding::lower_upper));
  CHECK_THROWS_AS(Formula(text + "3"), Error);
}

TEST_CASE("what is no formula is refused with its place") {
  CHECK(refused("a*b +").find("its end") != std::string::npos);
  CHECK(refused("a $ b").find("character 3") != std::string::npos);
  CHECK(refused("sin(a)").find("sqrt, exp, log, min or max") != std::string::npos);
  CHECK(refused("min(a)").find("','") != std::string::npos);
  CHECK(refused("1 + 2").find("names no input") != std::string::npos);
  CHECK(refused("a^b").find("whole number") != std::string::npos);
  CHECK(refused("a^1.5").find("whole number") != std::string::npos);
  CHECK(refused("a^99999999").find("whole number") != std::string::npos);
  CHECK(refused("a + 1e400").find("float64") != std::string::npos);
  CHECK(refused("a + 1e").find("decimal number") != std::string::npos);
  CHECK(refused("a + .").find("decimal number") != std::string::npos);
  CHECK(refused("a + 1e-").find("decimal number") != std::string::npos);
  for (const char* text : {"", "(a", "a)", "a b", "a^2^3", "2a", "a..2", "*a", "a,b", "max(a,b,c)", "\x80", "exp a"}) {
    CAPTURE(text);
    CHECK_FALSE(refused(text).empty());
  }
  CHECK_FALSE(refused(std::string(1000, '(') + "a").empty());
  CHECK_FALSE(refused(std::string(500, '-') + "a").empty());
  CHECK_FALSE(refused(std::string(5000, 'a')).empty());
  std::string many = "a";
  for (int i = 0; i < 400; ++i) many += "+a*a";
  CHECK(refused(many).find("operations") != std::string::npos);
  std::string names = "n0";
  for (int i = 1; i <= 16; ++i) names += "+n" + std::to_string(i);
  CHECK(refused(names).find("names") != std::string::npos);
}

}  // namespace
}  // namespace heddle::fuzzy
