// Configurations as numbers, so that strategies can measure how alike they are.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "heddle/kernels/search_space.hpp"

namespace heddle {

/// Every configuration as one level per parameter. A parameter that has no meaning in some configurations has a level
/// of its own for that; parameters that are the same everywhere are left out. The order of the parameters and of their
/// values has no influence, except that words are numbered as they come.
class Coordinates {
 public:
  using Level = std::uint16_t;
  struct Parameter {
    std::size_t levels = 0;  ///< at least 2
    /// Where a level lies between the smallest value (0) and the largest (1), on a logarithmic scale if all are above
    /// 0. Negative: without an order (words, and where the parameter has no meaning).
    std::vector<float> position;
    /// How far a level lies from the middle between the smallest and the largest value on a linear scale, 0 to 1/2; of
    /// two values the smaller one counts as the middle, the other is 1/4 off. 0 without an order.
    std::vector<float> off_middle;
    float octaves = 0.0F;  ///< factors of two between the smallest and the largest value; 0 unless all are above 0
    /// By how many factors of two a whole number can be divided, 0 to 1 over the levels; all 0 where that says no more
    /// than the position.
    std::vector<float> evenness;
  };

  /// A parameter of the space, with the values that it has somewhere; none twice.
  struct Column {
    std::string name;
    std::vector<Value> values;
    bool absent_somewhere = false;  ///< whether it has no meaning in some configurations
  };

  /// `columns`: in the order of the space. Throws Error(input) if a column has more than 65534 values.
  explicit Coordinates(std::vector<Column> columns);

  [[nodiscard]] const std::vector<Parameter>& parameters() const noexcept { return parameters_; }
  /// The parameter that a column has become; nothing if the column is the same everywhere.
  [[nodiscard]] const std::optional<std::size_t>& parameter_of(std::size_t column) const {
    return parameter_of_[column];
  }
  /// The level of a value of a column that has become a parameter; by its place in Column::values.
  [[nodiscard]] Level level(std::size_t column, std::size_t value) const { return level_of_[column][value]; }
  /// The level of a parameter where it has no meaning.
  [[nodiscard]] Level absent(std::size_t parameter) const {
    return static_cast<Level>(parameters_[parameter].levels - 1);
  }

  /// One level per parameter. Nothing for a configuration with a value or a parameter that no column has.
  [[nodiscard]] std::optional<std::vector<Level>> encode(const Configuration& configuration) const;
  [[nodiscard]] Configuration decode(const Level* levels) const;

  /// 0 if equal; 1 to 2 otherwise, the more the farther the values are apart.
  [[nodiscard]] float gap(std::size_t parameter, Level a, Level b) const;
  /// The sum of the gaps of all parameters.
  [[nodiscard]] float distance(const Level* a, const Level* b) const;

 private:
  std::vector<Column> columns_;
  std::vector<std::optional<std::size_t>> parameter_of_;  ///< by column
  std::vector<std::vector<Level>> level_of_;              ///< [column][value]
  std::vector<std::vector<std::size_t>> value_at_;        ///< [column][level]
  std::vector<Parameter> parameters_;                     ///< in the order of their names
};

}  // namespace heddle
