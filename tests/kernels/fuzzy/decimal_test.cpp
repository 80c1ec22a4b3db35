#include "heddle/kernels/fuzzy/decimal.hpp"

#include <doctest/doctest.h>
#include <mpfr.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <random>
#include <string>
#include <type_traits>

namespace heddle::fuzzy {
namespace {

constexpr double kInfinity = Traits<double>::infinity;

/// The double next to the number that a text spells, on the given side, as MPFR finds it. `bits` have to be enough for
/// the number's first 1000 digits; rounding twice in one direction is rounding once.
double bound(const std::string& text, mpfr_rnd_t side) {
  mpfr_t number;
  mpfr_init2(number, 4000);
  mpfr_strtofr(number, text.c_str(), nullptr, 10, side);
  const double result = mpfr_get_d(number, side);
  mpfr_clear(number);
  return result;
}

/// The sign of the number that `text` spells, less `value`.
int compared(const std::string& text, double value) {
  mpfr_t number;
  mpfr_init2(number, 4000);
  mpfr_strtofr(number, text.c_str(), nullptr, 10, MPFR_RNDN);
  const int sign = mpfr_cmp_d(number, value);
  mpfr_clear(number);
  return sign < 0 ? -1 : sign > 0 ? 1 : 0;
}

void check_read(const std::string& text) {
  const std::string shown = text.substr(0, 60);
  CAPTURE(shown);
  const auto number = read_decimal(text);
  REQUIRE(number.has_value());
  const double down = bound(text, MPFR_RNDD), up = bound(text, MPFR_RNDU), near = bound(text, MPFR_RNDN);
  CHECK(number->down == down);
  CHECK(number->up == up);
  CHECK(number->near == near);
}

TEST_CASE("texts of decimals are enclosed by the closest doubles") {
  for (const char* text : {"0",
                           "-0",
                           "+1",
                           "1",
                           "0.1",
                           "-0.1",
                           ".5",
                           "5.",
                           "0.30000000000000004",
                           "1e22",
                           "1e23",
                           "-1e23",
                           "123456789e-5",
                           "9007199254740993",
                           "9007199254740993.0000000000000000000001",
                           "1e400",
                           "-1e400",
                           "1e-400",
                           "-1e-400",
                           "4.9406564584124654e-324",
                           "2.4703282292062327e-324",
                           "2.4703282292062328e-324",
                           "4.9e-324",
                           "5e-324",
                           "2.2250738585072011e-308",
                           "2.2250738585072014e-308",
                           "1.7976931348623157e308",
                           "1.7976931348623158e308",
                           "1.7976931348623159e308",
                           "1.8e308",
                           "0000000000000000000000000.5",
                           "000000100e-2",
                           "1E5",
                           "1e+5",
                           "1e-0005",
                           "99999999999999999999999999999999999999",
                           "1e99999999999999999999999",
                           "1e-99999999999999999999999",
                           "0e99999999999999999999999",
                           "18446744073709551615",
                           "9999999999999999999e-22",
                           "1e-22",
                           "1e-23",
                           "1e19",
                           "1e20",
                           "0.000000000000000000000000000001"}) {
    check_read(text);
  }
}

TEST_CASE("random decimals of up to 40 digits are enclosed by the closest doubles") {
  std::mt19937_64 random(7);
  for (int i = 0; i < 20000; ++i) {
    std::string text = random() % 2 == 0 ? "-" : "";
    const auto digits = 1 + random() % 40, point = random() % 41;
    for (std::uint64_t j = 0; j < digits; ++j) {
      if (j == point) text += '.';
      text += static_cast<char>('0' + random() % 10);
    }
    const int range = i % 3 == 0 ? 680 : 24;
    if (random() % 2 == 0)
      text += "e" + std::to_string(static_cast<int>(random() % static_cast<unsigned>(range)) - range / 2);
    check_read(text);
  }
}

TEST_CASE("long texts are read in all their digits") {
  // The middle between 1 and the next double, a digit more, a digit less, far behind.
  const std::string middle = "1.00000000000000011102230246251565404236316680908203125";
  const std::string zeros(100000, '0');
  const double next = std::nextafter(1.0, 2.0);
  CHECK(read_decimal(middle)->near == 1.0);
  CHECK(read_decimal(middle + zeros)->near == 1.0);
  CHECK(read_decimal(middle + zeros + "1")->near == next);
  CHECK(read_decimal(middle + zeros + "1")->down == 1.0);
  CHECK(read_decimal("1." + zeros + "1")->up == next);
  CHECK(read_decimal("1." + zeros + "1")->down == 1.0);
  CHECK(read_decimal("0." + std::string(100000, '9'))->down == std::nextafter(1.0, 0.0));
  CHECK(read_decimal("0." + std::string(100000, '9'))->up == 1.0);
  CHECK(read_decimal("0." + zeros + "5e100001")->up == 5.0);
  CHECK(read_decimal("0." + zeros + "5e100001")->down == 5.0);
  CHECK(read_decimal("25" + zeros + zeros + "e-200000")->near == 25.0);
  CHECK(read_decimal(std::string(1000000, '9'))->up == kInfinity);
  CHECK(read_decimal(zeros)->up == 0.0);
  // The exact digits of the smallest double, and one more behind them.
  std::string smallest(1100, '\0');
  smallest.resize(
      static_cast<std::size_t>(std::snprintf(smallest.data(), smallest.size(), "%.1074f", 4.9406564584124654e-324)));
  CHECK(read_decimal(smallest)->up == 4.9406564584124654e-324);
  CHECK(read_decimal(smallest)->down == 4.9406564584124654e-324);
  CHECK(read_decimal(smallest + "1")->up == 2 * 4.9406564584124654e-324);
}

TEST_CASE("a text that is no decimal is none") {
  for (const char* text :
       {"",     "+",      "-",    ".",  "-.", "e5", "1e",  "1e+",     "1e1.5", "1.2.3", "--1",   "+-1", "1-", "nan",
        "-nan", "nan(7)", "0x10", "1f", "1 ", " 1", "1,5", "infinit", "inf1",  "1_000", "1e5e5", "one", "١"}) {
    CAPTURE(text);
    CHECK_FALSE(read_decimal(text).has_value());
  }
  CHECK_FALSE(read_decimal(std::string("1\0", 2)).has_value());
  CHECK(read_decimal("inf")->down == kInfinity);
  CHECK(read_decimal("-Infinity")->up == -kInfinity);
}

template <class T>
void check_written(T value) {
  CAPTURE(value);
  std::string down, up, near;
  append_down(down, value);
  append_up(up, value);
  const bool is_exact = append_near(near, value);
  CAPTURE(down);
  CAPTURE(up);
  CHECK(down.size() < 26);
  CHECK(up.size() < 26);
  if (std::isinf(value)) {
    CHECK(down == (value > 0 ? "inf" : "-inf"));
    CHECK(up == down);
    return;
  }
  // On the right side, and so is what is read again; no further away than the next number.
  CHECK(compared(down, static_cast<double>(value)) <= 0);
  CHECK(compared(up, static_cast<double>(value)) >= 0);
  CHECK(narrowed_down<T>(read_decimal(down)->down) >= std::nextafter(value, -Traits<T>::infinity));
  CHECK(narrowed_up<T>(read_decimal(up)->up) <= std::nextafter(value, Traits<T>::infinity));
  CHECK(is_exact == (compared(near, static_cast<double>(value)) == 0));
  if constexpr (std::is_same_v<T, double>) CHECK(read_decimal(near)->near == value);
  if (is_exact) CHECK(down == up);
}

TEST_CASE_TEMPLATE("written bounds contain the number, and so do those that are read again", T, float, double) {
  using Bits = std::conditional_t<std::is_same_v<T, float>, std::uint32_t, std::uint64_t>;
  for (const T value : {T(0), T(1), T(0.1), T(0.3), T(1000), T(1e15), T(1e16), T(1e17), T(1e22), T(1e-5), T(1e-6),
                        Traits<T>::smallest, Traits<T>::largest, Traits<T>::infinity, std::numeric_limits<T>::min(),
                        std::nextafter(T(1), T(0)), std::nextafter(T(1), T(2)), std::nextafter(T(1000), T(0)),
                        std::nextafter(std::numeric_limits<T>::min(), T(0))}) {
    check_written(value);
    check_written(-value);
  }
  std::mt19937_64 random(11);
  for (int i = 0; i < 20000; ++i) {
    const T value = std::bit_cast<T>(static_cast<Bits>(random()));
    if (!std::isnan(value)) check_written(value);
    check_written(static_cast<T>(static_cast<double>(random() % 2000001) / 1000.0 - 1000.0));
  }
}

TEST_CASE("bounds that are decimals stay as people write them") {
  const auto down = [](double value) {
    std::string text;
    append_down(text, value);
    return text;
  };
  CHECK(down(0.1) == "0.1");
  CHECK(down(2.5) == "2.5");
  CHECK(down(-1200) == "-1200");
  CHECK(down(1e300) == "1e300");
  CHECK(down(0.3) == "0.29999999999999998");
  CHECK(down(-0.1) == "-0.10000000000000001");
  CHECK(down(1.5e-7) == "1.4999999999999999e-7");
}

}  // namespace
}  // namespace heddle::fuzzy
