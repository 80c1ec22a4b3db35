#include "heddle/kernels/fuzzy/formula.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstring>
#include <utility>

#include "heddle/kernels/error.hpp"
#include "heddle/kernels/fuzzy/decimal.hpp"
#include "heddle/kernels/fuzzy/enclosed.hpp"
#include "heddle/kernels/fuzzy/host_cuts.hpp"
#include "heddle/kernels/text.hpp"

namespace heddle::fuzzy {
namespace {

using Operation = Formula::Operation;
using Step = Formula::Step;

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }

/// Recursive descent: sum, product, minus, power, operand.
class Parser {
 public:
  Parser(std::string_view text, std::vector<std::string>& names, std::vector<Step>& steps, std::string& canonical)
      : text_(text), names_(names), steps_(steps), canonical_(canonical) {}

  void run() {
    skip();
    static_cast<void>(sum());
    if (at_ < text_.size()) fail("expected an operator or the end");
    if (names_.empty())
      throw Error(ErrorKind::usage, "the formula names no input, expected one at least, as in a*b + c");
  }

 private:
  [[noreturn]] void fail(const std::string& why) const {
    const std::string found =
        at_ < text_.size() ? in_quotes(text_.substr(at_, std::min<std::size_t>(text_.size() - at_, 20))) : "its end";
    throw Error(ErrorKind::usage, fmt::format("formula, character {}: found {}, {}", at_ + 1, found, why));
  }
  void skip() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\t' || text_[at_] == '\n')) ++at_;
  }
  [[nodiscard]] bool sees(std::string_view sign) const { return text_.substr(at_).starts_with(sign); }
  /// Takes a sign that is there.
  bool takes(std::string_view sign, std::string_view written) {
    if (!sees(sign)) return false;
    at_ += sign.size();
    canonical_ += written;
    skip();
    return true;
  }
  bool takes(std::string_view sign) { return takes(sign, sign); }
  void need(std::string_view sign) {
    if (!takes(sign)) fail(fmt::format("expected '{}'", sign));
  }
  int add(const Step& step) {
    if (steps_.size() == Formula::kMostSteps) {
      throw Error(ErrorKind::usage, fmt::format("the formula has more than {} operations", Formula::kMostSteps));
    }
    steps_.push_back(step);
    return static_cast<int>(steps_.size()) - 1;
  }

  int sum() {
    int left = product();
    for (;;) {
      if (takes("+")) {
        const int right = product();
        left = add({.operation = Operation::add, .left = left, .right = right});
      } else if (takes("-")) {
        const int right = product();
        left = add({.operation = Operation::subtract, .left = left, .right = right});
      } else {
        return left;
      }
    }
  }
  int product() {
    int left = signed_power();
    for (;;) {
      if (!sees("**") && takes("*")) {
        const int right = signed_power();
        left = add({.operation = Operation::multiply, .left = left, .right = right});
      } else if (takes("/")) {
        const int right = signed_power();
        left = add({.operation = Operation::divide, .left = left, .right = right});
      } else {
        return left;
      }
    }
  }
  int signed_power() {
    constexpr int kDeepest = 200;
    if (++depth_ > kDeepest) fail(fmt::format("expected at most {} levels", kDeepest));
    int result = 0;
    if (takes("-")) {
      const int operand = signed_power();
      result = add({.operation = Operation::negate, .left = operand});
    } else {
      result = power();
    }
    --depth_;
    return result;
  }
  int power() {
    const int base = operand();
    if (!takes("**", "^") && !takes("^")) return base;
    constexpr int kMost = 1'000'000;
    const bool negative = takes("-");
    const std::size_t begin = at_;
    while (at_ < text_.size() && is_digit(text_[at_])) ++at_;
    int exponent = 0;
    const std::errc error = std::from_chars(text_.data() + begin, text_.data() + at_, exponent).ec;
    if (begin == at_ || error != std::errc() || exponent > kMost || sees(".")) {
      at_ = begin;
      fail(fmt::format("expected a whole number up to {} as an exponent", kMost));
    }
    canonical_ += std::to_string(exponent);
    skip();
    if (sees("^") || sees("**")) fail("expected parentheses around one of two powers");
    return add({.operation = Operation::power, .left = base, .number = negative ? -exponent : exponent});
  }
  int operand() {
    if (takes("(")) {
      const int inner = sum();
      need(")");
      return inner;
    }
    if (at_ < text_.size() && (is_digit(text_[at_]) || text_[at_] == '.')) return constant();
    if (at_ < text_.size() && is_letter(text_[at_])) return name();
    fail("expected a name, a number or a parenthesis");
  }
  int constant() {
    const std::size_t begin = at_;
    const auto digits = [&] {
      const std::size_t from = at_;
      while (at_ < text_.size() && is_digit(text_[at_])) ++at_;
      return at_ - from;
    };
    std::size_t count = digits();
    if (sees(".")) {
      ++at_;
      count += digits();
    }
    if (sees("e") || sees("E")) {
      ++at_;
      if (sees("+") || sees("-")) ++at_;
      if (digits() == 0) count = 0;
    }
    if (count == 0) {
      at_ = begin;
      fail("expected a decimal number");
    }
    const std::string_view text = text_.substr(begin, at_ - begin);
    const auto bounds = read_decimal(text);
    if (!bounds || bounds->up == Traits<double>::infinity) {
      at_ = begin;
      fail("expected a number that float64 can hold");
    }
    canonical_ += text;
    skip();
    return add({.operation = Operation::constant, .at_least = bounds->down, .at_most = bounds->up});
  }
  int name() {
    struct Function {
      std::string_view name;
      Operation operation;
    };
    static constexpr std::array<Function, 5> kFunctions{{{"sqrt", Operation::sqrt},
                                                         {"exp", Operation::exp},
                                                         {"log", Operation::log},
                                                         {"min", Operation::min},
                                                         {"max", Operation::max}}};
    const std::size_t begin = at_;
    while (at_ < text_.size() && (is_letter(text_[at_]) || is_digit(text_[at_]))) ++at_;
    const std::string_view found = text_.substr(begin, at_ - begin);
    skip();
    const auto* const function = std::ranges::find(kFunctions, found, &Function::name);
    if (function != kFunctions.end()) {
      canonical_ += found;
      need("(");
      const int left = sum();
      int right = -1;
      if (function->operation == Operation::min || function->operation == Operation::max) {
        need(",");
        right = sum();
      }
      need(")");
      return add({.operation = function->operation, .left = left, .right = right});
    }
    if (sees("(")) {
      at_ = begin;
      fail("expected a function sqrt, exp, log, min or max");
    }
    const auto known = std::ranges::find(names_, found);
    const auto index = static_cast<int>(known - names_.begin());
    if (known == names_.end()) {
      if (names_.size() == Formula::kMostNames) {
        throw Error(ErrorKind::usage, fmt::format("the formula has more than {} names", Formula::kMostNames));
      }
      names_.emplace_back(found);
    }
    canonical_ += fmt::format("x{}", index + 1);
    return add({.operation = Operation::input, .number = index});
  }

  std::string_view text_;
  std::size_t at_ = 0;
  int depth_ = 0;
  std::vector<std::string>& names_;
  std::vector<Step>& steps_;
  std::string& canonical_;
};

// The operations on a number of any count of cuts: on one cut after the other, and what makes them nested then.
template <class T>
using OneLower = LowerUpper<T, 1>;
template <class T>
using OneRadius = MidpointRadius<T, 1>;

template <class T>
OneLower<T> within(const OneLower<T>& inner, const OneLower<T>& outer, Operation operation) {
  if (operation != Operation::sqrt && operation != Operation::exp && operation != Operation::log) return inner;
  OneLower<T> result;
  result.set(0, detail::common(inner.cut(0), outer.cut(0)));
  return result;
}
template <class T>
OneRadius<T> within(OneRadius<T> inner, const OneRadius<T>& outer, Operation operation) {
  switch (operation) {
    case Operation::min:
    case Operation::max:
    case Operation::power:
    case Operation::sqrt:
    case Operation::exp:
    case Operation::log:
      inner.radius[0] = smaller(inner.radius[0], outer.radius[0]);
      return inner;
    default:
      return inner;
  }
}

template <class Number>
Number applied(const Step& step, const Number* left, const Number* right) {
  using T = typename Number::Real;
  switch (step.operation) {
    case Operation::constant:
      return enclosed<Number>(narrowed_down<T>(step.at_least), narrowed_up<T>(step.at_most));
    case Operation::negate:
      return -*left;
    case Operation::add:
      return *left + *right;
    case Operation::subtract:
      return *left - *right;
    case Operation::multiply:
      return *left * *right;
    case Operation::divide:
      return *left / *right;
    case Operation::power:
      return pow(*left, step.number);
    case Operation::sqrt:
      return sqrt(*left);
    case Operation::exp:
      return exp(*left);
    case Operation::log:
      return log(*left);
    case Operation::min:
      return min(*left, *right);
    default:
      return max(*left, *right);
  }
}

template <class Number>
std::vector<std::byte> evaluate_as(const Formula& formula, const ArrayShape& shape,
                                   const std::vector<std::span<const std::byte>>& inputs) {
  using T = typename Number::Real;
  std::vector<const T*> arrays;
  arrays.reserve(inputs.size());
  for (const auto& input : inputs) arrays.push_back(reinterpret_cast<const T*>(input.data()));
  std::vector<std::byte> result(static_cast<std::size_t>(shape.bytes()));
  const std::vector<Step>& steps = formula.steps();
  std::vector<Number> values(steps.size()), before(steps.size());
  for (std::int64_t i = 0; i < shape.numbers; ++i) {
    for (std::int64_t cut = 0; cut < shape.cuts; ++cut) {
      std::swap(values, before);
      for (std::size_t s = 0; s < steps.size(); ++s) {
        const Step& step = steps[s];
        if (step.operation == Operation::input) {
          read_cut(shape, arrays[static_cast<std::size_t>(step.number)], i, cut, values[s]);
          continue;
        }
        const auto operand = [&](int of) { return of < 0 ? nullptr : &values[static_cast<std::size_t>(of)]; };
        values[s] = applied(step, operand(step.left), operand(step.right));
        if (cut > 0) values[s] = within(values[s], before[s], step.operation);
      }
      write_cut(shape, reinterpret_cast<T*>(result.data()), i, cut, values.back());
    }
  }
  return result;
}

}  // namespace

Formula::Formula(std::string_view text, std::size_t longest) {
  if (text.size() > longest) {
    throw Error(ErrorKind::usage, fmt::format("a formula of {} characters, expected at most {}", text.size(), longest));
  }
  Parser(text, names_, steps_, canonical_).run();
}

bool Formula::works_cut_by_cut(Encoding encoding) const {
  return std::ranges::none_of(steps_, [&](const Step& step) {
    switch (step.operation) {
      case Operation::sqrt:
      case Operation::exp:
      case Operation::log:
        return true;
      case Operation::power:
      case Operation::min:
      case Operation::max:
        return encoding == Encoding::midpoint_radius;
      default:
        return false;
    }
  });
}

std::vector<std::byte> evaluate(const Formula& formula, const ArrayShape& shape,
                                const std::vector<std::span<const std::byte>>& inputs) {
  return with_number_of(shape, [&](auto number) { return evaluate_as<decltype(number)>(formula, shape, inputs); });
}

}  // namespace heddle::fuzzy
