// The words and signs of an expression.
#pragma once

#include <cstddef>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "heddle/kernels/expression/item.hpp"

namespace heddle {

/// What is wrong with an expression, and in which of its characters, counted from 1.
class ExpressionFault : public std::runtime_error {
 public:
  ExpressionFault(std::size_t column, const std::string& why) : std::runtime_error(why), column_(column) {}
  [[nodiscard]] std::size_t column() const noexcept { return column_; }

 private:
  std::size_t column_;
};

struct Token {
  enum class Kind { literal, name, sign, end };
  Kind kind = Kind::end;
  std::string text{};      ///< of a name or a sign; keywords are signs
  Item literal{};          ///< a number or a text
  bool smallest = false;   ///< the literal 2^63, which only a minus sign before it makes an integer of 64 bits
  std::size_t column = 1;  ///< of its first character, from 1
};

/// The tokens of `text`, with one of kind `end` at the end. Throws ExpressionFault.
[[nodiscard]] std::vector<Token> tokens_of(std::string_view text);

}  // namespace heddle
