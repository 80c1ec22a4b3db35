// What operators and functions do with values, by Python's rules.
#pragma once

#include <cstddef>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "heddle/kernels/expression/item.hpp"

namespace heddle {

/// Why an operation has no result: "division by zero".
class OperationError : public std::runtime_error {
  using runtime_error::runtime_error;
};

/// How much one evaluation may do. Everything that takes time or memory asks.
class StepMeter {
 public:
  static constexpr std::int64_t kMost = 25000;
  /// Throws OperationError once there were too many.
  void take(std::int64_t steps = 1) {
    if (steps > left_) throw OperationError(kTooMany);
    left_ -= steps;
  }

 private:
  static constexpr const char* kTooMany = "takes more than 25000 steps";
  std::int64_t left_ = kMost;
};

/// The steps of copying a value: a text is copied as a whole, a list is shared.
[[nodiscard]] std::int64_t copy_steps(const Item& item) noexcept;

/// All throw OperationError.
///
/// `sign`: + - not
[[nodiscard]] Item unary_operation(std::string_view sign, const Item& operand);
/// `sign`: + - * / // % **
[[nodiscard]] Item binary_operation(std::string_view sign, const Item& left, const Item& right, StepMeter& meter);
/// `sign`: < <= > >= == != in "not in"
[[nodiscard]] bool compare(std::string_view sign, const Item& left, const Item& right, StepMeter& meter);
/// An element of a list or range, or a character of a text; negative indices count from the end.
[[nodiscard]] Item element_of(const Item& sequence, const Item& index, StepMeter& meter);
/// The elements of a list or a range, the characters of a text.
[[nodiscard]] std::vector<Item> elements_of(const Item& sequence, StepMeter& meter);
/// A call of a function of expression_functions(), but for has().
[[nodiscard]] Item call_function(std::string_view name, const std::vector<Item>& arguments, StepMeter& meter);

}  // namespace heddle
