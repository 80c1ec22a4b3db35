#include "heddle/kernels/expression/evaluation.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "heddle/kernels/expression/operations.hpp"
#include "heddle/kernels/expression/tokens.hpp"
#include "heddle/kernels/text.hpp"

namespace heddle {

namespace {

using Kind = SyntaxNode::Kind;

class Evaluator {
 public:
  explicit Evaluator(const Expression::Names& names) : names_(names) {}

  Item all(const SyntaxNode& tree) {
    try {
      return of(tree);
    } catch (const OperationError& error) {
      throw ExpressionFault(column_, error.what());
    }
  }

 private:
  /// The value of a node. column_ is where it is at work, for the message of what fails.
  Item of(const SyntaxNode& node) {
    at(node);
    switch (node.kind) {
      case Kind::literal:
        return copied(node.literal);
      case Kind::name:
        return named(node);
      case Kind::list:
        return {std::make_shared<const std::vector<Item>>(operands(node))};
      case Kind::unary: {
        const Item operand = of(node.operands[0]);
        return at(node), unary_operation(node.name, operand);
      }
      case Kind::binary: {
        const Item left = of(node.operands[0]), right = of(node.operands[1]);
        return at(node), binary_operation(node.name, left, right, meter_);
      }
      case Kind::all:
      case Kind::any:
        return joined(node);
      case Kind::comparison:
        return {compared(node)};
      case Kind::conditional:
        return of(node.operands[is_true(of(node.operands[0])) ? 1 : 2]);
      case Kind::call:
        return called(node);
      case Kind::index: {
        const Item sequence = of(node.operands[0]), index = of(node.operands[1]);
        return at(node), element_of(sequence, index, meter_);
      }
      case Kind::comprehension:
        return comprehension(node);
    }
    return {};
  }

  void at(const SyntaxNode& node) {
    column_ = node.column;
    meter_.take();
  }

  std::vector<Item> operands(const SyntaxNode& node) {
    std::vector<Item> all;
    all.reserve(node.operands.size());
    for (const SyntaxNode& operand : node.operands) all.push_back(of(operand));
    at(node);
    return all;
  }

  const Item& copied(const Item& item) {
    meter_.take(copy_steps(item) - 1);  // a step was taken for the node
    return item;
  }

  Item named(const SyntaxNode& node) {
    const auto bound = std::find_if(variables_.rbegin(), variables_.rend(),
                                    [&](const auto& variable) { return *variable.first == node.name; });
    if (bound != variables_.rend()) return copied(bound->second);
    if (const auto value = names_ ? names_(node.name) : std::nullopt) return item_of(*value);
    throw OperationError(fmt::format("{} has no value here", in_quotes(node.name)));
  }

  /// Python's and, or: the first operand that decides, else the last.
  Item joined(const SyntaxNode& node) {
    for (std::size_t i = 0; i + 1 < node.operands.size(); ++i) {
      Item operand = of(node.operands[i]);
      if (is_true(operand) == (node.kind == Kind::any)) return operand;
    }
    return of(node.operands.back());
  }

  bool compared(const SyntaxNode& node) {
    Item left = of(node.operands[0]);
    for (std::size_t i = 0; i < node.signs.size(); ++i) {
      Item right = of(node.operands[i + 1]);
      at(node);
      if (!compare(node.signs[i], left, right, meter_)) return false;
      left = std::move(right);
    }
    return true;
  }

  Item called(const SyntaxNode& node) {
    if (node.name == "has") {
      const std::string& name = node.operands[0].name;
      const bool bound = std::ranges::any_of(variables_, [&](const auto& each) { return *each.first == name; });
      return {bound || (names_ && names_(name).has_value())};
    }
    return call_function(node.name, operands(node), meter_);
  }

  Item comprehension(const SyntaxNode& node) {
    const Item sequence = of(node.operands[1]);
    at(node);
    std::vector<Item> all;
    variables_.emplace_back(&node.name, Item{});
    for (Item& element : elements_of(sequence, meter_)) {
      variables_.back().second = std::move(element);
      const bool wanted = std::all_of(node.operands.begin() + 2, node.operands.end(),
                                      [this](const SyntaxNode& condition) { return is_true(of(condition)); });
      if (wanted) all.push_back(of(node.operands[0]));
    }
    variables_.pop_back();
    return {std::make_shared<const std::vector<Item>>(std::move(all))};
  }

  const Expression::Names& names_;
  StepMeter meter_;
  std::size_t column_ = 1;
  std::vector<std::pair<const std::string*, Item>> variables_;  // of the comprehensions around, the innermost last
};

}  // namespace

Item evaluate(const SyntaxNode& tree, const Expression::Names& names) { return Evaluator(names).all(tree); }

}  // namespace heddle
