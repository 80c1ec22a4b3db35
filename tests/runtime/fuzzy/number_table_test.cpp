#include "heddle/runtime/fuzzy/number_table.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <random>
#include <string>
#include <vector>

#include "heddle/kernels/fuzzy/decimal.hpp"
#include "runtime/data/data_folder.hpp"

namespace heddle::fuzzy {
namespace {

using Doubles = std::vector<double>;
constexpr double kInfinite = Traits<double>::infinity;
constexpr Encoding lu = Encoding::lower_upper, mr = Encoding::midpoint_radius;

template <class T = double>
Numbers<T> load(const std::string& bytes, const NumberFormat& format) {
  const DataFolder folder;
  return read_numbers<T>(folder.write("f", bytes), format);
}

std::string refused(const std::string& bytes, const NumberFormat& format) {
  const DataFolder folder;
  const auto file = folder.write("f", bytes);
  return refusal(folder, ErrorKind::input, [&] { (void)read_numbers<double>(file, format); });
}

TEST_CASE("rows are crisp, triangular, trapezoidal, or the bounds of cuts") {
  const NumberFormat three{.encoding = lu, .cuts = 3};
  CHECK(load("1\n-2.5\n", three).values == Doubles{1, 1, 1, 1, 1, 1, -2.5, -2.5, -2.5, -2.5, -2.5, -2.5});
  CHECK(load("0,2,6\n", three).values == Doubles{0, 6, 1, 4, 2, 2});
  CHECK(load("a b c\n0 2 6\n", three).values == Doubles{0, 6, 1, 4, 2, 2});
  CHECK(load("0,2,3,5\r\n", three).values == Doubles{0, 5, 1, 4, 2, 3});
  CHECK(load("0,5,1,4,2,3\n", three).values == Doubles{0, 5, 1, 4, 2, 3});
  CHECK(load("x,y,z,u,v,w\n0,5,1,4,2,3\n", three).values == Doubles{0, 5, 1, 4, 2, 3});
  CHECK(load("midpoint,radius_0,radius_1,radius_2\n2,1,0.5,0\n", three).values == Doubles{1, 3, 1.5, 2.5, 2, 2});
  CHECK(load("0,2,6\n", {.encoding = lu, .cuts = 2, .levels = {0.5, 1}}).values == Doubles{1, 4, 2, 2});
}

TEST_CASE("a header of another number of cuts is refused") {
  const NumberFormat four{.encoding = lu, .cuts = 4};
  CHECK(refused("midpoint,radius_0,radius_1\n1,2,2\n", four) ==
        "f:1: found the header of numbers of 2 cuts, expected that of 4, or --cuts 2");
  CHECK(refused("lower_0,upper_0,lower_1,upper_1\n1,4,2,3\n", four).ends_with("or --cuts 2"));
  CHECK(refused("midpoint,radius_0\n1,2\n", {.encoding = lu, .cuts = 2}) ==
        "f:1: found the header of numbers of 1 cut, expected that of 2, or --cuts 1");
  CHECK(load("radius_0,radius_1,midpoint\n1,2,3\n", {.encoding = lu, .cuts = 1}).values == Doubles{1, 3});
}

TEST_CASE("midpoint and radii come from such columns, and from symmetric numbers of other forms") {
  const NumberFormat two{.encoding = mr, .cuts = 2};
  CHECK(load("midpoint,radius_0,radius_1\n2,1,0.5\n7,inf,0\n", two).values == Doubles{2, 1, 0.5, 7, kInfinite, 0});
  CHECK(load("lower_0,upper_0,lower_1,upper_1\n1,3,1.5,2.5\n", two).values == Doubles{2, 1, 0.5});
  CHECK(load("3\n", two).values == Doubles{3, 0, 0});
  CHECK(load("a,b,c\n1,2,3\n", two).values == Doubles{2, 1, 0});
  CHECK(load("a,b,c,d\n-2,-1,1,2\n", two).values == Doubles{0, 2, 1});
  CHECK(load("lower_0,upper_0,lower_1,upper_1\n-inf,inf,1.5,2.5\n", two).values == Doubles{2, kInfinite, 0.5});
  // Symmetric as it is spelled, though no bound is a double.
  const Numbers<double> tenths = load("a,b,c\n0.1,0.2,0.3\n", two);
  CHECK(tenths.values[0] == 0.2);
  CHECK(tenths.values[1] >= 0.1);
  CHECK(tenths.values[1] < 0.1 + 1e-16);
  CHECK(
      refused("a,b,c\n1,2,4\n", two) ==
      "f:2: found a number that is not symmetric, expected a symmetric one for midpoint and radii (--enclose takes the "
      "narrowest that contains it)");
  CHECK(refused("lower_0,upper_0,lower_1,upper_1\n0,inf,1,2\n", two).find("not symmetric") != std::string::npos);
  const NumberFormat enclosing{.encoding = mr, .cuts = 2, .levels = {}, .enclose = true};
  CHECK(load("a,b,c\n1,2,4\n", enclosing).values == Doubles{2, 2, 0});
  CHECK(load("lower_0,upper_0,lower_1,upper_1\n0,inf,1,2\n", enclosing).values == Doubles{1.5, kInfinite, 0.5});
}

TEST_CASE("numbers that a float can hardly tell from symmetric ones are refused, unless rounding explains it") {
  const NumberFormat two{.encoding = mr, .cuts = 2};
  const DataFolder folder;
  const auto asymmetric = [&](const std::string& bytes) {
    const auto file = folder.write("f", bytes);
    return refusal(folder, ErrorKind::input, [&] { (void)read_numbers<float>(file, two); }).find("not symmetric") !=
           std::string::npos;
  };
  CHECK(asymmetric("a,b,c\n1000000,1000000.3,1000001\n"));
  CHECK(asymmetric("lower_0,upper_0,lower_1,upper_1\n1000000,1000001,1000000.3,1000000.3\n"));
  // Half a unit of float away, in a cut of 32 units.
  CHECK(load<float>("lower_0,upper_0,lower_1,upper_1\n1000000,1000002,1000001.03125,1000001.03125\n", two).count() ==
        1);
  CHECK(load<float>("a,b,c\n1000000,1000000.5,1000001\n", two).count() == 1);
}

TEST_CASE("numbers contain what is spelled") {
  const Spelled tenth = *read_decimal("0.1");
  CHECK(load("0.1\n", {.encoding = lu, .cuts = 1}).values == Doubles{tenth.down, tenth.up});
  CHECK(tenth.down < tenth.up);
  const Numbers<double> crisp = load("0.1\n", {.encoding = mr, .cuts = 1});
  CHECK(crisp.values[0] == 0.1);
  CHECK(crisp.values[1] > 0.0);
  CHECK(load("1e400\n-1e-400\n", {.encoding = lu, .cuts = 1}).values ==
        Doubles{-kInfinite, kInfinite, -Traits<double>::smallest, 0});
  const Numbers<float> narrow = load<float>("16777217\n1e-60\n1e39\n", {.encoding = lu, .cuts = 1});
  CHECK(narrow.values == std::vector<float>{16777216.0F, 16777218.0F, 0.0F, Traits<float>::smallest,
                                            -Traits<float>::infinity, Traits<float>::infinity});
  const Numbers<float> radii = load<float>("16777217\n1e39\n", {.encoding = mr, .cuts = 1});
  CHECK(radii.values == std::vector<float>{16777216.0F, 1.0F, 0.0F, Traits<float>::infinity});
}

template <class T>
void check_round_trip(Encoding encoding) {
  std::mt19937_64 random(5);
  constexpr int kCuts = 3;
  Numbers<T> numbers{.encoding = encoding, .cuts = kCuts, .values = {}};
  const auto draw = [&] { return static_cast<T>(std::ldexp(static_cast<double>(random() >> 11U), -53)); };
  for (int i = 0; i < 300; ++i) {
    const T scale = static_cast<T>(std::ldexp(1.0, static_cast<int>(random() % 60) - 30));
    const T middle = (draw() - T(0.5)) * scale;
    const T steps[kCuts] = {draw() * scale, draw() * scale, draw() * scale};
    T widths[kCuts] = {steps[0] + steps[1] + steps[2], steps[1] + steps[2], steps[2]};
    if (i % 10 == 0) widths[0] = Traits<T>::infinity;
    if (encoding == mr) numbers.values.push_back(middle);
    for (const T width : widths) {
      if (encoding == lu) numbers.values.push_back(middle - width);
      numbers.values.push_back(encoding == lu ? middle + width : width);
    }
  }
  const std::string text = number_text(numbers);
  const Numbers<T> again = load<T>(text, {.encoding = encoding, .cuts = kCuts});
  REQUIRE(again.count() == numbers.count());
  const auto width = static_cast<std::size_t>(components(encoding, kCuts));
  bool all = true;
  double widest = 0.0;
  for (std::size_t i = 0; i < numbers.values.size(); i += width) {
    for (int k = 0; k < kCuts; ++k) {
      Interval<double> before{}, after{};
      const auto cut = [&](const Numbers<T>& of) {
        const T* const number = of.values.data() + i;
        const T radius = number[static_cast<std::size_t>(1 + k) % width];
        return encoding == lu ? Interval<T>{number[2 * k], number[2 * k + 1]}
                              : Interval<T>{subtract_down(number[0], radius), add_up(number[0], radius)};
      };
      before = {cut(numbers).lower, cut(numbers).upper};
      after = {cut(again).lower, cut(again).upper};
      all = all && contains(after, before);
      if (std::isinf(before.upper)) continue;
      const double size = std::max(std::abs(before.lower), std::abs(before.upper));
      widest = std::max(widest, (after.upper - after.lower - (before.upper - before.lower)) / size);
    }
  }
  CHECK(all);
  CHECK(widest <= 20.0 * static_cast<double>(Traits<T>::half_unit));
}

TEST_CASE_TEMPLATE("numbers that are written and read again contain themselves, and hardly more", T, float, double) {
  check_round_trip<T>(lu);
  check_round_trip<T>(mr);
}

TEST_CASE("what is no fuzzy number is refused in one line with its place") {
  const NumberFormat two{.encoding = lu, .cuts = 2}, three{.encoding = lu, .cuts = 3};
  const std::string header = "lower_0,upper_0,lower_1,upper_1\n";
  CHECK(refused(header + "3,2,2,2\n", two) == "f:2:2: found '2', expected at least '3', the lower bound");
  CHECK(refused(header + "0,5,1,4\n1,4,0,3\n", two) ==
        "f:3:3: found '0', expected at least '1', the lower bound of the cut before");
  CHECK(refused(header + "0,5,1,6\n", two) ==
        "f:2:4: found '6', expected at most '5', the upper bound of the cut before");
  CHECK(refused(header + "0,5,nan,4\n", two) == "f:2:3: found 'nan', expected a number");
  CHECK(refused(header + "0,5,,4\n", two) == "f:2:3: found nothing, expected a number");
  CHECK(refused(header + "inf,inf,inf,inf\n", two) == "f:2:1: found 'inf', expected a lower bound below inf");
  CHECK(refused(header + "0,5,1\n", two) == "f:2:4: found the end of the line after 3, expected 4 fields");
  CHECK(refused(header + "0,5,1,4,9\n", two) == "f:2:5: found '9', expected the end of the line after 4 fields");
  CHECK(refused(header, two) == "f: found a header and no rows, expected rows of numbers");
  CHECK(refused("0,5,x,4\n", two) == "f:1:3: found 'x', expected a number, or names alone as a header");
  CHECK(refused("0,1,2,3\n", two) ==
        "f:1: found 4 columns, which could be two things, expected the header 'a,b,c,d' or "
        "'lower_0,upper_0,lower_1,upper_1'");
  CHECK(refused("0,1,2,3,4\n", three) ==
        "f:1: found 5 columns, expected as many as 1 (a crisp number), 3 (a triangular number), 4 (a trapezoidal "
        "number), 6 (the bounds of 3 cuts)");
  CHECK(refused("3,2,4\n", three) == "f:1:2: found '2', expected at least '3', the corner before");
  CHECK(refused("1,2,inf\n", three) == "f:1:3: found 'inf', expected a finite number");
  const NumberFormat radii{.encoding = mr, .cuts = 2};
  CHECK(refused("midpoint,radius_0,radius_1\n1,-1,0\n", radii) == "f:2:2: found '-1', expected a radius of at least 0");
  CHECK(refused("midpoint,radius_0,radius_1\n1,1,2\n", radii) ==
        "f:2:3: found '2', expected at most '1', the radius of the cut before");
  CHECK(refused("midpoint,radius_0,radius_1\ninf,1,1\n", radii) == "f:2:1: found 'inf', expected a finite number");
  std::string wide = "0,1";
  for (int i = 1; i < 1000000; ++i) wide += ",0,1";
  CHECK(refused(wide + "\n", three).starts_with("f:1: found 2000000 columns, expected"));
  CHECK(refused("\n1\n", three) == "f:1:1: found an empty line, expected a row of numbers or a header");
  CHECK(refused(std::string(100000, '9') + "x\n" + "1\n", three).size() < 200);
}

}  // namespace
}  // namespace heddle::fuzzy
