#include "heddle/kernels/expression/expression.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "heddle/kernels/error.hpp"
#include "heddle/kernels/expression/evaluation.hpp"
#include "heddle/kernels/expression/notation.hpp"
#include "heddle/kernels/expression/operations.hpp"
#include "heddle/kernels/expression/possibility.hpp"
#include "heddle/kernels/expression/syntax.hpp"
#include "heddle/kernels/expression/tokens.hpp"
#include "heddle/kernels/text.hpp"

namespace heddle {

namespace {

constexpr std::int64_t kMostValues = 5000;  // of a list

[[noreturn]] void refuse_expression(std::string_view text, std::size_t column, const std::string& why) {
  throw Error(ErrorKind::input, fmt::format("expression {}, column {}: {}", in_quotes(text), column, why));
}

/// The place in a message about the result as a whole.
constexpr std::size_t kWhole = 1;

Item result_of(const std::string& text, const SyntaxNode& root, const Expression::Names& names) {
  try {
    return evaluate(root, names);
  } catch (const ExpressionFault& fault) {
    refuse_expression(text, fault.column(), fault.what());
  }
}

Value plain_value(const std::string& text, const Item& item) {
  if (const auto* const whole = std::get_if<std::int64_t>(&item.held)) return *whole;
  if (const auto* const truth = std::get_if<bool>(&item.held)) return *truth;
  if (const auto* const word = std::get_if<std::string>(&item.held)) return *word;
  const auto* const real = std::get_if<double>(&item.held);
  if (real == nullptr) refuse_expression(text, kWhole, fmt::format("{} is no single value", shown(item)));
  if (!std::isfinite(*real)) refuse_expression(text, kWhole, fmt::format("{} is no finite number", shown(item)));
  return *real;
}

}  // namespace

Expression::Expression(std::string text) : text_(std::move(text)) {
  if (text_.size() > kLongest) refuse_expression(text_, kLongest, fmt::format("longer than {} bytes", kLongest));
  try {
    root_ = std::make_shared<const SyntaxNode>(parse_expression(text_));
  } catch (const ExpressionFault& fault) {
    refuse_expression(text_, fault.column(), fault.what());
  }
  names_ = free_names(*root_);
}

std::string Expression::normal_form() const { return heddle::normal_form(*root_); }

Value Expression::value(const Names& names) const { return plain_value(text_, result_of(text_, *root_, names)); }

std::int64_t Expression::integer(const Names& names) const {
  const Item item = result_of(text_, *root_, names);
  if (const std::int64_t* const whole = integer_of(item)) return *whole;
  const bool real = std::holds_alternative<double>(item.held);
  refuse_expression(text_, kWhole, fmt::format("{} is no integer{}", shown(item), real ? "; // divides integers" : ""));
}

double Expression::real(const Names& names) const {
  const Item item = result_of(text_, *root_, names);
  if (!is_number(item)) refuse_expression(text_, kWhole, fmt::format("{} is no number", shown(item)));
  return real_of(item);
}

bool Expression::truth(const Names& names) const { return is_true(result_of(text_, *root_, names)); }

bool Expression::may_hold(const PartialNames& names) const { return heddle::may_hold(*root_, names); }

std::vector<Value> Expression::values(const Names& names) const {
  const Item item = result_of(text_, *root_, names);
  const bool several = std::holds_alternative<ItemList>(item.held) || std::holds_alternative<ItemRange>(item.held);
  if (!several) return {plain_value(text_, item)};
  if (length_of(item) > kMostValues) {
    refuse_expression(text_, kWhole, fmt::format("{} values, expected at most {}", length_of(item), kMostValues));
  }
  std::vector<Item> elements;
  try {
    StepMeter meter;
    elements = elements_of(item, meter);
  } catch (const OperationError& error) {
    refuse_expression(text_, kWhole, error.what());
  }
  std::vector<Value> values;
  values.reserve(elements.size());
  for (const Item& element : elements) values.push_back(plain_value(text_, element));
  return values;
}

}  // namespace heddle
