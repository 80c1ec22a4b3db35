// Keys to sort fuzzy numbers by: from a file, or a measure of each number.
#pragma once

#include <filesystem>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "heddle/runtime/fuzzy/number_table.hpp"

namespace heddle::fuzzy {

/// A real number that stands for a fuzzy one: kernels/fuzzy/measures.hpp has the definitions and their sources.
enum class Measure { centroid, mean_of_maxima, ranking_value };

/// "centroid", "mean-of-maxima" or "ranking-value"; nothing for another word.
[[nodiscard]] std::optional<Measure> measure_of(std::string_view text);

/// The measure of each number, rounded to the type of its components. `levels`: of the cuts, as many as there are;
/// empty: from 0 to 1 in even steps. A number with a cut that is the whole line has an infinite measure or none (nan).
template <class T>
[[nodiscard]] std::vector<T> measure_all(const Numbers<T>& numbers, std::span<const double> levels, Measure measure);

/// Reads a file of one number in each row, as read_data_file() reads it; names in line 1 are a header. Rounded to
/// nearest; inf is a key, nan is none. Throws Error(input) with one line "FILE:LINE:COLUMN: found ..., expected ..."
/// for what is no number, rows of several, and no rows.
template <class T>
[[nodiscard]] std::vector<T> read_keys(const std::filesystem::path& file);

}  // namespace heddle::fuzzy
