#include "heddle/kernels/expression/numbers.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "heddle/kernels/expression/operations.hpp"

namespace heddle {

namespace {

__extension__ using Wide = unsigned __int128;

constexpr double kTwo63 = 0x1p63;

[[noreturn]] void divided_by_zero() { throw OperationError("division by zero"); }
[[noreturn]] void beyond() { throw OperationError("an integer beyond 64 bits"); }

std::uint64_t size_of(std::int64_t number) {
  return number < 0 ? 0 - static_cast<std::uint64_t>(number) : static_cast<std::uint64_t>(number);
}

int width_of(std::uint64_t number) { return 64 - std::countl_zero(number); }

/// a / b, rounded once, where the two may be larger than the integers that reals hold exactly.
double true_quotient(std::int64_t a, std::int64_t b) {
  const std::uint64_t over = size_of(a), under = size_of(b);
  const double sign = (a < 0) == (b < 0) ? 1.0 : -1.0;
  // Enough bits for the quotient to have more than a real holds. The rest only decides how it is rounded.
  constexpr int kBits = 56;
  const int shift = std::max(0, kBits + width_of(under) - width_of(over));
  const Wide shifted = static_cast<Wide>(over) << static_cast<unsigned>(shift);
  const Wide quotient = shifted / under;
  const Wide sticky = quotient * 2 + (quotient * under == shifted ? 0 : 1);
  return sign * std::ldexp(static_cast<double>(sticky), -shift - 1);
}

struct FloorDivision {
  std::int64_t quotient = 0, remainder = 0;  // the remainder has the sign of the divisor
};

FloorDivision floor_division(std::int64_t a, std::int64_t b) {
  if (b == 0) divided_by_zero();
  if (b == -1) {  // the one quotient that may not fit
    std::int64_t negative = 0;
    if (__builtin_sub_overflow(std::int64_t{0}, a, &negative)) beyond();
    return {.quotient = negative, .remainder = 0};
  }
  const std::int64_t rest = a % b;
  const bool below = rest != 0 && (rest < 0) != (b < 0);
  return {.quotient = a / b - (below ? 1 : 0), .remainder = below ? rest + b : rest};
}

std::int64_t whole_power(std::int64_t base, std::int64_t exponent) {
  std::int64_t result = 1;
  for (;;) {
    if (exponent % 2 != 0 && __builtin_mul_overflow(result, base, &result)) beyond();
    exponent /= 2;
    if (exponent == 0) return result;
    if (__builtin_mul_overflow(base, base, &base)) beyond();
  }
}

double real_power(double base, double exponent) {
  if (base == 0.0 && exponent < 0.0) throw OperationError("0 to a negative power");
  if (base < 0.0 && std::isfinite(base) && std::isfinite(exponent) && exponent != std::floor(exponent)) {
    throw OperationError("a broken power of a negative number");
  }
  const double result = std::pow(base, exponent);
  if (std::isinf(result) && std::isfinite(base) && std::isfinite(exponent)) {
    throw OperationError("a real beyond 64 bits");
  }
  return result;
}

/// The remainder has the sign of the divisor, and the quotient is what divides without it.
Item floor_of_reals(std::string_view sign, double a, double b) {
  if (b == 0.0) divided_by_zero();
  double rest = std::fmod(a, b);
  double quotient = (a - rest) / b;  // a whole number but for rounding
  if (rest == 0.0) {
    rest = std::copysign(0.0, b);
  } else if ((rest < 0.0) != (b < 0.0)) {
    rest += b;
    quotient -= 1.0;
  }
  if (sign == "%") return {rest};
  if (quotient == 0.0) return {std::copysign(0.0, a / b)};
  const double down = std::floor(quotient);
  return {quotient - down > 0.5 ? down + 1.0 : down};
}

std::partial_ordering order_of(std::int64_t whole, double real) {
  if (std::isnan(real)) return std::partial_ordering::unordered;
  if (real >= kTwo63) return std::partial_ordering::less;
  if (real < -kTwo63) return std::partial_ordering::greater;
  const double down = std::floor(real);
  const auto whole_part = static_cast<std::int64_t>(down);
  if (whole != whole_part) return whole <=> whole_part;
  return real > down ? std::partial_ordering::less : std::partial_ordering::equivalent;
}

}  // namespace

Item of_integers(std::string_view sign, std::int64_t a, std::int64_t b) {
  std::int64_t result = 0;
  bool overflow = false;
  const bool doubled = sign.size() > 1;  // constraints compute this for millions of points
  switch (sign.front()) {
    case '+':
      overflow = __builtin_add_overflow(a, b, &result);
      break;
    case '-':
      overflow = __builtin_sub_overflow(a, b, &result);
      break;
    case '*':
      if (doubled && b >= 0) return {whole_power(a, b)};
      if (doubled) return {real_power(static_cast<double>(a), static_cast<double>(b))};
      overflow = __builtin_mul_overflow(a, b, &result);
      break;
    case '%':
      return {b == -1 ? std::int64_t{0} : floor_division(a, b).remainder};
    default:
      if (doubled) return {floor_division(a, b).quotient};
      if (b == 0) divided_by_zero();
      return {true_quotient(a, b)};
  }
  if (overflow) beyond();
  return {result};
}

Item of_reals(std::string_view sign, double a, double b) {
  if (sign == "+") return {a + b};
  if (sign == "-") return {a - b};
  if (sign == "*") return {a * b};
  if (sign == "**") return {real_power(a, b)};
  if (sign == "/") {
    if (b == 0.0) divided_by_zero();
    return {a / b};
  }
  return floor_of_reals(sign, a, b);
}

std::partial_ordering order_of_numbers(const Item& a, const Item& b) {
  const std::int64_t *const left = integer_of(a), *const right = integer_of(b);
  if (left != nullptr && right != nullptr) return *left <=> *right;
  if (left != nullptr) return order_of(*left, real_of(b));
  if (right != nullptr) return 0 <=> order_of(*right, real_of(a));
  return real_of(a) <=> real_of(b);
}

std::int64_t truncated(double real) {
  if (std::isnan(real)) throw OperationError("no number cannot be an integer");
  if (real >= kTwo63 || real < -kTwo63) beyond();
  return static_cast<std::int64_t>(real);
}

}  // namespace heddle
