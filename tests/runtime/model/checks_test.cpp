#include "heddle/runtime/model/checks.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <span>
#include <string>
#include <vector>

namespace heddle {
namespace {

template <class T>
std::string complaint(const std::vector<T>& values, double least, double most) {
  return out_of_range("weight", std::span<const T>(values), least, most);
}

TEST_CASE_TEMPLATE("the first value whose size is not allowed is found, wherever it is", T, float, double) {
  constexpr T kInfinity = std::numeric_limits<T>::infinity();
  std::mt19937 random(std::random_device{}());
  for (const double least : {0.0, 1e-19, 0.1}) {
    for (const double most : {0.3, 1e19, 1e300}) {
      const T first = static_cast<T>(least),
              last = static_cast<T>(std::min(most, double{std::numeric_limits<T>::max()}));
      // Beside both ends, of either sign.
      std::vector<T> some{T{0}, T(0.2), kInfinity, std::numeric_limits<T>::quiet_NaN(), std::numeric_limits<T>::max()};
      for (const T end : {first, last}) {
        for (const T value : {std::nextafter(end, T{0}), end, std::nextafter(end, kInfinity)}) some.push_back(value);
      }
      for (const T odd : some) {
        for (const T value : {odd, -odd}) {
          const double size = std::abs(static_cast<double>(value));
          const bool allowed = size >= least && size <= most;
          std::vector<T> values(random() % 70 + 1, T(0.2));
          const std::size_t place = random() % values.size();
          values[place] = value;
          for (std::size_t i = place + 1; i < values.size(); ++i) {
            if (random() % 8 == 0) values[i] = -kInfinity;  // behind the first
          }
          if (allowed) values.resize(place + 1);
          CAPTURE(least);
          CAPTURE(most);
          CAPTURE(value);
          const std::string found = complaint(values, least, most);
          if (allowed) {
            CHECK(found.empty());
          } else {
            CHECK(found.find("weight " + std::to_string(place + 1) + ",") != std::string::npos);
          }
        }
      }
    }
  }
  CHECK(complaint(std::vector<T>(), 0.0, 1.0).empty());
}

TEST_CASE("a complaint says what was found and what was expected") {
  CHECK(complaint(std::vector<float>{1.0F, -3.0F}, 0.0, 2.0) ==
        "-3 at weight 2, expected a number whose size is at most 2");
  CHECK(complaint(std::vector<float>{0.0F}, 0.5, 2.0) ==
        "0 at weight 1, expected a number whose size is from 0.5 to 2");
  CHECK(complaint(std::vector<double>{std::nan("")}, 0.0, 2.0) == "nan at weight 1, expected a finite number");
}

}  // namespace
}  // namespace heddle
