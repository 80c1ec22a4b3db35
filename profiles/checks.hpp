// Checks that every measurement and profile has to pass, wherever it comes from. For the files of this folder only.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "heddle/profiles/measurement.hpp"

namespace heddle {

/// Units of work of one repetition: far above anything real. Who repeats a measurement asks the family for the most.
inline constexpr std::int64_t kMostSamples = std::int64_t{1} << 40;

/// Throws Error(input): "time is -1.5, expected a number above 0".
[[noreturn]] void refuse(const std::string& what, const std::string& found, const std::string& expected);
void check_range(const char* name, std::int64_t value, std::int64_t least, std::int64_t most);
/// Finite, and above 0 or from 0.
void check_number(const char* name, double value, bool positive);

/// The sizes of a problem of any family. Throws Error(input) for a text that is no problem at all.
[[nodiscard]] Problem parse_any_problem(std::string_view text);

/// The goal of a record. Its objective need not have its normal form, which records of earlier programs lack. Throws
/// Error(input) for one that is no text on one line.
[[nodiscard]] Goal checked_goal(const std::string& objective, bool cold_cache);

/// Gives `profile` the goal of its record. An earlier program took "(time)" for an objective with a value of its own;
/// that value, which is the time, goes.
void set_goal(Profile& profile, const std::string& objective, bool cold_cache);

/// Both throw Error(input) for a number that nothing can have measured: infinite, negative, not a number.
void check_numbers(const Profile& profile);
void check_numbers(const Measurement& measurement);

}  // namespace heddle
