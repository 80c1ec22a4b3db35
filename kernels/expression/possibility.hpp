// What an expression can become while some of its names have no value yet: interval arithmetic (Moore 1966).
#pragma once

#include "heddle/kernels/expression/expression.hpp"
#include "heddle/kernels/expression/syntax.hpp"

namespace heddle {

/// Expression::may_hold()
[[nodiscard]] bool may_hold(const SyntaxNode& tree, const PartialNames& names);

}  // namespace heddle
