// The value of a syntax tree.
#pragma once

#include "heddle/kernels/expression/expression.hpp"
#include "heddle/kernels/expression/item.hpp"
#include "heddle/kernels/expression/syntax.hpp"

namespace heddle {

/// Throws ExpressionFault. The tree has to be from parse_expression().
[[nodiscard]] Item evaluate(const SyntaxNode& tree, const Expression::Names& names);

}  // namespace heddle
