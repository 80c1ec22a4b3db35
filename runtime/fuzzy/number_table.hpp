// Fuzzy numbers in text files: a row for each number, rounded outwards when it is read and when it is written.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "heddle/kernels/fuzzy/problem.hpp"

namespace heddle::fuzzy {

/// Fuzzy numbers on the host, the components of a number next to each other (kNumbers).
template <class T>
struct Numbers {
  Encoding encoding = Encoding::lower_upper;
  int cuts = 1;
  std::vector<T> values;  ///< count() x components(encoding, cuts)

  [[nodiscard]] std::int64_t count() const {
    return static_cast<std::int64_t>(values.size()) / components(encoding, cuts);
  }
};

/// How the rows of a file become numbers.
struct NumberFormat {
  Encoding encoding = Encoding::lower_upper;
  int cuts = 4;  ///< 1 to kMostCuts
  std::vector<double> levels =
      {};  ///< of the cuts, from 0 to 1, not falling: shapes are cut there; empty: in even steps
  /// Whether a number that is not symmetric is enclosed in midpoint-radius form. Otherwise it is refused, unless it is
  /// symmetric but for a few units of rounding.
  bool enclose = false;
};

/// Reads text separated by commas or blanks, or gzip of it; a row has one of these forms:
///
///   columns     header                        number
///   1           -                             a crisp number
///   3           a,b,c                         triangular: rises from a to b, falls from b to c
///   4           a,b,c,d                       trapezoidal: rises from a to b, is 1 from b to c, falls from c to d
///   2 x cuts    lower_0,upper_0,lower_1,...   bounds of the cuts, the widest first
///   1 + cuts    midpoint,radius_0,...         midpoint, and the radius of each cut
///
/// A header of these names says which it is. Without one, or with other names, the number of columns does; midpoint and
/// radii need the header unless numbers are wanted in this form. Columns that could be two of these need the header.
///
/// Every cut contains that of the row's numbers as they are spelled. Bounds and radii may be inf; a cut with one
/// infinite bound becomes the whole line, which contains it (Calculator::array() refuses such a cut).
///
/// Throws Error(input) with one line "FILE:LINE:COLUMN: found ..., expected ..." for what is no number, a lower bound
/// above the upper one, cuts that are not nested, a negative radius, corners that fall, a number that is not symmetric
/// (unless format.enclose), rows of different lengths, no rows; and what read_data_file() throws.
template <class T>
[[nodiscard]] Numbers<T> read_numbers(const std::filesystem::path& file, const NumberFormat& format);

/// The text that read_numbers() reads back, header included: numbers that contain these.
template <class T>
[[nodiscard]] std::string number_text(const Numbers<T>& numbers);

}  // namespace heddle::fuzzy
