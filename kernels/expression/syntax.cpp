#include "heddle/kernels/expression/syntax.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <initializer_list>
#include <utility>

#include "heddle/kernels/expression/tokens.hpp"
#include "heddle/kernels/text.hpp"

namespace heddle {

namespace {

using Kind = SyntaxNode::Kind;

constexpr int kDeepestNesting = 100;  // of brackets and signs: the parser calls itself as deep
constexpr std::size_t kMostArguments = 100;

/// Recursive descent over the tokens, from the operator that binds weakest to the strongest.
class Parser {
 public:
  explicit Parser(std::vector<Token> tokens) : tokens_(std::move(tokens)) {}

  SyntaxNode all() {
    SyntaxNode tree = conditional();
    if (token().kind != Token::Kind::end) {
      if (is_sign("for")) fail("a comprehension needs brackets: [... for ... in ...]");
      if (is_sign(",")) fail("a list needs brackets: [..., ...]");
      fail("expected an operator");
    }
    return tree;
  }

 private:
  /// Counts how deep the parser has called itself.
  class Level {
   public:
    explicit Level(Parser& parser) : parser_(parser) {
      if (++parser_.depth_ > kDeepestNesting) parser_.fail("too many levels");
    }
    ~Level() { --parser_.depth_; }
    Level(const Level&) = delete;
    Level& operator=(const Level&) = delete;

   private:
    Parser& parser_;
  };

  [[nodiscard]] const Token& token() const { return tokens_[at_]; }
  [[nodiscard]] bool is_sign(std::string_view sign) const {
    return token().kind == Token::Kind::sign && token().text == sign;
  }
  [[noreturn]] void fail(const std::string& why) const { throw ExpressionFault(token().column, why); }

  bool take(std::string_view sign) {
    if (!is_sign(sign)) return false;
    ++at_;
    return true;
  }
  void require(std::string_view sign) {
    if (!take(sign)) fail(fmt::format("expected {}", sign));
  }

  static SyntaxNode node(Kind kind, std::size_t column, std::string name, std::vector<SyntaxNode> operands) {
    SyntaxNode made{.kind = kind, .column = column, .name = std::move(name), .operands = std::move(operands)};
    for (const SyntaxNode& operand : made.operands) made.levels = std::max(made.levels, operand.levels + 1);
    if (made.levels > kDeepestExpression) throw ExpressionFault(column, "too many operators in a row");
    return made;
  }
  template <class... Nodes>
  static std::vector<SyntaxNode> operands(Nodes&&... nodes) {
    std::vector<SyntaxNode> made;
    made.reserve(sizeof...(nodes));
    (made.push_back(std::forward<Nodes>(nodes)), ...);
    return made;
  }

  SyntaxNode conditional() {
    const Level level(*this);
    SyntaxNode yes = any();
    const std::size_t column = token().column;
    if (!take("if")) return yes;
    SyntaxNode condition = any();
    require("else");
    SyntaxNode no = conditional();
    return node(Kind::conditional, column, {}, operands(std::move(condition), std::move(yes), std::move(no)));
  }

  SyntaxNode any() {
    return joined("or", Kind::any, [this] { return every(); });
  }
  SyntaxNode every() {
    return joined("and", Kind::all, [this] { return negation(); });
  }
  template <class Part>
  SyntaxNode joined(std::string_view sign, Kind kind, const Part& part) {
    SyntaxNode first = part();
    if (!is_sign(sign)) return first;
    const std::size_t column = token().column;
    std::vector<SyntaxNode> parts = operands(std::move(first));
    while (take(sign)) parts.push_back(part());
    return node(kind, column, {}, std::move(parts));
  }

  SyntaxNode negation() {
    const Level level(*this);
    const std::size_t column = token().column;
    if (take("not")) return node(Kind::unary, column, "not", operands(negation()));
    return comparison();
  }

  /// The sign of a comparison that stands here, taken; empty if none does.
  std::string compared() {
    for (const std::string_view sign : {"<", "<=", ">", ">=", "==", "!=", "in"}) {
      if (take(sign)) return std::string(sign);
    }
    if (!take("not")) return {};
    require("in");
    return "not in";
  }

  SyntaxNode comparison() {
    SyntaxNode first = sum();
    const std::size_t column = token().column;
    std::string sign = compared();
    if (sign.empty()) return first;
    std::vector<SyntaxNode> parts = operands(std::move(first));
    std::vector<std::string> signs;
    for (; !sign.empty(); sign = compared()) {
      signs.push_back(std::move(sign));
      parts.push_back(sum());
    }
    SyntaxNode made = node(Kind::comparison, column, {}, std::move(parts));
    made.signs = std::move(signs);
    return made;
  }

  /// Operators of one precedence, from left to right.
  template <class Part>
  SyntaxNode from_left(std::initializer_list<std::string_view> signs, const Part& part) {
    SyntaxNode left = part();
    for (;;) {
      const std::size_t column = token().column;
      const auto* const sign = std::ranges::find_if(signs, [this](std::string_view each) { return take(each); });
      if (sign == signs.end()) return left;
      SyntaxNode right = part();
      left = node(Kind::binary, column, std::string(*sign), operands(std::move(left), std::move(right)));
    }
  }
  SyntaxNode sum() {
    return from_left({"+", "-"}, [this] { return product(); });
  }
  SyntaxNode product() {
    return from_left({"*", "/", "//", "%"}, [this] { return signed_power(); });
  }

  SyntaxNode signed_power() {
    const Level level(*this);
    const std::size_t column = token().column;
    if (take("+")) return node(Kind::unary, column, "+", operands(signed_power()));
    if (!take("-")) return power();
    // The smallest integer is written as minus a number that is none of 64 bits.
    const bool power_follows = at_ + 1 < tokens_.size() && tokens_[at_ + 1].text == "**";
    if (token().smallest && !power_follows) return literal();
    return node(Kind::unary, column, "-", operands(signed_power()));
  }

  /// ** binds stronger than a sign before it, and weaker than one after it; from right to left.
  SyntaxNode power() {
    SyntaxNode base = element();
    const std::size_t column = token().column;
    if (!take("**")) return base;
    SyntaxNode exponent = signed_power();
    return node(Kind::binary, column, "**", operands(std::move(base), std::move(exponent)));
  }

  SyntaxNode element() {
    SyntaxNode sequence = primary();
    for (;;) {
      const std::size_t column = token().column;
      if (is_sign("(")) fail("only a function can be called");
      if (is_sign(".")) fail("nothing here has members");
      if (!take("[")) return sequence;
      SyntaxNode index = conditional();
      require("]");
      sequence = node(Kind::index, column, {}, operands(std::move(sequence), std::move(index)));
    }
  }

  SyntaxNode literal() {
    SyntaxNode made{.column = token().column, .literal = token().literal};
    ++at_;
    return made;
  }

  SyntaxNode primary() {
    if (token().kind == Token::Kind::literal) {
      if (token().smallest) fail("an integer beyond 64 bits");
      return literal();
    }
    if (token().kind == Token::Kind::name) return named();
    if (is_sign("[")) return list();
    if (take("(")) {
      if (is_sign(")")) fail("expected a value");
      SyntaxNode inner = conditional();
      if (is_sign(",")) fail("there are no tuples; a list needs [ and ]");
      require(")");
      return inner;
    }
    fail("expected a value");
  }

  SyntaxNode named() {
    const std::size_t column = token().column;
    std::string name = token().text;
    ++at_;
    if (!is_sign("(")) {
      if (name == "true" || name == "false") {
        throw ExpressionFault(column, "expressions are written as in Python: True, False");
      }
      return {.kind = Kind::name, .column = column, .name = std::move(name)};
    }
    return call(std::move(name), column);
  }

  SyntaxNode call(std::string name, std::size_t column) {
    const auto& known = expression_functions();
    const auto function = std::ranges::find(known, name, &ExpressionFunction::name);
    if (function == known.end()) throw ExpressionFault(column, fmt::format("there is no function {}", in_quotes(name)));
    require("(");
    std::vector<SyntaxNode> arguments;
    if (!is_sign(")")) {
      arguments.push_back(conditional());
      if (is_sign("for")) {
        arguments.front() = comprehension(std::move(arguments.front()));
      } else {
        while (take(",") && !is_sign(")")) {
          arguments.push_back(conditional());
          if (arguments.size() > kMostArguments) fail("too many arguments");
        }
      }
    }
    require(")");
    if (arguments.size() < function->fewest || arguments.size() > function->most) {
      throw ExpressionFault(column, fmt::format("{} does not take {} arguments", name, arguments.size()));
    }
    if (name == "has" && arguments.front().kind != Kind::name) {
      throw ExpressionFault(arguments.front().column, "has() takes a name");
    }
    return node(Kind::call, column, std::move(name), std::move(arguments));
  }

  SyntaxNode list() {
    const std::size_t column = token().column;
    require("[");
    std::vector<SyntaxNode> elements;
    while (!is_sign("]")) {
      elements.push_back(conditional());
      if (elements.size() == 1 && is_sign("for")) {
        SyntaxNode made = comprehension(std::move(elements.front()));
        require("]");
        return made;
      }
      if (!take(",")) break;
    }
    require("]");
    return node(Kind::list, column, {}, std::move(elements));
  }

  /// What follows the element: for NAME in SEQUENCE if CONDITION ...
  SyntaxNode comprehension(SyntaxNode of) {
    const std::size_t column = token().column;
    require("for");
    if (token().kind != Token::Kind::name) fail("expected the name of a variable");
    std::string variable = token().text;
    ++at_;
    if (is_sign(",")) fail("a comprehension has one variable");
    require("in");
    SyntaxNode sequence = any();
    std::vector<SyntaxNode> parts = operands(std::move(of), std::move(sequence));
    while (take("if")) parts.push_back(any());
    if (is_sign("for")) fail("a comprehension has one variable");
    return node(Kind::comprehension, column, std::move(variable), std::move(parts));
  }

  std::vector<Token> tokens_;
  std::size_t at_ = 0;
  int depth_ = 0;
};

/// `bound`: variables of the comprehensions around.
void collect_names(const SyntaxNode& tree, std::vector<std::string>& bound, std::vector<std::string>& names) {
  const auto has = [](const std::vector<std::string>& list, const std::string& name) {
    return std::ranges::find(list, name) != list.end();
  };
  if (tree.kind == Kind::name && !has(bound, tree.name) && !has(names, tree.name)) names.push_back(tree.name);
  if (tree.kind != Kind::comprehension) {
    for (const SyntaxNode& operand : tree.operands) collect_names(operand, bound, names);
    return;
  }
  collect_names(tree.operands[1], bound, names);  // the sequence does not see the variable
  bound.push_back(tree.name);
  for (std::size_t i = 0; i < tree.operands.size(); ++i) {
    if (i != 1) collect_names(tree.operands[i], bound, names);
  }
  bound.pop_back();
}

}  // namespace

const std::vector<ExpressionFunction>& expression_functions() {
  static const std::vector<ExpressionFunction> functions{{"abs"},
                                                         {"bool"},
                                                         {"float"},
                                                         {"int"},
                                                         {"len"},
                                                         {"list"},
                                                         {"max", 1, kMostArguments},
                                                         {"min", 1, kMostArguments},
                                                         {"range", 1, 3},
                                                         {"sum", 1, 2},
                                                         {"ceil_div", 2, 2},
                                                         {"round_up", 2, 2},
                                                         {"has"}};
  return functions;
}

SyntaxNode parse_expression(std::string_view text) { return Parser(tokens_of(text)).all(); }

std::vector<std::string> free_names(const SyntaxNode& tree) {
  std::vector<std::string> bound, names;
  collect_names(tree, bound, names);
  return names;
}

}  // namespace heddle
