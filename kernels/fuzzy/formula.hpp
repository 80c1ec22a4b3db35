// Formulas over fuzzy numbers: a text, read once, and evaluated by the number types or turned into a kernel.
//
//     a*b + c      exp(a)/b      max(a, 0) - 2.5*sqrt(b)^3
//
// Names of arrays; decimal numbers, which are enclosed outwards where a type cannot hold them; + - * / and minus
// before an operand; powers by whole numbers, as x^3, x**3 or x^-2, which bind tightest, so that -x^2 is -(x^2);
// sqrt, exp, log, min(a, b), max(a, b); parentheses.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "heddle/kernels/fuzzy/problem.hpp"

namespace heddle::fuzzy {

/// A value type.
class Formula {
 public:
  static constexpr std::size_t kMostNames = 16, kLongest = 2000, kMostSteps = 500;
  /// Of a canonical text, in which a name of one letter may have become "x16".
  static constexpr std::size_t kLongestCanonical = 3 * kLongest;

  enum class Operation { input, constant, negate, add, subtract, multiply, divide, power, sqrt, exp, log, min, max };

  /// One operation. Operands are steps before it.
  struct Step {
    Operation operation = Operation::input;
    int left = -1, right = -1;             ///< steps; -1: there is none
    int number = 0;                        ///< which input; the exponent of a power
    double at_least = 0.0, at_most = 0.0;  ///< a constant: the closest numbers of type double on either side
  };

  /// Throws Error(usage) with the place of what is wrong: a word or sign that has no meaning there, more than
  /// kMostNames names or none, more than kMostSteps operations, more than `longest` characters.
  explicit Formula(std::string_view text, std::size_t longest = kLongest);

  /// The inputs, in the order in which the text names them first.
  [[nodiscard]] const std::vector<std::string>& names() const noexcept { return names_; }
  /// The last one is the result.
  [[nodiscard]] const std::vector<Step>& steps() const noexcept { return steps_; }
  /// The formula with its inputs called x1, x2, ... and without spaces: the same for texts that differ in names alone.
  [[nodiscard]] const std::string& canonical() const noexcept { return canonical_; }
  /// Whether every cut of the result depends on the same cut of the inputs alone, bit by bit. Otherwise the cuts of a
  /// result are kept within each other (see lower_upper.hpp), so that it takes a whole number at a time.
  [[nodiscard]] bool works_cut_by_cut(Encoding encoding) const;

 private:
  std::vector<std::string> names_;
  std::vector<Step> steps_;
  std::string canonical_;
};

/// The result for arrays of `shape`, one for each name, by the number types on this processor.
[[nodiscard]] std::vector<std::byte> evaluate(const Formula& formula, const ArrayShape& shape,
                                              const std::vector<std::span<const std::byte>>& inputs);

}  // namespace heddle::fuzzy
