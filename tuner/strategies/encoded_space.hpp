// Configurations encoded as numbers, so that strategies can measure how alike they are.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "heddle/kernels/search_space.hpp"

namespace heddle {

/// Every configuration as one level per parameter. A parameter that has no meaning in some configurations has a level
/// of its own for that; parameters that are the same everywhere are left out. The order of the parameters and of their
/// values in the list has no influence, except that words are numbered as they appear.
class EncodedSpace {
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

  explicit EncodedSpace(const std::vector<Configuration>& configurations);

  [[nodiscard]] std::size_t size() const noexcept { return size_; }
  [[nodiscard]] const std::vector<Parameter>& parameters() const noexcept { return parameters_; }
  /// One level per parameter.
  [[nodiscard]] const Level* levels(std::size_t configuration) const {
    return levels_.data() + configuration * parameters_.size();
  }

  /// 0 if equal; each parameter that differs adds 1 to 2, the more the farther its values are apart.
  [[nodiscard]] float distance(std::size_t a, std::size_t b) const { return distance(levels(a), levels(b)); }

  /// The neighbours of a configuration, most similar first, none twice. For every other value of every parameter, the
  /// neighbour is the configuration that has this value and is otherwise most similar. Usually it differs in nothing
  /// else; where constraints forbid that, it differs in a few parameters more.
  [[nodiscard]] std::vector<std::size_t> neighbours(std::size_t configuration) const;
  /// The configuration most like `levels` for which `allowed` is set; size() if there is none.
  [[nodiscard]] std::size_t nearest(const std::vector<Level>& levels, const std::vector<bool>& allowed) const;

 private:
  [[nodiscard]] float gap(std::size_t parameter, Level a, Level b) const;
  [[nodiscard]] float distance(const Level* a, const Level* b) const;

  std::size_t size_;
  std::vector<Parameter> parameters_;
  std::vector<Level> levels_;  // [configuration][parameter]
};

}  // namespace heddle
