#include "heddle/kernels/own/expression.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <system_error>
#include <utility>

#include "heddle/kernels/error.hpp"
#include "heddle/kernels/text.hpp"

namespace heddle {

/// A literal, a name, or an operator or function with its operands.
struct Expression::Node {
  std::string what;  ///< operator, function or name; empty: a literal
  Value literal{};
  std::vector<Node> operands{};
  bool is_name = false;
};

namespace {

using Node = Expression::Node;

constexpr std::size_t kLongestExpression = 2000;
constexpr int kDeepestExpression = 100;

[[noreturn]] void refuse_expression(std::string_view text, const std::string& why) {
  throw Error(ErrorKind::input, fmt::format("expression {}: {}", in_quotes(text), why));
}

bool starts_name(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }

/// Binary operators by precedence, the weakest first. Longer ones stand before those that they begin with.
const std::vector<std::vector<std::string_view>>& binary_operators() {
  static const std::vector<std::vector<std::string_view>> levels{
      {"||"}, {"&&"}, {"==", "!="}, {"<=", ">=", "<", ">"}, {"+", "-"}, {"*", "/", "%"}};
  return levels;
}

/// Recursive descent over the text.
class Parser {
 public:
  Parser(std::string_view text, std::vector<std::string>& names) : text_(text), names_(names) {}

  Node all() {
    Node node = conditional();
    skip_spaces();
    if (at_ < text_.size()) fail("expected an operator");
    return node;
  }

 private:
  /// Counts how deep the parser has called itself.
  class Level {
   public:
    explicit Level(Parser& parser) : parser_(parser) {
      if (++parser_.depth_ > kDeepestExpression) parser_.fail("too many levels");
    }
    ~Level() { --parser_.depth_; }
    Level(const Level&) = delete;
    Level& operator=(const Level&) = delete;

   private:
    Parser& parser_;
  };

  [[noreturn]] void fail(const char* why) const {
    refuse_expression(text_,
                      fmt::format("{} at {}", why, at_ < text_.size() ? in_quotes(text_.substr(at_)) : "its end"));
  }

  void skip_spaces() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\n' || text_[at_] == '\t')) ++at_;
  }
  bool take(std::string_view token) {
    skip_spaces();
    if (!text_.substr(at_).starts_with(token)) return false;
    at_ += token.size();
    return true;
  }
  void require(std::string_view token) {
    if (!take(token)) fail(fmt::format("expected {}", token).c_str());
  }

  Node conditional() {
    const Level level(*this);
    Node condition = binary(0);
    if (!take("?")) return condition;
    Node yes = conditional();
    require(":");
    Node no = conditional();
    Node node{.what = "?:"};
    node.operands.reserve(3);
    node.operands.push_back(std::move(condition));
    node.operands.push_back(std::move(yes));
    node.operands.push_back(std::move(no));
    return node;
  }

  Node binary(std::size_t level) {
    if (level == binary_operators().size()) return unary();
    Node left = binary(level + 1);
    for (int length = 0;;) {
      const auto& operators = binary_operators()[level];
      const auto found = std::ranges::find_if(operators, [&](std::string_view each) { return take(each); });
      if (found == operators.end()) return left;
      if (++length > kDeepestExpression) fail("too many operators");  // evaluation goes down the left operands
      Node node{.what = std::string(*found)};
      node.operands.reserve(2);
      node.operands.push_back(std::move(left));
      node.operands.push_back(binary(level + 1));
      left = std::move(node);
    }
  }

  Node unary() {
    const Level level(*this);
    for (const std::string_view sign : {"-", "!"}) {
      if (!take(sign)) continue;
      Node node{.what = fmt::format("unary {}", sign)};
      node.operands.push_back(unary());
      return node;
    }
    return primary();
  }

  Node primary() {
    skip_spaces();
    if (at_ == text_.size()) fail("expected a value");
    if (take("(")) {
      Node inner = conditional();
      require(")");
      return inner;
    }
    const char c = text_[at_];
    if (is_digit(c)) return number();
    if (c == '"') return word();
    if (starts_name(c)) return name();
    fail("expected a value");
  }

  Node number() {
    std::size_t end = at_;
    bool whole = true;
    while (end < text_.size()) {
      const char c = text_[end];
      const bool exponent_sign = (c == '-' || c == '+') && (text_[end - 1] == 'e' || text_[end - 1] == 'E');
      if (!is_digit(c) && c != '.' && c != 'e' && c != 'E' && !exponent_sign) break;
      whole = whole && is_digit(c);
      ++end;
    }
    const std::string_view digits = text_.substr(at_, end - at_);
    Node node;
    const auto read = [&](auto number) {
      const auto [stop, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
      if (error != std::errc() || stop != digits.data() + digits.size()) fail("expected a number");
      node.literal = number;
    };
    if (whole) {
      read(std::int64_t{});
    } else {
      read(double{});
    }
    at_ = end;
    return node;
  }

  Node word() {
    const std::size_t end = text_.find('"', at_ + 1);
    if (end == std::string_view::npos) fail("expected a quote after the word");
    Node node;
    node.literal = std::string(text_.substr(at_ + 1, end - at_ - 1));
    at_ = end + 1;
    return node;
  }

  /// The name that begins here; empty if none does.
  std::string identifier() {
    std::size_t end = at_;
    while (end < text_.size() && (starts_name(text_[end]) || (end > at_ && is_digit(text_[end])))) ++end;
    return std::string(text_.substr(std::exchange(at_, end), end - at_));
  }

  Node name() {
    Node node{.what = identifier()};
    if (node.what == "true" || node.what == "false") return Node{.what = {}, .literal = node.what == "true"};
    if (node.what == "has" && take("(")) {
      skip_spaces();
      Node operand{.what = identifier()};
      if (operand.what.empty()) fail("expected a name");
      node.operands.push_back(named(std::move(operand)));
      require(")");
      return node;
    }
    if (take("(")) {
      constexpr std::array<std::string_view, 4> kFunctions{"min", "max", "ceil_div", "round_up"};
      if (std::ranges::find(kFunctions, node.what) == kFunctions.end()) {
        fail(fmt::format("there is no function {}", in_quotes(node.what)).c_str());
      }
      node.operands.reserve(2);
      node.operands.push_back(conditional());
      require(",");
      node.operands.push_back(conditional());
      require(")");
      return node;
    }
    return named(std::move(node));
  }

  Node named(Node node) {
    node.is_name = true;
    if (std::ranges::find(names_, node.what) == names_.end()) names_.push_back(node.what);
    return node;
  }

  std::string_view text_;
  std::vector<std::string>& names_;
  std::size_t at_ = 0;
  int depth_ = 0;
};

class Evaluation {
 public:
  Evaluation(const std::string& text, const Expression::Names& names) : text_(text), names_(names) {}

  Value of(const Node& node) const {
    if (node.what.empty()) return node.literal;
    if (node.is_name) {
      if (auto value = names_(node.what)) return *std::move(value);
      fail(fmt::format("{} has no value here", in_quotes(node.what)));
    }
    const auto& operands = node.operands;
    // The operands of these are not all evaluated.
    if (node.what == "has") return names_(operands[0].what).has_value();
    if (node.what == "?:") return of(truth(of(operands[0])) ? operands[1] : operands[2]);
    if (node.what == "&&") return truth(of(operands[0])) && truth(of(operands[1]));
    if (node.what == "||") return truth(of(operands[0])) || truth(of(operands[1]));
    const Value left = of(operands[0]);
    if (node.what == "unary !") return !truth(left);
    if (node.what == "unary -") return binary("-", std::int64_t{0}, left);
    return binary(node.what, left, of(operands[1]));
  }

  bool truth(const Value& value) const {
    if (const bool* const held = std::get_if<bool>(&value)) return *held;
    fail(fmt::format("{} is no truth value", heddle::text(value)));
  }
  std::int64_t integer(const Value& value) const {
    if (const auto* const held = std::get_if<std::int64_t>(&value)) return *held;
    fail(fmt::format("{} is no integer", heddle::text(value)));
  }
  double real(const Value& value) const {
    const auto number = std::holds_alternative<bool>(value) ? std::nullopt : as_number(value);
    if (number) return *number;
    fail(fmt::format("{} is no number", heddle::text(value)));
  }

 private:
  [[noreturn]] void fail(const std::string& why) const { refuse_expression(text_, why); }

  Value binary(const std::string& what, const Value& left, const Value& right) const {
    if (what == "==" || what == "!=") return equal(left, right) == (what == "==");
    if (std::holds_alternative<std::int64_t>(left) && std::holds_alternative<std::int64_t>(right)) {
      return of_integers(what, std::get<std::int64_t>(left), std::get<std::int64_t>(right));
    }
    return of_reals(what, real(left), real(right));
  }

  bool equal(const Value& left, const Value& right) const {
    if (left.index() == right.index()) return left == right;
    return real(left) == real(right);  // refuses a word beside a number
  }

  Value of_integers(const std::string& what, std::int64_t a, std::int64_t b) const {
    std::int64_t result = 0;
    bool overflow = false;
    if (what == "<") return a < b;
    if (what == "<=") return a <= b;
    if (what == ">") return a > b;
    if (what == ">=") return a >= b;
    if (what == "min") return std::min(a, b);
    if (what == "max") return std::max(a, b);
    if (what == "+") overflow = __builtin_add_overflow(a, b, &result);
    if (what == "-") overflow = __builtin_sub_overflow(a, b, &result);
    if (what == "*") overflow = __builtin_mul_overflow(a, b, &result);
    if (what == "/" || what == "%" || what == "ceil_div" || what == "round_up") {
      if (b == 0) fail("division by zero");
      if (b == -1) {  // the one quotient that may not fit
        overflow = __builtin_sub_overflow(std::int64_t{0}, a, &result);
        if (what == "%") return std::int64_t{0};
        if (what == "round_up") return a;
      } else {
        const std::int64_t down = a / b, rest = a % b;
        const std::int64_t up = down + (rest != 0 && (rest < 0) == (b < 0) ? 1 : 0);
        if (what == "/") result = down;
        if (what == "%") result = rest;
        if (what == "ceil_div") result = up;
        if (what == "round_up") overflow = __builtin_mul_overflow(up, b, &result);
      }
    }
    if (overflow) fail("an integer beyond 64 bits");
    return result;
  }

  Value of_reals(const std::string& what, double a, double b) const {
    if (what == "<") return a < b;
    if (what == "<=") return a <= b;
    if (what == ">") return a > b;
    if (what == ">=") return a >= b;
    if (what == "min") return std::min(a, b);
    if (what == "max") return std::max(a, b);
    if (what == "+") return a + b;
    if (what == "-") return a - b;
    if (what == "*") return a * b;
    if (what == "/") {
      if (b == 0.0) fail("division by zero");
      return a / b;
    }
    fail(fmt::format("{} takes integers", what));
  }

  const std::string& text_;
  const Expression::Names& names_;
};

}  // namespace

Expression::Expression(std::string text) : text_(std::move(text)) {
  if (text_.size() > kLongestExpression) refuse_expression(text_, "longer than 2000 characters");
  root_ = std::make_shared<const Node>(Parser(text_, names_).all());
}

Value Expression::value(const Names& names) const { return Evaluation(text_, names).of(*root_); }

std::int64_t Expression::integer(const Names& names) const { return Evaluation(text_, names).integer(value(names)); }

double Expression::real(const Names& names) const { return Evaluation(text_, names).real(value(names)); }

bool Expression::truth(const Names& names) const { return Evaluation(text_, names).truth(value(names)); }

}  // namespace heddle
