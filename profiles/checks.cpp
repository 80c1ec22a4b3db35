#include "heddle/profiles/checks.hpp"

#include <fmt/format.h>

#include <cmath>

#include "heddle/kernels/error.hpp"

namespace heddle {

void refuse(const std::string& what, const std::string& found, const std::string& expected) {
  throw Error(ErrorKind::input, fmt::format("{} is {}, expected {}", what, found, expected));
}

void check_range(const char* name, std::int64_t value, std::int64_t least, std::int64_t most) {
  if (value < least || value > most) refuse(name, std::to_string(value), fmt::format("{} to {}", least, most));
}

void check_number(const char* name, double value, bool positive) {
  const bool good = std::isfinite(value) && (positive ? value > 0.0 : value >= 0.0);
  if (!good) refuse(name, fmt::format("{}", value), positive ? "a number above 0" : "a number from 0");
}

void check_numbers(const Profile& profile) {
  check_number("time", profile.time, true);
  check_number("spread", profile.spread, false);
  check_number("worst_error", profile.worst_error, false);
  check_range("samples", profile.samples, 1, kMostSamples);
}

void check_numbers(const Measurement& measurement) {
  for (const double time : measurement.times) check_number("time", time, false);
  if (measurement.cost) check_number("cost", *measurement.cost, false);
  check_number("compile_seconds", measurement.compile_seconds, false);
  // A wrong result may be infinitely wrong.
  if (!(measurement.worst_error >= 0.0)) {
    refuse("worst_error", fmt::format("{}", measurement.worst_error), "a number from 0");
  }
  check_range("samples", measurement.samples, 0, kMostSamples);
}

}  // namespace heddle
