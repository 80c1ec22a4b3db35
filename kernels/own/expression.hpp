// Expressions over the sizes of a problem and the parameters of a configuration: launch geometry, constraints and sizes
// of buffers as data, so that another process can compute them too.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "heddle/kernels/value.hpp"

namespace heddle {

/// An expression in the notation of C: "ceil_div(n, block_size * items)", "scheme == \"tiled\" || items <= 4".
/// Immutable; copies are cheap.
///
/// - Values: integers of 64 bits, reals, true and false, words in double quotes, and names.
/// - Operators, with the precedence of C: ?: || && == != < <= > >= + - * / % and unary - and !.
/// - Functions: min(a, b), max(a, b), ceil_div(a, b) (a / b rounded up) and round_up(a, b) (a rounded up to a multiple
///   of b); the last two take integers. has(name): whether the name has a value, for sizes that a problem may lack:
///   "has(halo) ? n + 2 * halo : n".
///
/// Two integers give an integer, and / drops the remainder. Where one of the two is a real, so is the result.
class Expression {
 public:
  /// The value of a name.
  using Names = std::function<std::optional<Value>(std::string_view name)>;

  /// Throws Error(input) with the place of the fault.
  explicit Expression(std::string text);

  [[nodiscard]] const std::string& text() const noexcept { return text_; }
  /// The names that it asks for, each once.
  [[nodiscard]] const std::vector<std::string>& names() const noexcept { return names_; }

  /// All throw Error(input), with the expression, for a name without a value, values that an operator does not take, a
  /// division by zero, and integers beyond 64 bits.
  [[nodiscard]] Value value(const Names& names) const;
  [[nodiscard]] std::int64_t integer(const Names& names) const;  ///< of an integer alone
  [[nodiscard]] double real(const Names& names) const;           ///< of any number
  [[nodiscard]] bool truth(const Names& names) const;            ///< of a truth value alone

  struct Node;

 private:
  std::string text_;
  std::shared_ptr<const Node> root_;
  std::vector<std::string> names_;
};

}  // namespace heddle
