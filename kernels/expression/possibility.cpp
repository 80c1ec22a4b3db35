#include "heddle/kernels/expression/possibility.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include "heddle/kernels/expression/operations.hpp"

namespace heddle {

namespace {

using Kind = SyntaxNode::Kind;

/// Beyond it, a double does not tell two integers apart.
constexpr double kExactWhole = 0x1p53;

/// What the value of a node may be.
struct Possibility {
  std::optional<Item> exact{};    ///< its value, if that is known
  std::optional<Bounds> range{};  ///< if it is a number
  bool may_be_true = true, may_be_false = true;
};

Possibility number_between(double low, double high) {
  // Not-a-number is in no range.
  if (!(low >= -kExactWhole && high <= kExactWhole && low <= high)) return {};
  return {.exact = {},
          .range = Bounds{low, high},
          .may_be_true = low != 0.0 || high != 0.0,
          .may_be_false = low <= 0.0 && high >= 0.0};
}

Possibility truth(bool may_be_true, bool may_be_false) {
  Possibility result = number_between(may_be_false ? 0.0 : 1.0, may_be_true ? 1.0 : 0.0);
  if (may_be_true != may_be_false) result.exact = Item{may_be_true};
  return result;
}

Possibility exactly(Item item) {
  Possibility result = is_number(item) ? number_between(real_of(item), real_of(item)) : Possibility{};
  result.may_be_true = is_true(item);
  result.may_be_false = !result.may_be_true;
  result.exact = std::move(item);
  return result;
}

/// One of both.
Possibility either(const Possibility& a, const Possibility& b) {
  Possibility result;
  if (a.range && b.range) {
    result = number_between(std::min(a.range->low, b.range->low), std::max(a.range->high, b.range->high));
  }
  result.may_be_true = a.may_be_true || b.may_be_true;
  result.may_be_false = a.may_be_false || b.may_be_false;
  return result;
}

/// `operation` at the corners of two ranges: right for what is monotonic in each argument.
template <class Operation>
Possibility at_corners(const Bounds& a, const Bounds& b, const Operation& operation) {
  double low = std::numeric_limits<double>::infinity(), high = -low;
  for (const double x : {a.low, a.high}) {
    for (const double y : {b.low, b.high}) {
      const double z = operation(x, y);
      if (std::isnan(z)) return {};
      low = std::min(low, z);
      high = std::max(high, z);
    }
  }
  return number_between(low, high);
}

double next_below(double x) { return std::nextafter(x, -std::numeric_limits<double>::infinity()); }
double next_above(double x) { return std::nextafter(x, std::numeric_limits<double>::infinity()); }

/// Quotients are rounded, perhaps across a whole number.
Possibility whole_quotient(const Bounds& a, const Bounds& b, double (*rounded)(double)) {
  const auto quotient = at_corners(a, b, [](double x, double y) { return x / y; }).range;
  if (!quotient) return {};
  return number_between(rounded(next_below(quotient->low)), rounded(next_above(quotient->high)));
}

Possibility binary_range(std::string_view sign, const Bounds& a, const Bounds& b) {
  const bool divides = b.low > 0.0 || b.high < 0.0;
  if (sign == "+") return number_between(a.low + b.low, a.high + b.high);
  if (sign == "-") return number_between(a.low - b.high, a.high - b.low);
  if (sign == "*") return at_corners(a, b, [](double x, double y) { return x * y; });
  if (sign == "/" && divides) return at_corners(a, b, [](double x, double y) { return x / y; });
  if (sign == "//" && divides) return whole_quotient(a, b, std::floor);
  if (sign == "%" && b.low > 0.0) return number_between(0.0, a.low >= 0.0 ? std::min(a.high, b.high) : b.high);
  if (sign == "**" && a.low >= 1.0 && b.low >= 0.0) {
    return number_between(next_below(std::pow(a.low, b.low)), next_above(std::pow(a.high, b.high)));
  }
  return {};
}

/// Of < <= > >= == !=
Possibility comparison_of(std::string_view sign, const Bounds& a, const Bounds& b) {
  if (sign == "<") return truth(a.low < b.high, a.high >= b.low);
  if (sign == "<=") return truth(a.low <= b.high, a.high > b.low);
  if (sign == ">") return comparison_of("<", b, a);
  if (sign == ">=") return comparison_of("<=", b, a);
  const bool may_be_equal = a.low <= b.high && b.low <= a.high;
  const bool may_differ = a.low != a.high || b.low != b.high || a.low != b.low;
  if (sign == "==") return truth(may_be_equal, may_differ);
  if (sign == "!=") return truth(may_differ, may_be_equal);
  return truth(true, true);
}

class Prospector {
 public:
  explicit Prospector(const PartialNames& names) : names_(names) {}

  /// Throws OperationError where an operation on known values has no result.
  Possibility of(const SyntaxNode& node) {
    meter_.take();
    switch (node.kind) {
      case Kind::literal:
        return exactly(node.literal);
      case Kind::name:
        return named(node.name);
      case Kind::unary:
        return unary(node);
      case Kind::binary: {
        const Possibility left = of(node.operands[0]), right = of(node.operands[1]);
        if (left.exact && right.exact) return exactly(binary_operation(node.name, *left.exact, *right.exact, meter_));
        return left.range && right.range ? binary_range(node.name, *left.range, *right.range) : Possibility{};
      }
      case Kind::all:
      case Kind::any:
        return joined(node);
      case Kind::comparison:
        return compared(node);
      case Kind::conditional: {
        const Possibility condition = of(node.operands[0]);
        if (!condition.may_be_false) return of(node.operands[1]);
        if (!condition.may_be_true) return of(node.operands[2]);
        return either(of(node.operands[1]), of(node.operands[2]));
      }
      case Kind::call:
        return called(node);
      case Kind::list:
      case Kind::index:
      case Kind::comprehension:
        return {};
    }
    return {};
  }

 private:
  Possibility named(std::string_view name) const {
    const auto known = names_(name);
    if (const Value* const value = std::get_if<Value>(&known)) return exactly(item_of(*value));
    if (const Bounds* const bounds = std::get_if<Bounds>(&known)) return number_between(bounds->low, bounds->high);
    return {};
  }

  Possibility unary(const SyntaxNode& node) {
    const Possibility operand = of(node.operands[0]);
    if (operand.exact) return exactly(unary_operation(node.name, *operand.exact));
    if (node.name == "not") return truth(operand.may_be_false, operand.may_be_true);
    if (!operand.range) return {};
    return node.name == "-" ? number_between(-operand.range->high, -operand.range->low) : operand;
  }

  /// Python's and, or: the first operand that decides, else the last.
  Possibility joined(const SyntaxNode& node) {
    const bool any = node.kind == Kind::any;
    std::optional<Possibility> result;
    for (std::size_t i = 0; i < node.operands.size(); ++i) {
      Possibility operand = of(node.operands[i]);
      const bool last = i + 1 == node.operands.size();
      const bool may_decide = any ? operand.may_be_true : operand.may_be_false;
      const bool may_not = any ? operand.may_be_false : operand.may_be_true;
      if (!last && !may_decide) continue;
      if (!last && may_not) {  // it is the result only if it decides
        operand.exact.reset();
        operand.may_be_true = any;
        operand.may_be_false = !any;
        if (!any && operand.range) operand = number_between(0.0, 0.0);
      }
      result = result ? either(*result, operand) : operand;
      if (!may_not) break;
    }
    return *result;
  }

  Possibility compared(const SyntaxNode& node) {
    bool may_be_true = true, may_be_false = false;
    Possibility left = of(node.operands[0]);
    for (std::size_t i = 0; i < node.signs.size() && may_be_true; ++i) {
      const SyntaxNode& other = node.operands[i + 1];
      Possibility right = of(other);
      const Possibility link = compared(node.signs[i], left, right, other);
      may_be_true = may_be_true && link.may_be_true;
      may_be_false = may_be_false || link.may_be_false;
      left = std::move(right);
    }
    return truth(may_be_true, may_be_false);
  }

  Possibility compared(const std::string& sign, const Possibility& left, const Possibility& right,
                       const SyntaxNode& other) {
    if (left.exact && right.exact) return exactly(Item{compare(sign, *left.exact, *right.exact, meter_)});
    const bool member = sign == "in" || sign == "not in";
    if (member && left.range && other.kind == Kind::list) {
      bool may_be_in = false, may_be_out = true;
      for (const SyntaxNode& each : other.operands) {
        const Possibility element = of(each);
        const Possibility equal = element.range ? comparison_of("==", *left.range, *element.range) : truth(true, true);
        may_be_in = may_be_in || equal.may_be_true;
        may_be_out = may_be_out && equal.may_be_false;
      }
      return sign == "in" ? truth(may_be_in, may_be_out) : truth(may_be_out, may_be_in);
    }
    if (member || !left.range || !right.range) return truth(true, true);
    return comparison_of(sign, *left.range, *right.range);
  }

  Possibility called(const SyntaxNode& node) {
    if (node.name == "has") return {};
    std::vector<Bounds> ranges;
    std::vector<Item> known;
    for (const SyntaxNode& operand : node.operands) {
      const Possibility argument = of(operand);
      if (argument.exact) known.push_back(*argument.exact);
      if (argument.range) ranges.push_back(*argument.range);
    }
    if (known.size() == node.operands.size()) return exactly(call_function(node.name, known, meter_));
    if (ranges.size() != node.operands.size()) return {};
    if ((node.name == "min" || node.name == "max") && ranges.size() > 1) {
      Bounds bounds = ranges.front();
      for (const Bounds& each : ranges) {
        const bool least = node.name == "min";
        bounds = {.low = least ? std::min(bounds.low, each.low) : std::max(bounds.low, each.low),
                  .high = least ? std::min(bounds.high, each.high) : std::max(bounds.high, each.high)};
      }
      return number_between(bounds.low, bounds.high);
    }
    if (node.name == "abs") {
      const auto [low, high] = ranges.front();
      const bool crosses = low < 0.0 && high > 0.0;
      return number_between(crosses ? 0.0 : std::min(std::abs(low), std::abs(high)),
                            std::max(std::abs(low), std::abs(high)));
    }
    if (node.name == "ceil_div" && ranges[1].low > 0.0) return whole_quotient(ranges[0], ranges[1], std::ceil);
    return {};
  }

  const PartialNames& names_;
  StepMeter meter_;
};

}  // namespace

bool may_hold(const SyntaxNode& tree, const PartialNames& names) {
  try {
    return Prospector(names).of(tree).may_be_true;
  } catch (const OperationError&) {  // the evaluation says it where it comes to that
    return true;
  }
}

}  // namespace heddle
