// Arithmetic on numbers with Python's results, integers of 64 bits.
#pragma once

#include <compare>
#include <cstdint>
#include <string_view>

#include "heddle/kernels/expression/item.hpp"

namespace heddle {

/// Both throw OperationError: division by zero, an integer beyond 64 bits, a power that is no real number or too large.
///
/// `sign`: + - * / // % **
[[nodiscard]] Item of_integers(std::string_view sign, std::int64_t a, std::int64_t b);
[[nodiscard]] Item of_reals(std::string_view sign, double a, double b);

/// Exact, also for an integer that no real equals. Both have to be numbers.
[[nodiscard]] std::partial_ordering order_of_numbers(const Item& a, const Item& b);

/// The integer at or next to a real, towards zero. Throws OperationError beyond 64 bits, and for no number.
[[nodiscard]] std::int64_t truncated(double real);

}  // namespace heddle
