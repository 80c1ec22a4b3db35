#include "heddle/kernels/expression/notation.hpp"

#include <fmt/format.h>

#include <cstddef>
#include <string_view>

namespace heddle {

namespace {

using Kind = SyntaxNode::Kind;

/// How strongly a node binds its operands, weakest first: the levels of the grammar. Where a node binds less than its
/// place asks for, it needs brackets.
enum class Binding { conditional, any, all, negation, comparison, sum, product, sign, power, element };

Binding binding_of_operator(std::string_view sign) {
  if (sign == "+" || sign == "-") return Binding::sum;
  return sign == "**" ? Binding::power : Binding::product;
}

Binding binding_of(const SyntaxNode& node) {
  switch (node.kind) {
    case Kind::conditional:
      return Binding::conditional;
    case Kind::any:
      return Binding::any;
    case Kind::all:
      return Binding::all;
    case Kind::comparison:
      return Binding::comparison;
    case Kind::unary:
      return node.name == "not" ? Binding::negation : Binding::sign;
    case Kind::binary:
      return binding_of_operator(node.name);
    case Kind::literal: {  // the smallest integer alone has its sign inside
      const auto* const whole = std::get_if<std::int64_t>(&node.literal.held);
      return whole != nullptr && *whole < 0 ? Binding::sign : Binding::element;
    }
    default:
      return Binding::element;
  }
}

std::string in_quotes_of_python(const std::string& word) {
  std::string quoted = "'";
  for (const char c : word) {
    if (c == '\n' || c == '\t') {
      quoted += c == '\n' ? "\\n" : "\\t";
    } else {
      if (c == '\'' || c == '\\') quoted += '\\';
      quoted += c;
    }
  }
  return quoted + "'";
}

std::string written(const SyntaxNode& node);

std::string written_at(const SyntaxNode& node, Binding least) {
  return binding_of(node) < least ? fmt::format("({})", written(node)) : written(node);
}

std::string written_all(const std::vector<SyntaxNode>& operands, std::string_view between, Binding least) {
  std::string all;
  for (std::size_t i = 0; i < operands.size(); ++i) {
    if (i > 0) all += between;
    all += written_at(operands[i], least);
  }
  return all;
}

std::string written_binary(const SyntaxNode& node) {
  Binding left = Binding::element, right = Binding::sign;  // of **, which takes its operands from the right
  if (const Binding own = binding_of(node); own != Binding::power) {
    left = own;
    right = own == Binding::sum ? Binding::product : Binding::sign;
  }
  return fmt::format("{} {} {}", written_at(node.operands[0], left), node.name, written_at(node.operands[1], right));
}

std::string written_comparison(const SyntaxNode& node) {
  std::string all = written_at(node.operands[0], Binding::sum);
  for (std::size_t i = 0; i < node.signs.size(); ++i) {
    all += fmt::format(" {} {}", node.signs[i], written_at(node.operands[i + 1], Binding::sum));
  }
  return all;
}

/// Without its brackets.
std::string written_comprehension(const SyntaxNode& node) {
  std::string all =
      fmt::format("{} for {} in {}", written(node.operands[0]), node.name, written_at(node.operands[1], Binding::any));
  for (std::size_t i = 2; i < node.operands.size(); ++i) {
    all += fmt::format(" if {}", written_at(node.operands[i], Binding::any));
  }
  return all;
}

std::string written_call(const SyntaxNode& node) {
  const bool comprehends = node.operands.size() == 1 && node.operands[0].kind == Kind::comprehension;
  return fmt::format(
      "{}({})", node.name,
      comprehends ? written_comprehension(node.operands[0]) : written_all(node.operands, ", ", Binding::conditional));
}

std::string written(const SyntaxNode& node) {
  switch (node.kind) {
    case Kind::literal: {
      const auto* const word = std::get_if<std::string>(&node.literal.held);
      return word != nullptr ? in_quotes_of_python(*word) : shown(node.literal);
    }
    case Kind::name:
      return node.name;
    case Kind::list:
      return fmt::format("[{}]", written_all(node.operands, ", ", Binding::conditional));
    case Kind::unary:
      return node.name == "not" ? fmt::format("not {}", written_at(node.operands[0], Binding::negation))
                                : node.name + written_at(node.operands[0], Binding::sign);
    case Kind::binary:
      return written_binary(node);
    case Kind::all:
      return written_all(node.operands, " and ", Binding::negation);
    case Kind::any:
      return written_all(node.operands, " or ", Binding::all);
    case Kind::comparison:
      return written_comparison(node);
    case Kind::conditional:
      return fmt::format("{} if {} else {}", written_at(node.operands[1], Binding::any),
                         written_at(node.operands[0], Binding::any), written(node.operands[2]));
    case Kind::call:
      return written_call(node);
    case Kind::index:
      return fmt::format("{}[{}]", written_at(node.operands[0], Binding::element), written(node.operands[1]));
    case Kind::comprehension:
      return fmt::format("[{}]", written_comprehension(node));
  }
  return {};
}

}  // namespace

std::string normal_form(const SyntaxNode& tree) { return written(tree); }

}  // namespace heddle
