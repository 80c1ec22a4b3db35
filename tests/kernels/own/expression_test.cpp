#include "heddle/kernels/own/expression.hpp"

#include <doctest/doctest.h>

#include <map>
#include <string>

#include "heddle/kernels/error.hpp"

namespace heddle {
namespace {

Value value_of(const std::string& text) {
  static const std::map<std::string, Value, std::less<>> kValues{
      {"n", std::int64_t{1000}}, {"zero", std::int64_t{0}}, {"x", 0.5}, {"on", true}, {"scheme", std::string("tiled")}};
  return Expression(text).value([](std::string_view name) -> std::optional<Value> {
    const auto found = kValues.find(name);
    return found == kValues.end() ? std::nullopt : std::optional(found->second);
  });
}

std::string shown(const std::string& expression) { return text(value_of(expression)); }

TEST_CASE("expressions have the values that C gives them") {
  CHECK(shown("1 + 2 * 3") == "7");
  CHECK(shown("(1 + 2) * 3") == "9");
  CHECK(shown("10 - 4 - 3") == "3");
  CHECK(shown("100 / 7 / 2") == "7");
  CHECK(shown("-7 / 2") == "-3");
  CHECK(shown("-7 % 2") == "-1");
  CHECK(shown("- - 3") == "3");
  CHECK(shown("7 / 2.0") == "3.5");
  CHECK(shown("1e3 + x") == "1000.5");
  CHECK(shown("2 < 3 == true") == "true");
  CHECK(shown("1 < 2 && 2 <= 2 && 3 > 2 && 3 >= 3 && 1 != 2") == "true");
  CHECK(shown("!on || n == 1000") == "true");
  CHECK(shown("n > 10 ? n > 100 ? 3 : 2 : 1") == "3");
  CHECK(shown("scheme == \"tiled\"") == "true");
  CHECK(shown("scheme != \"tiled\"") == "false");
  CHECK(shown("1 == 1.0") == "true");
}

TEST_CASE("functions round up as launches need it") {
  CHECK(shown("ceil_div(n, 64)") == "16");
  CHECK(shown("ceil_div(1024, 64)") == "16");
  CHECK(shown("ceil_div(-7, 2)") == "-3");
  CHECK(shown("round_up(n, 64)") == "1024");
  CHECK(shown("round_up(0, 64)") == "0");
  CHECK(shown("min(n, 3) + max(n, 3)") == "1003");
  CHECK(shown("max(x, 1)") == "1.0");
}

TEST_CASE("what is not needed is not evaluated") {
  CHECK(shown("zero == 0 || 1 / zero > 1") == "true");
  CHECK(shown("zero != 0 && missing > 1") == "false");
  CHECK(shown("zero == 0 ? 5 : 1 / zero") == "5");
}

TEST_CASE("an expression asks whether a name has a value") {
  CHECK(shown("has(n)") == "true");
  CHECK(shown("has( missing )") == "false");
  CHECK(shown("has(missing) ? missing : n") == "1000");
  CHECK(shown("!has(missing) && n > 1") == "true");
  CHECK(Expression("has(halo) ? 1 : 2").names() == std::vector<std::string>{"halo"});
}

TEST_CASE("an expression knows its names") {
  CHECK(Expression("ceil_div(n, block * items) + n").names() == std::vector<std::string>{"n", "block", "items"});
  CHECK(Expression("true ? 1 : 2").names().empty());
}

TEST_CASE("expressions that make no sense are errors that quote them") {
  const auto fails = [](const std::string& text, const char* why) {
    CAPTURE(text);
    CHECK_THROWS_WITH_AS(value_of(text), doctest::Contains(why), Error);
  };
  fails("", "expected a value at its end");
  fails("1 +", "expected a value at its end");
  fails("(1", "expected )");
  fails("1 2", "expected an operator at '2'");
  fails("n = 3", "expected an operator");
  fails("\"word", "expected a quote");
  fails("1 ? 2", "expected :");
  fails("sqrt(4)", "no function 'sqrt'");
  fails("min(4)", "expected ,");
  fails("has(4)", "expected a name");
  fails("has(n + 1)", "expected )");
  fails("has()", "expected a name");
  fails("1.2.3", "expected a number");
  fails("99999999999999999999", "expected a number");
  fails("missing + 1", "'missing' has no value here");
  fails("1 / zero", "division by zero");
  fails("n % zero", "division by zero");
  fails("1 / 0.0", "division by zero");
  fails("9223372036854775807 + 1", "beyond 64 bits");
  fails("9223372036854775807 * 2", "beyond 64 bits");
  fails("round_up(9223372036854775807, 2)", "beyond 64 bits");
  fails("-(-9223372036854775807 - 1)", "beyond 64 bits");
  fails("n && on", "1000 is no truth value");
  fails("scheme + 1", "tiled is no number");
  fails("scheme == 1", "tiled is no number");
  fails("x % 2", "% takes integers");
  fails("on + 1", "true is no number");
  fails(std::string(300, '('), "too many levels");
  fails(std::string(300, '-') + "1", "too many levels");
  fails(std::string(2001, ' '), "longer than");
  std::string sum = "1";
  for (int i = 0; i < 200; ++i) sum += "+1";
  fails(sum, "too many operators");
  CHECK_THROWS_WITH_AS(static_cast<void>(Expression("x").integer([](auto) { return Value(0.5); })),
                       doctest::Contains("0.5 is no integer"), Error);
  CHECK_THROWS_AS(static_cast<void>(Expression("1").truth({})), Error);
}

}  // namespace
}  // namespace heddle
