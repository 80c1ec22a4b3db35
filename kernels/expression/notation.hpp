// One way to write an expression.
#pragma once

#include <string>

#include "heddle/kernels/expression/syntax.hpp"

namespace heddle {

/// A text that parse_expression() reads as the same tree, but for the columns: one blank around operators and behind
/// commas, and no brackets beyond those that the tree needs. Equal for equal trees.
[[nodiscard]] std::string normal_form(const SyntaxNode& tree);

}  // namespace heddle
