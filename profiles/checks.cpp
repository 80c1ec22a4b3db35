#include "heddle/profiles/checks.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <utility>
#include <vector>

#include "heddle/kernels/error.hpp"
#include "heddle/kernels/text.hpp"

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

Problem parse_any_problem(std::string_view text) {
  std::vector<Problem::Size> sizes;
  for (std::string_view rest = text; !rest.empty();) {
    const std::string_view field = rest.substr(0, rest.find(' '));
    rest.remove_prefix(std::min(field.size() + 1, rest.size()));
    const std::string_view name = field.substr(0, field.find('='));
    const std::string_view digits = field.substr(std::min(name.size() + 1, field.size()));
    std::int64_t value = -1;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    if (name.empty() || error != std::errc() || end != digits.data() + digits.size() || value < 0) break;
    sizes.push_back({std::string(name), value});
  }
  Problem problem(std::move(sizes));
  if (problem.text() != text) {  // also for leading zeros and stray blanks
    throw Error(ErrorKind::input,
                fmt::format("problem '{}': expected names with numbers from 0, as 'size=32'", text.substr(0, 200)));
  }
  return problem;
}

Goal checked_goal(const std::string& objective, bool cold_cache) {
  Goal goal = Goal::of(objective, cold_cache);
  if (objective.empty() || (objective != goal.objective && objective != on_one_line(objective))) {
    refuse("objective", in_quotes(objective), "time, energy or an expression on one line");
  }
  return goal;
}

void set_goal(Profile& profile, const std::string& objective, bool cold_cache) {
  profile.key.goal = checked_goal(objective, cold_cache);
  if (profile.key.goal.is_time() && objective != profile.key.goal.objective) profile.value.reset();
}

void check_numbers(const Profile& profile) {
  check_number("time", profile.time, true);
  check_number("spread", profile.spread, false);
  check_number("worst_error", profile.worst_error, false);
  check_range("samples", profile.samples, 1, kMostSamples);
  const Goal& goal = profile.key.goal;
  if (goal != checked_goal(goal.objective, goal.cold_cache)) {
    refuse("objective", in_quotes(goal.objective), "an expression in its normal form");
  }
  if (!profile.value) return;
  check_number("objective_value", *profile.value, true);
  if (goal.is_time())
    refuse("objective_value", fmt::format("{}", *profile.value), "none where the objective is the time");
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
  if (measurement.energy) check_number("energy", *measurement.energy, false);
  if (const auto& resources = measurement.resources) {
    constexpr std::int64_t kMost = std::int64_t{1} << 40U;  // far above any device
    check_range("registers", resources->registers, 0, kMost);
    check_range("shared_bytes", resources->shared_bytes, 0, kMost);
    check_range("local_bytes", resources->local_bytes, 0, kMost);
    if (!(resources->occupancy >= 0.0 && resources->occupancy <= 1.0)) {
      refuse("occupancy", fmt::format("{}", resources->occupancy), "a number from 0 to 1");
    }
  }
}

}  // namespace heddle
