// The syntax tree of an expression.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "heddle/kernels/expression/item.hpp"

namespace heddle {

struct SyntaxNode {
  enum class Kind {
    literal,
    name,
    list,           ///< of its operands
    unary,          ///< +, -, not
    binary,         ///< + - * / // % **
    all,            ///< and
    any,            ///< or
    comparison,     ///< one operand more than `signs`
    conditional,    ///< condition, then, else
    call,           ///< of the function `name`
    index,          ///< sequence, index
    comprehension,  ///< `name` takes the elements; operands: element, sequence, conditions
  };
  Kind kind = Kind::literal;
  std::size_t column = 1;  ///< where a message about it points to, from 1
  std::string name{};      ///< a name, a function, or the sign of an operator
  Item literal{};
  std::vector<SyntaxNode> operands{};
  std::vector<std::string> signs{};  ///< of a comparison: < <= > >= == != in "not in"
  std::size_t levels = 1;            ///< of the tree below, this node included
};

/// How deep a tree may be: an evaluation calls itself as deep.
inline constexpr std::size_t kDeepestExpression = 200;

/// Reads an expression. Throws ExpressionFault.
[[nodiscard]] SyntaxNode parse_expression(std::string_view text);

/// The functions that expressions may call, and with how many arguments.
struct ExpressionFunction {
  std::string_view name;
  std::size_t fewest = 1, most = 1;
};
[[nodiscard]] const std::vector<ExpressionFunction>& expression_functions();

/// The names that a tree asks for, each once, in the order in which they stand there. Variables of comprehensions are
/// none.
[[nodiscard]] std::vector<std::string> free_names(const SyntaxNode& tree);

}  // namespace heddle
