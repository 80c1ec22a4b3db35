// How the columns of a text become inputs of a network: numbers as they are, words by the categories of their column.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace heddle {

enum class Categories {
  refused,  ///< every input is a number
  index,    ///< a word becomes its place among the categories of its column, from 0
  one_hot,  ///< a column of words becomes a column for each category, 1 where the word is it and 0 elsewhere
};
/// "refused", "index", "one-hot"
[[nodiscard]] std::string_view text(Categories categories);
/// Throws Error(usage) with the words that a user may say.
[[nodiscard]] Categories parse_categories(std::string_view word);

/// Made from the training rows and kept in the model.
struct InputCoding {
  Categories categories = Categories::refused;
  /// Whether a missing value ("?" or nothing) in a column of words is a category of its own, "?".
  bool missing_is_category = false;
  /// For each column of the file that is an input: its categories, sorted by their text, "?" last; none for a column of
  /// numbers. Empty if all columns have numbers.
  std::vector<std::vector<std::string>> columns;

  /// D: inputs of the network that the columns become. 0 without columns.
  [[nodiscard]] std::int64_t inputs() const;
  /// Names of these inputs, "workclass" or "workclass=Private", from the names of the columns.
  [[nodiscard]] std::vector<std::string> names(const std::vector<std::string>& column_names) const;
  bool operator==(const InputCoding&) const = default;
};

/// How missing values are written in data files.
inline constexpr std::string_view kMissing = "?";

}  // namespace heddle
