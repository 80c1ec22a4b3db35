// Checks of the numbers of a model. A complaint is what was found and what was expected, "7 widths, expected 8"; empty
// if there is nothing to complain about.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace heddle {

/// Throws Error(input): "SOURCE: found FOUND, expected EXPECTED".
[[noreturn]] void refuse_model(const std::string& source, const std::string& found, const std::string& expected);
/// Throws Error(input), "SOURCE: found COMPLAINT", unless it is empty.
void require(const std::string& source, const std::string& complaint);
/// Throws Error(input) unless `least` <= value <= `most`.
void check_range(const std::string& source, std::string_view what, double value, double least, double most);

[[nodiscard]] std::string wrong_count(std::string_view what, std::size_t found, std::int64_t expected);
/// About the first value that is not finite or whose size is not from `least` to `most`, with 0 <= least <= most. T:
/// float or double.
template <class T>
[[nodiscard]] std::string out_of_range(std::string_view what, std::span<const T> values, double least, double most);

}  // namespace heddle
